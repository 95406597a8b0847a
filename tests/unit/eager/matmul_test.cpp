// Matrix products against event traces of PyTorch 2.15 on an A100 (forward | incoming gradient | backward).
#include <gtest/gtest.h>

#include "tests/support/eager_fixture.h"
#include "ullage/eager/aten.h"
#include "ullage/eager/ops/products.h"

namespace ullage::eager {
namespace {

using Root = EagerFixture::Root;

class Products : public ::testing::Test {
 protected:
  EagerFixture f;
  Machine& m = f.m();
  Tensor sum_of(const Tensor& t) { return sum_dims(m, t, {}, false); }
};

TEST_F(Products, LinearWithBiasIsOneAddmm) {
  const Tensor x = f.leaf({10, 100, 768}), w = f.leaf({2304, 768}), b = f.leaf({2304});
  EXPECT_EQ(f.trace([&] { return f.run("linear", {x, w, b}, {{10, 100, 2304}}); }),
            "+1:9216000 +2:1048576 -2 | +3:9216000 | +4:3072000 +5:8519680 -5 +6:7077888 +7:8519680 -7 +8:9216");
}

TEST_F(Products, LinearWithoutBiasGivesTheWeightsGradientFirst) {
  const Tensor x = f.leaf({10, 100, 768}), w = f.leaf({2304, 768});
  EXPECT_EQ(f.trace([&] { return f.run("linear", {x, w}, {{10, 100, 2304}}); }),
            "+1:9216000 +2:8519680 -2 | +3:9216000 | +4:7077888 +5:8519680 -5 +6:3072000 +7:8519680 -7");
}

TEST_F(Products, LinearOfTheBatchMakesNoGradientForIt) {
  const Tensor x = f.data({1000, 768}), w = f.leaf({2304, 768}), b = f.leaf({2304});
  EXPECT_EQ(f.trace([&] { return f.run("linear", {x, w, b}, {{1000, 2304}}); }),
            "+1:9216000 +2:1048576 -2 | +3:9216000 | +4:7077888 +5:8519680 -5 +6:9216");
}

TEST_F(Products, LinearToOneFeatureHasNoEpilogue) {
  const Tensor x = f.leaf({1000, 768}), w = f.leaf({1, 768}), b = f.leaf({1});
  EXPECT_EQ(f.trace([&] { return f.run("linear", {x, w, b}, {{1000, 1}}); }),
            "+1:4000 +2:8519680 -2 | +3:4000 | +4:3072000 +5:8519680 -5 +6:3072 +7:8519680 -7 +8:4");
}

TEST_F(Products, LinearOfTransposedInputCopiesItAndAddsTheBiasInPlace) {
  const Tensor x = f.leaf({10, 2, 48}), w = f.leaf({64, 48}), b = f.leaf({64});
  EXPECT_EQ(f.trace([&] { return std::vector{linear(m, transpose(m, x, 0, 1), w, b)}; }),
            "+1:3840 +2:5120 +3:8519680 -3 | +4:5120 | +5:256 +6:12288 +7:8519680 -7 +8:3840 +9:8519680 -9 -1 "
            "+10:3840 -8");
}

TEST_F(Products, LinearWithFrozenWeightLeavesATransposedInputInPlace) {
  const Tensor x = f.leaf({10, 3, 48}), w = f.data({64, 48});
  EXPECT_EQ(f.trace([&] { return std::vector{linear(m, transpose(m, x, 0, 1), w, {})}; }),
            "+1:7680 +2:8519680 -2 | +3:7680 | +4:5760 +5:8519680 -5 +6:5760 -4");
}

TEST_F(Products, AnExpandedGradientIsCopiedForEachProduct) {
  const Tensor x = f.leaf({30, 48}), w = f.leaf({64, 48}), b = f.leaf({64});
  EXPECT_EQ(f.trace([&] { return std::vector{sum_of(linear(m, x, w, b))}; }, Root::ones),
            "+1:7680 +2:1048576 -2 +3:4 -1 | +4:4 | +5:4 +6:5760 +7:7680 +8:8519680 -8 -7 +9:12288 +10:7680 "
            "+11:8519680 -11 -10 +12:256 -5");
}

TEST_F(Products, AddmmScalesGradientsOutOfPlace) {
  const Tensor c = f.leaf({10}), a = f.leaf({6, 8}), b = f.leaf({8, 10});
  EXPECT_EQ(f.trace([&] { return f.run("addmm", {c, a, b}, {{6, 10}}, {{"alpha", 0.5}, {"beta", 0.5}}); }),
            "+1:240 +2:8519680 -2 | +3:240 | +4:192 +5:8519680 -5 +6:192 -4 +7:320 +8:8519680 -8 +9:320 -7 "
            "+10:240 +11:40 -10");
}

TEST_F(Products, BaddbmmGivesTheFirstBatchsGradientFirst) {
  const Tensor c = f.leaf({8, 100, 60}), a = f.leaf({8, 100, 768}), b = f.leaf({8, 768, 60});
  EXPECT_EQ(f.trace([&] { return f.run("baddbmm", {c, a, b}, {{8, 100, 60}}); }),
            "+1:192000 +2:8519680 -2 | +3:192000 | +4:2457600 +5:8519680 -5 +6:1474560 +7:8519680 -7 +8:192000");
}

TEST_F(Products, MatmulOfHeadsCopiesBothOperands) {
  const Tensor a = f.leaf({2, 5, 24}), b = f.leaf({2, 5, 24});
  const auto heads = [&](const Tensor& t) { return transpose(m, view(m, t, {2, 5, 3, 8}), 1, 2); };
  EXPECT_EQ(f.trace([&] { return f.run("matmul", {heads(a), transpose(m, heads(b), -2, -1)}, {{2, 3, 5, 5}}); }),
            "+1:960 +2:960 +3:600 +4:8519680 -4 | +5:600 | +6:960 +7:8519680 -7 +8:960 +9:8519680 -9 -2 -1 "
            "+10:960 -6 +11:960 -8");
}

TEST_F(Products, MatmulMaterialisesBroadcastBatches) {
  const Tensor a = f.leaf({4, 1, 6, 8}), b = f.leaf({1, 3, 8, 10});
  EXPECT_EQ(f.trace([&] { return f.run("matmul", {a, b}, {{4, 3, 6, 10}}); }),
            "+1:2304 +2:3840 +3:2880 +4:8519680 -4 | +5:2880 | +6:3840 +7:8519680 -7 +8:2304 +9:8519680 -9 -2 -1 "
            "+10:960 -6 +11:768 -8");
}

TEST_F(Products, MatmulOfMatrixWithBatchFoldsWhenTheMatrixTrains) {
  const Tensor a = f.leaf({6, 8}), b = f.leaf({3, 8, 10});
  EXPECT_EQ(f.trace([&] { return f.run("matmul", {a, b}, {{3, 6, 10}}); }),
            "+1:960 +2:720 +3:8519680 -3 +4:720 -2 | +5:720 | +6:720 +7:192 +8:8519680 -8 +9:960 +10:8519680 -10 "
            "-6 -1 +11:960 -9");
}

TEST_F(Products, MatmulOfFrozenMatrixWithBatchStaysBatched) {
  const Tensor frozen = f.data({6, 8}), b = f.leaf({3, 8, 10});
  EXPECT_EQ(f.trace([&] { return f.run("matmul", {frozen, b}, {{3, 6, 10}}); }),
            "+1:720 +2:8519680 -2 | +3:720 | +4:960 +5:8519680 -5");
}

TEST_F(Products, MatmulWithVectors) {
  EXPECT_EQ(f.trace([&, a = f.leaf({3, 6, 8}), b = f.leaf({8})] { return f.run("matmul", {a, b}, {{3, 6}}); }),
            "+1:72 +2:8519680 -2 | +3:72 | +4:576 +5:32 +6:8519680 -6");
  EXPECT_EQ(f.trace([&, a = f.leaf({8}), b = f.leaf({8, 10})] { return f.run("matmul", {a, b}, {{10}}); }),
            "+1:40 +2:8519680 -2 | +3:40 | +4:320 +5:8519680 -5 +6:32 +7:8519680 -7");
  EXPECT_EQ(f.trace([&, a = f.leaf({8}), b = f.leaf({8})] { return f.run("matmul", {a, b}, {{}}); }),
            "+1:4 +2:8519680 -2 | +3:4 | +4:32 +5:32");
  EXPECT_EQ(f.trace([&, a = f.leaf({8}), b = f.leaf({3, 8, 10})] { return f.run("matmul", {a, b}, {{3, 10}}); }),
            "+1:960 +2:120 +3:8519680 -3 | +4:120 | +5:960 +6:32 +7:8519680 -7 -1 +8:960 -5");
}

TEST_F(Products, BatchedOuterProductTakesNoWorkspace) {
  const Tensor a = f.leaf({5, 6, 1}), b = f.leaf({5, 1, 7});
  EXPECT_EQ(f.trace([&] { return f.run("bmm", {a, b}, {{5, 6, 7}}); }),
            "+1:840 | +2:840 | +3:140 +4:8519680 -4 +5:120 +6:8519680 -6");
}

struct EinsumCase {
  const char* equation;
  Shape a, b, out;
  const char* trace;
};

TEST(Einsum, ContractsAsPermuteReshapeBmm) {
  const EinsumCase cases[] = {
      {"bqhd,bkhd->bhqk",
       {2, 5, 3, 8},
       {2, 7, 3, 8},
       {2, 3, 5, 7},
       "+1:960 +2:1344 +3:840 +4:8519680 -4 | +5:840 | +6:1344 +7:8519680 -7 +8:960 +9:8519680 -9 -2 -1 "
       "+10:1344 -6 +11:960 -8"},
      {"bhqk,bkhd->bqhd",
       {2, 3, 5, 7},
       {2, 7, 3, 8},
       {2, 5, 3, 8},
       "+1:1344 +2:960 +3:8519680 -3 | +4:960 | +5:1344 +6:8519680 -6 +7:840 +8:8519680 -8 -1 +9:1344 -5"},
      {"bij,jk->bik",
       {2, 5, 6},
       {6, 7},
       {2, 5, 7},
       "+1:280 +2:8519680 -2 | +3:280 | +4:168 +5:8519680 -5 +6:240 +7:8519680 -7"},
      {"i,j->ij", {5}, {6}, {5, 6}, "+1:120 | +2:120 | +3:120 +4:120 +5:20 -4 +6:24 -3"},
      {"bnc,bmc->bnm",
       {2, 5, 6},
       {2, 7, 6},
       {2, 5, 7},
       "+1:280 +2:8519680 -2 | +3:280 | +4:336 +5:8519680 -5 +6:240 +7:8519680 -7 +8:336 -4"},
      {"bhwc,hkc->bhwk",
       {2, 4, 5, 6},
       {4, 7, 6},
       {2, 4, 5, 7},
       "+1:960 +2:1120 +3:8519680 -3 | +4:1120 | +5:672 +6:8519680 -6 +7:960 +8:8519680 -8 -1 +9:672 -5 "
       "+10:960 -7"},
      {"nchw,cd->ndhw",
       {2, 6, 4, 5},
       {6, 7},
       {2, 7, 4, 5},
       "+1:960 +2:1120 +3:8519680 -3 | +4:1120 | +5:168 +6:8519680 -6 +7:960 +8:8519680 -8 -1 +9:960 -7"},
      {"ij,ij->i", {5, 6}, {5, 6}, {5}, "+1:20 +2:8519680 -2 | +3:20 | +4:120 +5:120"},
  };
  for (const EinsumCase& one : cases) {
    EagerFixture f;
    const Tensor a = f.leaf(one.a), b = f.leaf(one.b);
    EXPECT_EQ(
        f.trace([&] { return f.run("einsum", {a, b}, {OutSpec(one.out, DType::f32)}, {{"equation", one.equation}}); }),
        one.trace)
        << one.equation;
  }
}

TEST(Einsum, ThreeOperandsGoFromLeftToRight) {
  EagerFixture f;
  const Tensor a = f.leaf({2, 5}), b = f.leaf({3, 5, 4}), c = f.leaf({2, 4});
  EXPECT_EQ(f.trace([&] { return f.run("einsum", {a, b, c}, {{2, 3}}, {{"equation", "bn,anm,bm->ba"}}); }),
            "+1:240 +2:96 +3:8519680 -3 +4:24 +5:8519680 -5 | +6:24 | +7:32 +8:8519680 -8 +9:96 -2 +10:240 "
            "+11:8519680 -11 +12:40 +13:8519680 -13 -9 -1 +14:240 -10");
}

TEST(AutocastOrder, ArgumentsAreCastFromTheLastListsFromTheFirst) {
  EagerFixture f({.autocast = DType::f16});
  const Tensor a = f.leaf({2, 6, 8}), b = f.leaf({2, 8, 10});
  const std::vector<Tensor> product = f.run("matmul", {a, b}, {{2, 6, 10}});
  EXPECT_EQ(product[0].dtype(), DType::f16);
  EXPECT_EQ(f.m().program().block(BlockId{3}).requested, Bytes(320));  // b's copy, then a's
  EXPECT_EQ(f.m().program().block(BlockId{4}).requested, Bytes(192));
}

TEST(Flops, OfLinearForwardAndBackward) {
  EagerFixture f;
  const Tensor x = f.leaf({30, 48}), w = f.leaf({64, 48}), b = f.leaf({64});
  f.trace([&] { return f.run("linear", {x, w, b}, {{30, 64}}); });
  int64_t forward = 0, backward = 0;
  for (const NodeStats& node : f.m().all_stats()) {
    forward += node.forward_flops;
    backward += node.backward_flops;
  }
  EXPECT_EQ(forward, 2 * 30 * 48 * 64);
  EXPECT_EQ(backward, 2 * 2 * 30 * 48 * 64);
}

}  // namespace
}  // namespace ullage::eager
