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
  std::string name;
};

Result<int> answer(const Options& options, Streams streams) {
  UL_TRY(const Estimate e, estimate_of(*options.recipe, {.bounds = false, .law = false, .levers = false}));
  UL_TRY(const Report report, build_explain(e, options.name));
  return show(report, *options.output, streams, kAnswered);
}

}  // namespace

Run setup_explain(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->recipe = add_recipe_flags(app);
  app.add_option("NAME", options->name, "a category, a counter, a module, an op or a tensor")->required();
  options->output = add_output_flags(app);
  app.footer(
      "Examples:\n"
      "  ullage explain resnet50.onnx activations --batch 32\n"
      "  ullage explain resnet50.onnx layer1.0.conv1 --batch 32\n"
      "  ullage explain vgg16.onnx reserved");
  return [options](Streams streams) { return exit_code(answer(*options, streams), streams); };
}

}  // namespace ullage::cli
