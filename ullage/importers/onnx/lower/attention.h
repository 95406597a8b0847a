// What all spellings of attention share: heads as a view, scaled_dot_product_attention, heads merged again.
#pragma once

#include "ullage/importers/onnx/lower/call.h"

namespace ullage::onnx {

// [B, S, n·d] → view [B, S, n, d] → transpose [B, n, S, d]
DraftId split_heads(Call& c, DraftId x, int64_t heads);
// [B, n, S, d] → transpose → reshape [B, S, n·d]
DraftId merge_heads(Call& c, DraftId x);
DraftId attend(Call& c, DraftId query, DraftId key, DraftId value, DraftId mask, bool causal);
// x with the rotation of its last dim by tables of cosines and sines, as models write it: x·cos + rotate_half(x)·sin.
DraftId rotate(Call& c, DraftId x, DraftId cosines, DraftId sines);

}  // namespace ullage::onnx
