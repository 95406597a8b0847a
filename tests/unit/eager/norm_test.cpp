// Against traces of PyTorch 2.15 (CUDA 13).
#include <gtest/gtest.h>

#include "tests/support/eager_fixture.h"

namespace ullage::eager {
namespace {

// The input is copied for both kernels; its gradient is contiguous, so the leaf, which is not laid out like it, copies
// it.
TEST(LayerNorm, GradientOfATransposedInputIsContiguous) {
  EagerFixture f;
  const Tensor x = f.leaf({4, 6, 8}), w = f.leaf({8}), b = f.leaf({8});
  const auto forward = [&] {
    const Tensor t = f.run("transpose", {x}, {{6, 4, 8}}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}})[0];
    return f.run("layer_norm", {t, w, b}, {{6, 4, 8}}, {{"normalized_shape", std::vector<int64_t>{8}}});
  };
  EXPECT_EQ(f.trace(forward), "+1:768 +2:768 +3:96 +4:96 -1 | +5:768 | +6:768 +7:768 +8:32 +9:32 -6 -3 -4 +10:768 -7");
}

}  // namespace
}  // namespace ullage::eager
