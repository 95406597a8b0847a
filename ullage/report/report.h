// Report: what a command shows, as a value: a title, and blocks in reading order. Builders (build_*.cpp) turn facts
// into it; renderers (render_*.cpp) know layout and nothing else.
//
//   Report report{.title = "resnet50 · training step"};
//   report.blocks.push_back(Verdict{"PEAK", …});
//   report.blocks.push_back(Table{.key = "breakdown", .columns = {{"category"}, {"bytes"}, {"share"}}, .rows = …});
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "ullage/base/bytes.h"

namespace ullage {

enum class CellKind : uint8_t {
  text,
  bytes,    // shown in the chosen unit, exact in machine formats
  delta,    // bytes with a sign
  count,    // a whole number: 25,557,032
  scaled,   // a large number base 1000: 4.09 G
  percent,  // a share of 1
  bar,      // the same as a picture; left out of machine formats
};

struct Cell {
  CellKind kind = CellKind::text;
  std::string text = {};
  int64_t amount = 0;
  double share = 0;
};

inline Cell cell(std::string text) { return {.kind = CellKind::text, .text = std::move(text)}; }
inline Cell cell(Bytes bytes) { return {.kind = CellKind::bytes, .amount = bytes.value}; }
inline Cell delta_cell(Bytes bytes) { return {.kind = CellKind::delta, .amount = bytes.value}; }
inline Cell count_cell(int64_t n) { return {.kind = CellKind::count, .amount = n}; }
inline Cell scaled_cell(int64_t n) { return {.kind = CellKind::scaled, .amount = n}; }
inline Cell percent_cell(double share) { return {.kind = CellKind::percent, .share = share}; }
inline Cell bar_cell(double share) { return {.kind = CellKind::bar, .share = share}; }

struct Column {
  std::string name;      // header in text, key in CSV and JSON
  bool shrinks = false;  // text that may be shortened when the line is too long: the last column wraps, others are cut
  int spare = 0;         // where the table is still too wide, columns are left out, highest first; 0: never
};

struct Table {
  std::string key;         // name in JSON: "breakdown"
  std::string title = {};  // empty: none
  std::vector<Column> columns = {};
  std::vector<std::vector<Cell>> rows = {};
  bool header = true;  // in text
  bool total = false;  // the last row is the sum of the others
};

// The answer: one amount against another.
struct Verdict {
  std::string label;  // "PEAK"
  Bytes amount;
  Bytes limit;          // 0: none
  std::string counter;  // what the amount counts: "device"
  std::string verdict;  // "fits, 20.3 GiB left"
  bool good = true;
  std::vector<std::string> lines = {};  // under it
};

// Sentences, one a line, under a title.
struct Notes {
  std::string title;
  std::vector<std::string> lines;
};

using Block = std::variant<Verdict, Table, Notes>;

struct Report {
  std::string title;
  std::vector<Block> blocks;
};

struct TextStyle {
  int width = 100;
  ByteUnit unit = ByteUnit::binary;
  bool color = false;
  bool unicode = true;
};

std::string render_text(const Report& report, const TextStyle& style);
std::string render_csv(const Report& report);   // every table; exact integers; a blank line between tables
std::string render_json(const Report& report);  // {"title", tables by key as arrays of objects, "notes"}

// Numbers for sentences: "25,557,032"; "4.09 G".
std::string format_count(int64_t n);
std::string format_scaled(int64_t n);

}  // namespace ullage
