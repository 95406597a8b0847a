// Commands: one source file each, one row in commands.cpp. A command parses nothing and prints to the streams it is
// given.
#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace ullage::cli {

// Exit codes, the same for every command.
enum Exit { kAnswered = 0, kNo = 1, kUsage = 2, kInput = 3, kCannotWrite = 4, kBug = 70, kInterrupted = 130 };

struct Streams {
  std::ostream& out;
  std::ostream& err;
};

// What a command's setup() returns: runs after parsing, gives the exit code.
using Run = std::function<int(Streams)>;

struct Command {
  std::string_view name;
  std::string_view line;        // one line for help
  Run (*setup)(CLI::App& app);  // binds flags, returns what to run
};

std::span<const Command> commands();

// The whole program, testable: returns the exit code.
int run(int argc, const char* const* argv, Streams streams);

Run setup_diff(CLI::App& app);
Run setup_estimate(CLI::App& app);
Run setup_explain(CLI::App& app);
Run setup_inspect(CLI::App& app);
Run setup_list(CLI::App& app);
Run setup_summary(CLI::App& app);

}  // namespace ullage::cli
