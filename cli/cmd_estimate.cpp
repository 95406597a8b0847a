#include <fstream>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/recipe_flags.h"
#include "ullage/report/build.h"
#include "ullage/report/estimate_json.h"
#include "ullage/report/events_text.h"

namespace ullage::cli {
namespace {

struct Options {
  std::shared_ptr<RecipeFlags> recipe;
  std::shared_ptr<OutputFlags> output;
  bool only_peak = false;
  std::string events;
};

Result<int> answer(const Options& options, Streams streams) {
  const bool more = !options.only_peak;
  UL_TRY(const Estimate e, estimate_of(*options.recipe, {.bounds = more, .law = more, .levers = more}));
  if (!options.events.empty()) {
    std::ofstream file(options.events);
    file << events_text(e.run.timeline, e.graph);
    if (!file.flush()) {
      streams.err << "error: cannot write " << options.events << "\n";
      return kCannotWrite;
    }
  }
  const std::string json =
      options.output->json || options.output->file.ends_with(".json") ? estimate_json(e) : std::string();
  return show(build_estimate(e, options.recipe->model), *options.output, streams, e.fits ? kAnswered : kNo, json);
}

}  // namespace

Run setup_estimate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->recipe = add_recipe_flags(app);
  options->output = add_output_flags(app);
  app.add_flag("--only-peak", options->only_peak, "leave out bounds, the batch law and what to change")
      ->group("How to show");
  app.add_option("--events", options->events, "write every allocation and free to a file")->group("Where to write");
  app.footer(
      "Examples:\n"
      "  ullage estimate resnet50.onnx --batch 32 --optimizer adam --device rtx3090\n"
      "  ullage estimate gpt2.onnx --batch 8 --seq 512 --precision amp-bf16 --optimizer adamw\n"
      "  ullage estimate vgg16.onnx --mode infer --batch 64 --json");
  return [options](Streams streams) { return exit_code(answer(*options, streams), streams); };
}

}  // namespace ullage::cli
