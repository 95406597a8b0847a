#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ullage/report/report.h"

namespace ullage {
namespace {

constexpr int kBarCells = 24;
constexpr int kNarrowBarCells = 12;

// Columns a UTF-8 text takes; every character we print is one column wide.
int width_of(std::string_view text) {
  return static_cast<int>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string cut(std::string_view text, int width) {
  if (width_of(text) <= width) return std::string(text);
  std::string out;
  int used = 0;
  for (const char c : text) {
    const bool starts = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (starts && ++used >= width) break;
    out += c;
  }
  return out + "…";
}

std::string pad(std::string text, int width, bool right) {
  const int missing = std::max(0, width - width_of(text));
  return right ? std::string(static_cast<size_t>(missing), ' ') + text
               : text + std::string(static_cast<size_t>(missing), ' ');
}

// Eighths of a cell: "██▌", padded with dots where `dots`.
std::string bar(double share, int cells, bool unicode, bool dots) {
  constexpr std::string_view kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double clipped = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
  const int eighths = static_cast<int>(std::lround(clipped * cells * 8));
  std::string out;
  int used = 0;
  for (; used < eighths / 8; ++used) out += unicode ? "█" : "#";
  if (eighths % 8 && unicode) out += kEighths[eighths % 8], ++used;
  if (dots) {
    for (; used < cells; ++used) out += unicode ? "·" : ".";
  }
  return out;
}

class TextRenderer {
 public:
  explicit TextRenderer(const TextStyle& style) : style_(style) {}

  std::string render(const Report& report) {
    line("");
    line("  " + paint("1", report.title));
    for (const Block& block : report.blocks) {
      line("");
      std::visit([this](const auto& b) { put(b); }, block);
    }
    line("");
    return std::move(out_);
  }

 private:
  std::string paint(std::string_view code, std::string_view text) const {
    return style_.color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  void line(std::string_view text) {
    out_ += plain(text.substr(0, text.find_last_not_of(' ') + 1));
    out_ += '\n';
  }
  // For terminals without UTF-8.
  std::string plain(std::string_view text) const {
    if (style_.unicode) return std::string(text);
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte < 0x80) {
        out += text[i];
        continue;
      }
      if ((byte & 0xC0) == 0x80) continue;
      out += text.substr(i).starts_with("·")   ? '-'
             : text.substr(i).starts_with("…") ? '.'
             : text.substr(i).starts_with("×") ? 'x'
                                               : '-';
    }
    return out;
  }
  std::string amount(Bytes bytes) const { return format_bytes(bytes, style_.unit); }

  void wrapped(std::string_view text, int indent) {
    const int room = std::max(20, style_.width - indent);
    while (true) {
      if (width_of(text) <= room) return line(std::string(static_cast<size_t>(indent), ' ') + std::string(text));
      size_t end = 0;
      for (size_t at = text.find(' '); at != text.npos && width_of(text.substr(0, at)) <= room;
           at = text.find(' ', at + 1))
        end = at;
      if (end == 0) end = std::min(text.find(' '), text.size());
      line(std::string(static_cast<size_t>(indent), ' ') + std::string(text.substr(0, end)));
      if (end == text.size()) return;
      text.remove_prefix(end + 1);
    }
  }

  void put(const Verdict& v) {
    std::string head = fmt::format("  {}  {}", v.label, amount(v.amount));
    if (v.limit.value > 0) {
      head += fmt::format(" of {}", amount(v.limit));
      const double share = static_cast<double>(v.amount.value) / static_cast<double>(v.limit.value);
      if (style_.width >= 72) head += "   " + bar(share, kBarCells, style_.unicode, true);
    }
    out_ += plain(head) + "   " + paint(v.good ? "32;1" : "31;1", v.verdict) + "\n";
    const int indent = 4 + width_of(v.label);
    for (const std::string& text : v.lines) wrapped(text, indent);
  }

  void put(const Notes& notes) {
    if (!notes.title.empty()) line("  " + paint("1", notes.title));
    for (const std::string& text : notes.lines) wrapped(text, notes.title.empty() ? 2 : 4);
  }

  std::string show(const Cell& c, int bar_cells) const {
    switch (c.kind) {
      case CellKind::text:
        return c.text;
      case CellKind::bytes:
        return amount(Bytes(c.amount));
      case CellKind::delta:
        return c.amount == 0 ? "0" : fmt::format("{}{}", c.amount > 0 ? "+" : "-", amount(Bytes(std::abs(c.amount))));
      case CellKind::count:
        return format_count(c.amount);
      case CellKind::scaled:
        return format_scaled(c.amount);
      case CellKind::percent:
        return fmt::format("{:.1f} %", 100 * c.share);
      case CellKind::bar:
        return bar(c.share, bar_cells, style_.unicode, false);
    }
    return {};
  }

  void put(const Table& table) {
    const int bar_cells = style_.width < 90 ? kNarrowBarCells : kBarCells;
    std::vector<std::vector<std::string>> texts;
    std::vector<int> widths(table.columns.size(), 0);
    std::vector<bool> right(table.columns.size(), true);
    for (size_t c = 0; c < table.columns.size(); ++c) {
      if (table.header) widths[c] = width_of(table.columns[c].name);
    }
    for (const auto& row : table.rows) {
      auto& shown = texts.emplace_back();
      for (size_t c = 0; c < row.size(); ++c) {
        shown.push_back(show(row[c], bar_cells));
        widths[c] = std::max(widths[c], row[c].kind == CellKind::bar ? bar_cells : width_of(shown[c]));
        if (row[c].kind == CellKind::text || row[c].kind == CellKind::bar) right[c] = false;
      }
    }
    shrink(table, widths);
    if (!table.title.empty()) line("  " + paint("1", table.title));
    if (table.header) {
      std::vector<std::string> names;
      for (const Column& column : table.columns) names.push_back(column.name);
      put_row(names, widths, right, "2");
    }
    for (size_t r = 0; r < texts.size(); ++r) {
      if (table.total && r + 1 == texts.size()) line("  " + rule(widths));
      put_row(texts[r], widths, right, "");
    }
  }

  // Narrows the columns that may shrink until the table fits.
  void shrink(const Table& table, std::vector<int>& widths) const {
    int total = 0;
    for (const int w : widths) total += w + 2;
    for (size_t c = table.columns.size(); c-- > 0 && total > style_.width;) {
      if (!table.columns[c].shrinks) continue;
      const int cut_by = std::min(total - style_.width, std::max(0, widths[c] - 12));
      widths[c] -= cut_by;
      total -= cut_by;
    }
  }

  std::string rule(const std::vector<int>& widths) const {
    int total = -2;
    for (const int w : widths) total += w + 2;
    std::string out;
    for (int i = 0; i < std::min(total, style_.width - 2); ++i) out += style_.unicode ? "─" : "-";
    return out;
  }

  void put_row(const std::vector<std::string>& cells, const std::vector<int>& widths, const std::vector<bool>& right,
               std::string_view code) {
    std::string text;
    for (size_t c = 0; c < cells.size(); ++c) text += "  " + pad(cut(cells[c], widths[c]), widths[c], right[c]);
    text.erase(text.find_last_not_of(' ') + 1);
    line(code.empty() ? text : paint(code, text));
  }

  const TextStyle& style_;
  std::string out_;
};

}  // namespace

std::string format_count(int64_t n) {
  std::string digits = std::to_string(n);
  const size_t first = digits.starts_with('-') ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string format_scaled(int64_t n) {
  constexpr std::string_view kUnits[] = {"", " k", " M", " G", " T", " P", " E"};
  double value = static_cast<double>(n);
  size_t unit = 0;
  while (std::abs(value) >= 1000 && unit + 1 < std::size(kUnits)) value /= 1000, ++unit;
  if (unit == 0) return std::to_string(n);
  const int decimals = std::abs(value) >= 99.95 ? 0 : std::abs(value) >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", value, decimals, kUnits[unit]);
}

std::string render_text(const Report& report, const TextStyle& style) { return TextRenderer(style).render(report); }

}  // namespace ullage
