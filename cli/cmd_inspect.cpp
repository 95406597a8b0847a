#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/recipe_flags.h"
#include "ullage/report/build.h"

namespace ullage::cli {
namespace {

struct Options {
  std::string file;
  std::shared_ptr<OutputFlags> output;
};

Result<int> answer(const Options& options, Streams streams) {
  Diagnostics notes;
  UL_TRY(const std::unique_ptr<Model> model, open_model(options.file, notes));
  Report report = build_inspect(*model);
  Notes odd{.title = "Noticed", .lines = {}};
  for (const Diagnostic& d : notes.rows())
    odd.lines.push_back(std::to_string(d.count) + " × " + d.kind + ": " + d.meaning);
  if (!odd.lines.empty()) report.blocks.emplace_back(std::move(odd));
  return show(report, *options.output, streams, kAnswered);
}

}  // namespace

Run setup_inspect(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("FILE", options->file, "the model file")->required();
  options->output = add_output_flags(app);
  app.footer(
      "Examples:\n"
      "  ullage inspect resnet50.onnx\n"
      "  ullage inspect resnet50.onnx --json\n"
      "  ullage inspect resnet50.onnx --csv -o tensors.csv");
  return [options](Streams streams) { return exit_code(answer(*options, streams), streams); };
}

}  // namespace ullage::cli
