#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/recipe_flags.h"
#include "ullage/report/build.h"

namespace ullage::cli {

Run setup_list(CLI::App& app) {
  struct Options {
    std::string what;
    std::shared_ptr<OutputFlags> output;
  };
  auto options = std::make_shared<Options>();
  app.add_option("WHAT", options->what, "devices, formats, ops, rules, optimizers, options or assumptions")->required();
  options->output = add_output_flags(app);
  app.footer(
      "Examples:\n"
      "  ullage list devices\n"
      "  ullage list rules --csv\n"
      "  ullage list assumptions");
  return [options](Streams streams) {
    const auto answer = [&]() -> Result<int> {
      UL_TRY(const Report report, build_list(options->what));
      return show(report, *options->output, streams, kAnswered);
    };
    return exit_code(answer(), streams);
  };
}

}  // namespace ullage::cli
