#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/recipe_flags.h"
#include "ullage/report/build.h"

namespace ullage::cli {
namespace {

struct Options {
  std::shared_ptr<RecipeFlags> recipe;
  std::shared_ptr<OutputFlags> output;
  SummaryOptions summary;
  bool by_module = false;
};

Result<int> answer(const Options& options, Streams streams) {
  UL_TRY(const Estimate e, estimate_of(*options.recipe, {.bounds = false, .law = false, .levers = false}));
  SummaryOptions summary = options.summary;
  summary.form = options.by_module ? SummaryForm::modules : SummaryForm::flat;
  return show(build_summary(e, summary), *options.output, streams, kAnswered);
}

}  // namespace

Run setup_summary(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->recipe = add_recipe_flags(app);
  options->output = add_output_flags(app);
  app.add_flag("--by-module", options->by_module, "one row a module")->group("How to show");
  app.add_option("--depth", options->summary.depth, "levels of module names")
      ->check(CLI::Range(1, 64))
      ->group("How to show");
  app.add_option("--top", options->summary.top, "only the rows with most of the peak")->group("How to show");
  app.footer(
      "Examples:\n"
      "  ullage summary vgg16.onnx\n"
      "  ullage summary resnet50.onnx --batch 32 --by-module --depth 1\n"
      "  ullage summary gpt2.onnx --batch 4 --seq 512 --top 20 --csv");
  return [options](Streams streams) { return exit_code(answer(*options, streams), streams); };
}

}  // namespace ullage::cli
