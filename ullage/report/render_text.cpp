#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ullage/report/report.h"

namespace ullage {
namespace {

constexpr int kBarCells = 24;
constexpr int kNarrowBarCells = 12;
constexpr int kBarsWidenAt = 110;
constexpr int kWrapsAt = 28;  // a last column wraps at no less, others are cut to no less, as long as columns
constexpr int kCutsAt = 20;   // can be left out instead
constexpr int kLeast = 8;
constexpr size_t kMostLines = 3;  // of a wrapped cell

// Columns a UTF-8 text takes; every character we print is one column wide.
int width_of(std::string_view text) {
  return static_cast<int>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// The first `width` characters.
std::string_view head_of(std::string_view text, int width) {
  size_t at = 0;
  for (int used = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80 && used++ == width) break;
  }
  return text.substr(0, at);
}

// In the middle: the end of a path tells more than its beginning.
std::string cut(std::string_view text, int width) {
  const int all = width_of(text);
  if (all <= width) return std::string(text);
  const int head = (width - 1) / 3;
  const std::string_view tail = text.substr(head_of(text, all - (width - 1 - head)).size());
  return std::string(head_of(text, head)) + "…" + std::string(tail);
}

// Lines of at most `width` characters, broken at spaces; a longer word is broken where the line ends.
std::vector<std::string> broken(std::string_view text, int width) {
  std::vector<std::string> lines;
  while (width_of(text) > width) {
    const std::string_view most = head_of(text, width);
    const size_t space = text[most.size()] == ' ' ? most.size() : most.rfind(' ');
    const bool at_space = space != most.npos && space > 0;
    lines.emplace_back(at_space ? text.substr(0, space) : most);
    text.remove_prefix(at_space ? space + 1 : most.size());
  }
  lines.emplace_back(text);
  return lines;
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
    for (const std::string& part : broken(text, std::max(20, style_.width - indent)))
      line(std::string(static_cast<size_t>(indent), ' ') + part);
  }

  void put(const Verdict& v) {
    std::string head = fmt::format("  {}  {}", v.label, amount(v.amount));
    if (v.limit.value > 0) {
      head += fmt::format(" of {}", amount(v.limit));
      const double share = static_cast<double>(v.amount.value) / static_cast<double>(v.limit.value);
      if (style_.width >= 72) head += "   " + bar(share, kBarCells, style_.unicode, true);
    }
    const int indent = 4 + width_of(v.label);
    const std::string_view code = v.good ? "32;1" : "31;1";
    if (width_of(head) + 3 + width_of(v.verdict) <= style_.width) {
      line(head + "   " + paint(code, v.verdict));
    } else {
      line(head);
      for (const std::string& part : broken(v.verdict, std::max(20, style_.width - indent)))
        line(std::string(static_cast<size_t>(indent), ' ') + paint(code, part));
    }
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
    const int bar_cells = style_.width < kBarsWidenAt ? kNarrowBarCells : kBarCells;
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
    const std::vector<std::string> left_out = fit(table, widths);
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
    if (!left_out.empty())
      wrapped(fmt::format("columns left out at this width: {} (--csv has all)", fmt::join(left_out, ", ")), 2);
  }

  // Makes the table fit: leaves out spare columns (width 0; their names are returned), then shortens those that may be.
  std::vector<std::string> fit(const Table& table, std::vector<int>& widths) const {
    std::vector<std::string> left_out;
    const auto excess = [&] { return table_width(widths) - style_.width; };
    const auto can_give = [&](size_t c) {
      const bool last = c + 1 == widths.size();
      return table.columns[c].shrinks ? std::max(0, widths[c] - (last ? kWrapsAt : kCutsAt)) : 0;
    };
    const auto all_can_give = [&] {
      int sum = 0;
      for (size_t c = 0; c < widths.size(); ++c) sum += can_give(c);
      return sum;
    };
    while (excess() > all_can_give()) {
      size_t spare = 0;
      for (size_t c = 0; c < widths.size(); ++c) {
        if (widths[c] > 0 && table.columns[c].spare > table.columns[spare].spare * (widths[spare] > 0)) spare = c;
      }
      if (widths[spare] == 0 || table.columns[spare].spare == 0) break;
      left_out.push_back(table.columns[spare].name);
      widths[spare] = 0;
    }
    if (excess() > 0) widths.back() -= std::min(excess(), can_give(widths.size() - 1));  // wrapping loses nothing
    while (excess() > 0) {                                                               // the widest gives first
      size_t widest = widths.size();
      for (size_t c = 0; c < widths.size(); ++c) {
        if (table.columns[c].shrinks && widths[c] > kLeast && (widest == widths.size() || widths[c] > widths[widest]))
          widest = c;
      }
      if (widest == widths.size()) break;
      --widths[widest];
    }
    return left_out;
  }

  static int table_width(const std::vector<int>& widths) {
    int total = 0;
    for (const int w : widths) total += w > 0 ? w + 2 : 0;
    return total;
  }

  std::string rule(const std::vector<int>& widths) const {
    std::string out;
    for (int i = 0; i < std::min(table_width(widths), style_.width) - 2; ++i) out += style_.unicode ? "─" : "-";
    return out;
  }

  void put_row(const std::vector<std::string>& cells, const std::vector<int>& widths, const std::vector<bool>& right,
               std::string_view code) {
    std::vector<std::string> last;  // lines of the last column
    std::string text;
    int indent = 2;
    for (size_t c = 0; c < cells.size(); ++c) {
      if (widths[c] == 0) continue;
      std::string shown;
      if (c + 1 == cells.size() && !right[c]) {
        last = broken(cells[c], widths[c]);
        if (last.size() > kMostLines) {
          last.resize(kMostLines);
          last.back() = std::string(head_of(last.back(), widths[c] - 1)) + "…";
        }
        shown = last[0];
      } else {
        shown = cut(cells[c], widths[c]);
        indent += widths[c] + 2;
      }
      text += "  " + pad(std::move(shown), widths[c], right[c]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    line(code.empty() ? text : paint(code, text));
    for (size_t i = 1; i < last.size(); ++i) line(std::string(static_cast<size_t>(indent), ' ') + last[i]);
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
