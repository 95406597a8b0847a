// Strides as PyTorch gives them (torch.empty_like, torch.add).
#include "ullage/eager/layout.h"

#include <gtest/gtest.h>

#include "tests/support/eager_fixture.h"

namespace ullage::eager {
namespace {

std::string text(const Strides& strides) { return strides.to_string(); }

struct Like {
  std::string_view name;
  Shape sizes;
  Strides strides;
  Strides copy;  // torch.empty_like(x).stride()
};

const Like kCopies[] = {
    {"transposed", {10, 6, 4}, {1, 10, 60}, {1, 10, 60}},
    {"permuted slice", {10, 2, 6}, {1, 120, 10}, {1, 60, 10}},
    {"expanded row", {6, 10}, {0, 1}, {10, 1}},
    {"expanded inner dim", {6, 10}, {1, 0}, {10, 1}},
    {"channels_last slice", {2, 4, 5, 5}, {200, 1, 40, 8}, {100, 1, 20, 4}},
    {"a size of one", {6, 1, 4}, {1, 6, 6}, {1, 6, 6}},
    {"gaps", {8, 4}, {6, 1}, {4, 1}},
    {"permuted and expanded", {3, 7, 5}, {0, 1, 7}, {35, 1, 7}},
};

TEST(Layout, CopiesKeepTheOrderOfDims) {
  for (const Like& x : kCopies) {
    const Strides copy =
        is_non_overlapping_and_dense(x.sizes, x.strides) ? x.strides : dense_strides(x.sizes, x.strides);
    EXPECT_EQ(text(copy), text(x.copy)) << x.name;
  }
}

struct Sum {
  std::string_view name;
  Shape a_sizes;
  Strides a_strides;
  Shape b_sizes;
  Strides b_strides;
  Strides sum;  // (a + b).stride()
};

const Sum kSums[] = {
    {"transposed + contiguous", {4, 6}, {1, 4}, {4, 6}, {6, 1}, {1, 4}},
    {"contiguous + transposed", {4, 6}, {6, 1}, {4, 6}, {1, 4}, {6, 1}},
    {"channels_last + vector", {2, 8, 5, 5}, {200, 1, 40, 8}, {1, 8, 1, 1}, {8, 1, 1, 1}, {200, 1, 40, 8}},
    {"vector + channels_last", {1, 8, 1, 1}, {8, 1, 1, 1}, {2, 8, 5, 5}, {200, 1, 40, 8}, {200, 1, 40, 8}},
    {"channels_last + contiguous", {2, 8, 5, 5}, {200, 1, 40, 8}, {2, 8, 5, 5}, {200, 25, 5, 1}, {200, 1, 40, 8}},
    {"column + row", {4, 1}, {1, 1}, {1, 6}, {6, 1}, {6, 1}},
    {"expanded + transposed", {4, 6}, {0, 1}, {4, 6}, {1, 4}, {1, 4}},
    {"permuted + row", {10, 4, 6}, {1, 60, 10}, {6}, {1}, {1, 60, 10}},
    {"scalar + transposed", {}, {}, {4, 6}, {1, 4}, {1, 4}},
};

TEST(Layout, ResultsOfTwoOperands) {
  for (const Sum& row : kSums) {
    EagerFixture f;
    const Tensor a = f.m().empty_strided(row.a_sizes, row.a_strides, DType::f32);
    const Tensor b = f.m().empty_strided(row.b_sizes, row.b_strides, DType::f32);
    EXPECT_EQ(text(add(f.m(), a, b).strides()), text(row.sum)) << row.name;
  }
}

// x.transpose(1, 2) of [2, 3, 4, 5]: heads merge with nothing but themselves.
TEST(Layout, ViewsNeedDimsThatFollowEachOther) {
  const Shape sizes = {2, 4, 3, 5};
  const Strides strides = {60, 5, 20, 1};
  EXPECT_FALSE(view_strides(sizes, strides, {8, 15}).has_value());
  EXPECT_FALSE(view_strides(sizes, strides, {8, 3, 5}).has_value());
  ASSERT_TRUE(view_strides(sizes, strides, {2, 2, 2, 3, 5}).has_value());
  EXPECT_EQ(text(*view_strides(sizes, strides, {2, 2, 2, 3, 5})), text({60, 10, 5, 20, 1}));
}

// torch.result_type: a number does not widen within its category, a tensor with dims outranks one without.
TEST(ResultType, NumbersAndScalarsGiveWay) {
  EagerFixture f;
  Machine& m = f.m();
  const Tensor half = m.empty({2}, DType::f16);
  const Tensor single = m.empty({2}, DType::f32);
  const Tensor scalar = m.empty({}, DType::f32);
  const Tensor integers = m.empty({2}, DType::i64);
  const Tensor number = m.host_scalar(DType::f64);
  EXPECT_EQ(result_type({&half, &single}), DType::f32);
  EXPECT_EQ(result_type({&half, &scalar}), DType::f16);
  EXPECT_EQ(result_type({&half, &number}), DType::f16);
  EXPECT_EQ(result_type({&integers, &number}), DType::f32);
  EXPECT_EQ(result_type({&integers, &half}), DType::f16);
}

}  // namespace
}  // namespace ullage::eager
