// CSV and JSON of a report's tables: the same rows as in text, every number exact.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ullage/report/report.h"

namespace ullage {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == text.npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string csv_cell(const Cell& c) {
  switch (c.kind) {
    case CellKind::text:
      return quoted(c.text);
    case CellKind::percent:
      return fmt::format("{:.6f}", c.share);
    case CellKind::bar:
      return {};
    default:
      return std::to_string(c.amount);
  }
}

}  // namespace

std::string render_csv(const Report& report) {
  std::string out;
  for (const Block& block : report.blocks) {
    const auto* table = std::get_if<Table>(&block);
    if (!table) continue;
    if (!out.empty()) out += "\n";
    const auto put = [&](auto&& text_of) {
      bool first = true;
      for (size_t c = 0; c < table->columns.size(); ++c) {
        if (!table->rows.empty() && table->rows[0][c].kind == CellKind::bar) continue;
        out += (first ? "" : ",") + text_of(c);
        first = false;
      }
      out += "\n";
    };
    put([&](size_t c) { return quoted(table->columns[c].name); });
    for (const auto& row : table->rows)
      put([&](size_t c) { return c < row.size() ? csv_cell(row[c]) : std::string(); });
  }
  return out;
}

std::string render_json(const Report& report) {
  using Json = nlohmann::ordered_json;
  Json out = {{"schema", 1}, {"title", report.title}};
  for (const Block& block : report.blocks) {
    if (const auto* table = std::get_if<Table>(&block)) {
      Json rows = Json::array();
      for (const auto& row : table->rows) {
        Json item = Json::object();
        for (size_t c = 0; c < row.size(); ++c) {
          const Cell& cell = row[c];
          const std::string& key = table->columns[c].name;
          if (cell.kind == CellKind::bar) continue;
          if (cell.kind == CellKind::text) {
            item[key] = cell.text;
          } else if (cell.kind == CellKind::percent) {
            item[key] = cell.share;
          } else {
            item[key] = cell.amount;
          }
        }
        rows.push_back(std::move(item));
      }
      out[table->key] = std::move(rows);
    } else if (const auto* verdict = std::get_if<Verdict>(&block)) {
      out["verdict"] = {{"counter", verdict->counter},
                        {"bytes", verdict->amount.value},
                        {"limit", verdict->limit.value},
                        {"text", verdict->verdict}};
    } else if (const auto* notes = std::get_if<Notes>(&block)) {
      for (const std::string& text : notes->lines) out["notes"].push_back(text);
    }
  }
  return out.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ullage
