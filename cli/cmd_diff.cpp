#include <cmath>

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
  std::string other;                 // a second model; empty: the same
  std::vector<std::string> changes;  // key=value for the second
  double fail_over = -1;
};

Result<int> answer(const Options& options, Streams streams) {
  constexpr EstimateOptions kPlain{.bounds = false, .law = false, .levers = false};
  UL_TRY(const Estimate before, estimate_of(*options.recipe, kPlain));
  RecipeFlags second = *options.recipe;
  if (!options.other.empty()) second.model = options.other;
  second.changes = options.changes;
  UL_TRY(const Estimate after, estimate_of(second, kPlain));
  const DiffReport diff = build_diff(before, after);
  const bool over = options.fail_over >= 0 && diff.growth * 100 > options.fail_over;
  return show(diff.report, *options.output, streams, over ? kNo : kAnswered);
}

}  // namespace

Run setup_diff(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->recipe = add_recipe_flags(app);
  app.add_option("OTHER", options->other, "a second model; left out: the same model under --with");
  app.add_option("--with", options->changes, "KEY=VALUE of the second run, such as precision=amp-bf16; may be repeated")
      ->group("What to run");
  options->output = add_output_flags(app);
  app.add_option("--fail-over", options->fail_over, "exit 1 when the device peak grows by more than this many percent")
      ->group("How to show");
  app.footer(
      "Examples:\n"
      "  ullage diff resnet50.onnx vgg16.onnx --batch 16\n"
      "  ullage diff resnet50.onnx --batch 32 --with precision=amp-bf16\n"
      "  ullage diff old.onnx new.onnx --batch 8 --fail-over 1");
  return [options](Streams streams) { return exit_code(answer(*options, streams), streams); };
}

}  // namespace ullage::cli
