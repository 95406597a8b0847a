#include <algorithm>

#include <fmt/format.h>

#include "ullage/base/suggest.h"
#include "ullage/eager/rules.h"
#include "ullage/ir/device.h"
#include "ullage/ir/op_table.h"
#include "ullage/report/build.h"
#include "ullage/sim/optimizer.h"

namespace ullage {
namespace {

Table devices() {
  Table table{.key = "devices",
              .columns = {{"id"},
                          {"name", true},
                          {"usable"},
                          {"context low", false, 1},
                          {"context high", false, 2},
                          {"capability", false, 3},
                          {"source", true}}};
  for (const Device& d : all_devices()) {
    table.rows.push_back({cell(d.id), cell(d.name), cell(d.usable), cell(d.context.low), cell(d.context.high),
                          cell(fmt::format("{}.{}", d.compute_capability.major, d.compute_capability.minor)),
                          cell(d.source)});
  }
  return table;
}

Table formats() {
  Table table{.key = "formats", .columns = {{"format"}, {"extensions"}, {"what it is", true}}};
  for (const Importer& i : importers()) {
    table.rows.push_back(
        {cell(std::string(i.format)), cell(std::string(i.extensions)), cell(std::string(i.description))});
  }
  return table;
}

Table ops() {
  Table table{.key = "ops", .columns = {{"op"}, {"family"}, {"rule"}, {"inputs", true}, {"note", true}}};
  for (const OpRow& row : op_table()) {
    table.rows.push_back({cell(std::string(row.name)), cell(std::string(name_of(row.family))),
                          cell(eager::find_rule(row.name) ? "yes" : "no"), cell(std::string(row.inputs)),
                          cell(std::string(row.note))});
  }
  return table;
}

Table rules() {
  constexpr std::string_view kAutocast[] = {"as it arrives", "lower", "float32", "float32 result", "widest"};
  Table table{.key = "rules", .columns = {{"op"}, {"under autocast"}, {"source", true}}};
  for (const eager::RuleRow* row : eager::all_rules()) {
    table.rows.push_back({cell(std::string(row->op)), cell(std::string(kAutocast[static_cast<size_t>(row->autocast)])),
                          cell(std::string(row->source))});
  }
  return table;
}

Table optimizers() {
  Table table{.key = "optimizers", .columns = {{"optimizer"}, {"states"}, {"default"}, {"fused"}, {"source", true}}};
  for (const OptimizerRow& row : optimizer_table()) {
    table.rows.push_back({cell(std::string(row.name)), count_cell(row.states),
                          cell(row.foreach_by_default ? "foreach" : "forloop"), cell(row.has_fused ? "yes" : "no"),
                          cell(std::string(row.source))});
  }
  return table;
}

Table options() {
  Table table{.key = "options", .columns = {{"flag"}, {"values", true}, {"meaning", true}}};
  for (const OptionHelp& option : recipe_options()) {
    table.rows.push_back(
        {cell("--" + std::string(option.key)), cell(std::string(option.values)), cell(std::string(option.meaning))});
  }
  return table;
}

Table assumptions() {
  Table table{.key = "assumptions", .columns = {{"about"}, {"assumed", true}}};
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"reference", "PyTorch 2.15 in eager mode on CUDA, one device, one stream"},
      {"loop", "zero_grad first and to None; loss and inputs stay referenced; see --loop"},
      {"parameters", "every floating-point weight trains; every tracked batch norm owns an int64 counter"},
      {"workspaces", "cuDNN plans are modelled with a range; cuBLAS takes 8.125 MiB a call (32 MiB on Hopper)"},
      {"context", "driver context and loaded kernels: a range per card, see list devices"},
      {"steps", "three are simulated; optimizer state appears in the first, so the peak is usually in the second"},
      {"card", "nothing else uses it; with no --device there is no limit and an A100 is computed with"},
  };
  for (const auto& [about, text] : rows) table.rows.push_back({cell(std::string(about)), cell(std::string(text))});
  return table;
}

struct Listing {
  std::string_view name;
  Table (*make)();
};
constexpr Listing kListings[] = {{"assumptions", assumptions}, {"devices", devices}, {"formats", formats}, {"ops", ops},
                                 {"optimizers", optimizers},   {"options", options}, {"rules", rules}};

}  // namespace

Result<Report> build_list(std::string_view what) {
  std::vector<std::string_view> names;
  for (const Listing& listing : kListings) {
    if (listing.name == what) return Report{.title = std::string(what), .blocks = {listing.make()}};
    names.push_back(listing.name);
  }
  return fail(ErrorCode::invalid_argument, fmt::format("there is no list of \"{}\"", what), "list",
              fmt::format("one of: {}", fmt::join(names, ", ")));
}

}  // namespace ullage
