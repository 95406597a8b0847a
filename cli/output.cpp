#include "cli/output.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include <CLI/CLI.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

namespace ullage::cli {
namespace {

constexpr int kPipedWidth = 100;

bool is_terminal(const std::ostream& out) { return &out == &std::cout && isatty(STDOUT_FILENO); }

int width_of(const std::ostream& out) {
  winsize size{};
  if (const char* columns = std::getenv("COLUMNS"); columns && std::atoi(columns) >= 40) return std::atoi(columns);
  if (is_terminal(out) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return kPipedWidth;
}

bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (!value || !*value) continue;
    return std::strcmp(value, "C") != 0 && std::strcmp(value, "POSIX") != 0;
  }
  return true;
}

TextStyle style_of(const OutputFlags& flags, const std::ostream& out) {
  TextStyle style;
  style.width = width_of(out);
  style.unit = flags.unit == "decimal" ? ByteUnit::decimal : flags.unit == "exact" ? ByteUnit::exact : ByteUnit::binary;
  const char* no_color = std::getenv("NO_COLOR");
  style.color = flags.color == "always" || (flags.color == "auto" && is_terminal(out) && !(no_color && *no_color));
  style.unicode = speaks_utf8();
  return style;
}

}  // namespace

std::shared_ptr<OutputFlags> add_output_flags(CLI::App& app) {
  auto flags = std::make_shared<OutputFlags>();
  const std::string group = "How to show";
  app.add_flag("--json", flags->json, "JSON with exact integers")->group(group);
  app.add_flag("--csv", flags->csv, "the tables as CSV")->group(group);
  app.add_option("--unit", flags->unit, "MiB, MB or plain bytes")
      ->check(CLI::IsMember({"binary", "decimal", "exact"}))
      ->group(group);
  app.add_option("--color", flags->color, "colours (NO_COLOR is heeded)")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group(group);
  app.add_option("-o,--output", flags->file, "write to a file: .json, .csv or text")->group("Where to write");
  return flags;
}

int show(const Report& report, const OutputFlags& flags, Streams streams, int code, const std::string& json) {
  const bool as_json = flags.json || (!flags.csv && flags.file.ends_with(".json"));
  const bool as_csv = flags.csv || (!flags.json && flags.file.ends_with(".csv"));
  std::ofstream file;
  if (!flags.file.empty()) {
    file.open(flags.file, std::ios::binary);
    if (!file) {
      streams.err << "error: cannot write " << flags.file << ": " << std::strerror(errno) << "\n";
      return kCannotWrite;
    }
  }
  std::ostream& out = flags.file.empty() ? streams.out : file;
  if (as_json) {
    out << (json.empty() ? render_json(report) : json) << "\n";
  } else if (as_csv) {
    out << render_csv(report);
  } else {
    out << render_text(report, style_of(flags, out));
  }
  out.flush();
  return out ? code : kCannotWrite;
}

}  // namespace ullage::cli
