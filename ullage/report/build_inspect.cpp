#include "ullage/report/build.h"

namespace ullage {

Report build_inspect(const Model& model) {
  Report report{.title = model.name() + " · " + std::string(model.format()), .blocks = {}};
  for (const InspectSection& section : model.inspect()) {
    Table table{.key = section.title, .title = section.title};
    for (const std::string& column : section.columns) table.columns.push_back({column, true});
    for (const auto& row : section.rows) {
      auto& cells = table.rows.emplace_back();
      for (const std::string& text : row) cells.push_back(cell(text));
    }
    report.blocks.emplace_back(std::move(table));
  }
  return report;
}

}  // namespace ullage
