// The flags that say how to show a Report, the same for every command, and the showing.
#pragma once

#include <memory>
#include <string>

#include "cli/commands.h"
#include "ullage/report/report.h"

namespace ullage::cli {

struct OutputFlags {
  bool json = false;
  bool csv = false;
  std::string unit = "binary";
  std::string color = "auto";
  std::string file;  // -o: extension decides when no format is named
};

std::shared_ptr<OutputFlags> add_output_flags(CLI::App& app);

// Writes `report` (or `json` instead, where a command has a schema of its own) as the flags say; the exit code is
// `code` unless writing failed.
int show(const Report& report, const OutputFlags& flags, Streams streams, int code, const std::string& json = {});

}  // namespace ullage::cli
