// Against strides that PyTorch 2.15 (CUDA 13) gives.
#include <gtest/gtest.h>

#include "tests/support/eager_fixture.h"

namespace ullage::eager {
namespace {

// nn.MultiheadAttention's operands are (length, batch · heads, dim) in memory; flash attention's result is, too.
TEST(Attention, FlashResultsKeepTheOperandsLayout) {
  EagerFixture f;
  const Tensor x = f.leaf({6, 8, 16}, DType::f16);
  const Tensor t = f.run("transpose", {x}, {{{8, 6, 16}, DType::f16}}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}})[0];
  const Tensor h = f.run("view", {t}, {{{4, 2, 6, 16}, DType::f16}}, {{"size", std::vector<int64_t>{4, 2, 6, 16}}})[0];
  const Tensor y = f.run("scaled_dot_product_attention", {h, h, h}, {{{4, 2, 6, 16}, DType::f16}})[0];
  EXPECT_EQ(y.strides(), (Strides{32, 16, 128, 1}));
}

}  // namespace
}  // namespace ullage::eager
