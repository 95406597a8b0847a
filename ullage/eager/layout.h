// Layout: sizes and strides of a tensor, and the questions eager mode asks of them: is it contiguous, can it be viewed
// at another shape without a copy, which strides does a result get. Strides are in elements. Rules follow ATen's
// TensorUtils and MemoryOverlap (2.15).
#pragma once

#include <optional>
#include <span>

#include "ullage/ir/shape.h"

namespace ullage::eager {

using Strides = Shape;  // same rank as the shape it goes with

enum class MemoryFormat : uint8_t { contiguous, channels_last };

Strides contiguous_strides(const Shape& sizes);
Strides channels_last_strides(const Shape& sizes);  // rank 4 (NHWC) or 5 (NDHWC)

bool is_contiguous(const Shape& sizes, const Strides& strides);
bool is_channels_last(const Shape& sizes, const Strides& strides);  // rank 4 or 5 only
// suggest_memory_format: which of the two formats do these strides ask for? Ties (sizes of 1) go to contiguous.
MemoryFormat suggested_format(const Shape& sizes, const Strides& strides);
bool is_non_overlapping_and_dense(const Shape& sizes, const Strides& strides);

// Strides with which a tensor can be seen as `target` without a copy; none when it must be copied (ATen computeStride).
std::optional<Strides> view_strides(const Shape& sizes, const Strides& strides, const Shape& target);
// Strides of an expand to `target`: 0 in every widened dim.
Strides expand_strides(const Shape& sizes, const Strides& strides, const Shape& target);

// Strides of a dense tensor of these sizes whose dims lie in memory in the order of `strides` (ATen
// infer_dense_strides): the layout that empty_like and clone give to the copy of a tensor with gaps or expanded dims.
Strides dense_strides(const Shape& sizes, const Strides& strides);
// The same for the result of several operands, each with the strides that it has after broadcasting to `sizes`: the
// first operand that can tell two dims apart decides (TensorIterator reorder_dimensions).
Strides dense_strides(const Shape& sizes, std::span<const Strides> operands);

// Elements of storage that a dense-enough result of these sizes and strides needs (1 + sum of (size-1)*stride).
int64_t storage_elements(const Shape& sizes, const Strides& strides);

}  // namespace ullage::eager
