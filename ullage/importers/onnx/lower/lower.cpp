#include "ullage/importers/onnx/lower/lower.h"

#include "ullage/importers/onnx/lower/emit.h"
#include "ullage/importers/onnx/lower/lowering.h"
#include "ullage/importers/onnx/lower/rewrite.h"

namespace ullage::onnx {

Result<Graph> lower(const FileModel& model, const Bindings& bindings, Diagnostics& notes) {
  Lowering lowering(model, bindings, notes);
  UL_TRY_STATUS(lowering.run());
  drop_dead_steps(lowering.draft());
  collapse(lowering);
  fuse(lowering);
  drop_dead_steps(lowering.draft());
  return emit(lowering);
}

}  // namespace ullage::onnx
