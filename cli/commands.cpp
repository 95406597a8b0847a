#include "cli/commands.h"

#include <CLI/CLI.hpp>

#include "ullage/base/suggest.h"
#include "ullage/base/version.h"

namespace ullage::cli {
namespace {

constexpr Command kCommands[] = {
    {"estimate", "what a step will take of the card, and for what", setup_estimate},
    {"summary", "the per-layer table: shapes, parameters, FLOPs, what is kept for backward", setup_summary},
    {"explain", "where a number comes from", setup_explain},
    {"diff", "two models, or two recipes, side by side", setup_diff},
    {"inspect", "what is in this file", setup_inspect},
    {"list", "devices, formats, ops, rules, optimizers, options, assumptions", setup_list},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

int run(int argc, const char* const* argv, Streams streams) {
  CLI::App app{"ullage: what a neural network will take of a GPU's memory, and why"};
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  Run chosen;
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) {
    names.push_back(command.name);
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.line));
    sub->callback([&chosen, run = command.setup(*sub)] { chosen = run; });
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error, streams.out, streams.err);
    if (code != 0 && argc > 1 && argv[1][0] != '-') {
      const std::string near = closest(argv[1], names);
      if (!near.empty() && near != argv[1]) streams.err << "did you mean: ullage " << near << "\n";
    }
    return code == 0 ? kAnswered : kUsage;
  }
  return chosen(streams);
}

}  // namespace ullage::cli
