// What matrix products share with fused ones: sizes by NumPy's rules, and when a product is an nn.Linear.
#pragma once

#include "ullage/importers/onnx/lower/call.h"

namespace ullage::onnx {

Result<Sizes> product_sizes(const Call& c, const Sizes& a, const Sizes& b);
// [.., m, n] to [.., n, m], as a view step.
DraftId transposed(Call& c, DraftId x);
// Whether x is a tensor that the model owns (stored, not a folded number).
bool is_weight(const Call& c, DraftId x);
// a @ b: `linear` when b is a stored matrix (or the transpose of one), else `matmul`.
Result<DraftId> product(Call& c, DraftId a, DraftId b);
// The sizes of an einsum's result.
Result<Sizes> einsum_sizes(const Call& c, std::string_view equation, std::span<const DraftId> inputs);

}  // namespace ullage::onnx
