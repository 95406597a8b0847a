// Every value is an event trace of PyTorch 2.15 (A100): forward | incoming gradient | backward. Leaves are float32
// unless named.
#include <gtest/gtest.h>

#include "tests/support/eager_fixture.h"

namespace ullage::eager {
namespace {

TEST(RandomAndResize, Dropouts) {
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("dropout", {x}, {{4, 6, 10}}, {{"p", 0.1}, {"train", int64_t{1}}}); }),
              "+1:240 +2:960 | +3:960 | +4:960 -1")
        << "dropout";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10}, DType::f16);
    EXPECT_EQ(f.trace([&] { return f.run("dropout", {x}, {{4, 6, 10}}, {{"p", 0.1}, {"train", int64_t{1}}}); }),
              "+1:240 +2:480 | +3:480 | +4:480 -1")
        << "dropout f16";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("dropout", {x}, {{4, 6, 10}}, {{"p", 1.0}, {"train", int64_t{1}}}); }),
              "+1:4 +2:960 | +3:960 | +4:960 -1")
        << "dropout p1";
  }
  {
    EagerFixture f;
    const Tensor x = f.data({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("dropout", {x}, {{4, 6, 10}}, {{"p", 0.1}, {"train", int64_t{1}}}); }),
              "+1:240 +2:960 -1")
        << "dropout nograd";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    const auto forward = [&]() -> std::vector<Tensor> {
      const Tensor y = f.run("mul", {x}, {{4, 6, 10}}, {{"other", 2.0}})[0];
      return f.run("dropout_", {y}, {{4, 6, 10}}, {{"p", 0.1}, {"train", int64_t{1}}});
    };
    EXPECT_EQ(f.trace(forward), "+1:960 +2:960 | +3:960 | +4:960 -2 +5:960 -4") << "dropout_";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({2, 8, 3, 3});
    EXPECT_EQ(
        f.trace([&] { return f.run("feature_dropout", {x}, {{2, 8, 3, 3}}, {{"p", 0.1}, {"train", int64_t{1}}}); }),
        "+1:64 +2:576 | +3:576 | +4:576 -1")
        << "dropout2d";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({2, 8, 3, 3});
    const auto forward = [&]() -> std::vector<Tensor> {
      const Tensor y = f.run("mul", {x}, {{2, 8, 3, 3}}, {{"other", 2.0}})[0];
      return f.run("feature_dropout_", {y}, {{2, 8, 3, 3}}, {{"p", 0.1}, {"train", int64_t{1}}});
    };
    EXPECT_EQ(f.trace(forward), "+1:576 +2:64 | +3:576 | +4:576 -2 +5:576 -4") << "dropout2d_";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("bernoulli", {x}, {{4, 6, 10}}); }), "+1:960 | +2:960 | +3:960")
        << "bernoulli";
  }
}

TEST(RandomAndResize, Created) {
  {
    EagerFixture f;
    EXPECT_EQ(f.trace([&] { return f.run("arange", {}, {OutSpec({7}, DType::i64)}); }), "+1:56") << "arange";
  }
  {
    EagerFixture f;
    EXPECT_EQ(f.trace([&] { return f.run("full", {}, {{3, 5}}); }), "+1:60") << "full";
  }
  {
    EagerFixture f;
    EXPECT_EQ(f.trace([&] { return f.run("rand", {}, {{3, 5}}); }), "+1:60") << "rand";
  }
}

TEST(RandomAndResize, Resampling) {
  {
    EagerFixture f;
    const Tensor x = f.leaf({2, 3, 8, 8});
    EXPECT_EQ(f.trace([&] { return f.run("interpolate", {x}, {{2, 3, 16, 16}}, {{"mode", std::string("nearest")}}); }),
              "+1:6144 | +2:6144 | +3:1536")
        << "interp nearest";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({2, 3, 8, 8});
    EXPECT_EQ(f.trace([&] { return f.run("interpolate", {x}, {{2, 3, 16, 16}}, {{"mode", std::string("bicubic")}}); }),
              "+1:6144 | +2:6144 | +3:1536")
        << "interp bicubic";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({2, 3, 8, 8});
    EXPECT_EQ(f.trace([&] { return f.run("interpolate", {x}, {{2, 3, 16, 16}}, {{"mode", std::string("area")}}); }),
              "+1:6144 | +2:6144 | +3:1536")
        << "interp area";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({2, 3, 8});
    EXPECT_EQ(f.trace([&] { return f.run("interpolate", {x}, {{2, 3, 16}}, {{"mode", std::string("linear")}}); }),
              "+1:384 | +2:384 | +3:192")
        << "interp linear";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({2, 3, 8, 8});
    const Tensor g = f.leaf({2, 5, 5, 2});
    EXPECT_EQ(f.trace([&] { return f.run("grid_sampler", {x, g}, {{2, 3, 5, 5}}); }),
              "+1:600 | +2:600 | +3:1536 +4:400")
        << "grid_sample";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({2, 3, 8, 8});
    const Tensor g = f.data({2, 5, 5, 2});
    EXPECT_EQ(f.trace([&] { return f.run("grid_sampler", {x, g}, {{2, 3, 5, 5}}); }),
              "+1:600 | +2:600 | +3:1536 +4:400 -4")
        << "grid_sample nog";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({2, 2, 3});
    EXPECT_EQ(
        f.trace([&] { return f.run("affine_grid", {x}, {{2, 5, 5, 2}}); }),
        "+1:600 +2:20 +3:20 +4:20 -2 -3 -4 +5:20 +6:20 +7:20 -5 -6 -7 +8:400 +9:8519680 -9 -1 | +10:400 | +11:600 "
        "+12:20 +13:20 +14:20 -12 -13 -14 +15:20 +16:20 +17:20 -15 -16 -17 +18:48 +19:8519680 -19 -11 +20:48 -18")
        << "affine_grid";
  }
}

}  // namespace
}  // namespace ullage::eager
