// The vocabulary of Graph nodes: one row per ATen op, with its tensor inputs in order and its other arguments by
// PyTorch's names. It is the contract between importers (which write nodes) and eager (which has a rule for each row).
// A trailing '?' marks an optional input, '…' any number of them; an op that ends in '_' works in place on its first
// input and has the row of its plain name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ullage {

enum class OpFamily : uint8_t {
  convolution,
  matmul,
  norm,
  attention,
  pointwise,
  activation,
  pooling,
  reduction,
  shape,
  index,
  recurrent,
  loss,
  random,
  creation,
  resize
};

struct OpRow {
  std::string_view name;  // "convolution"
  OpFamily family;
  std::string_view inputs;  // "input, weight, bias?"
  std::string_view attrs;   // "stride, padding, dilation, transposed, output_padding, groups"
  std::string_view note;    // what a reader must know; may be empty
};

std::string_view name_of(OpFamily family);
std::span<const OpRow> op_table();            // sorted by name
const OpRow* find_op(std::string_view name);  // "relu_" finds "relu"; null when no row
bool is_inplace(std::string_view name);       // ends in '_' and its plain name has a row

}  // namespace ullage
