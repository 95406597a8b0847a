// Every value is an event trace of PyTorch 2.15 (A100): forward | incoming gradient | backward. Leaves are float32
// unless named.
#include <gtest/gtest.h>

#include "tests/support/eager_fixture.h"

namespace ullage::eager {
namespace {

TEST(Reductions, Sums) {
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("sum", {x}, {OutSpec({}, DType::f32)}); }), "+1:4 | +2:4 | +3:960") << "sum";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("sum", {x}, {{4, 10}}, {{"dim", int64_t{1}}}); }), "+1:160 | +2:160 | +3:960")
        << "sum1";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] {
      return f.run("sum", {x}, {{4, 1, 1}}, {{"dim", std::vector<int64_t>{1, 2}}, {"keepdim", int64_t{1}}});
    }),
              "+1:16 | +2:16 | +3:960")
        << "sum12k";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("mean", {x}, {OutSpec({}, DType::f32)}); }), "+1:4 | +2:4 | +3:960") << "mean";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("mean", {x}, {{4, 10}}, {{"dim", int64_t{1}}}); }), "+1:160 | +2:160 | +3:960")
        << "mean1";
  }
  {
    EagerFixture f;
    const Tensor x = f.data({4, 6}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("sum", {x}, {OutSpec({4}, DType::i64)}, {{"dim", int64_t{1}}}); }), "+1:32")
        << "sum i64";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("cumsum", {x}, {{4, 6, 10}}, {{"dim", int64_t{1}}}); }),
              "+1:960 | +2:960 | +3:960 +4:960 +5:960 -4 -3")
        << "cumsum";
  }
  {
    EagerFixture f;
    const Tensor x = f.data({4, 6}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("cumsum", {x}, {OutSpec({4, 6}, DType::i64)}, {{"dim", int64_t{1}}}); }),
              "+1:192")
        << "cumsum i64";
  }
  {
    EagerFixture f;
    const Tensor x = f.data({4, 6}, DType::boolean);
    EXPECT_EQ(f.trace([&] { return f.run("cumsum", {x}, {OutSpec({4, 6}, DType::i64)}, {{"dim", int64_t{1}}}); }),
              "+1:192 +2:192 -2")
        << "cumsum bool";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("cumprod", {x}, {{4, 6, 10}}, {{"dim", int64_t{1}}}); }),
              "+1:960 | +2:960 | +3:960 +4:240 +5:1 -5 +6:960 +7:960 +8:960 -7 -6 +9:960 -8 -4 -3")
        << "cumprod";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("prod", {x}, {{4, 10}}, {{"dim", int64_t{1}}}); }),
              "+1:160 | +2:160 | +3:240 +4:320 +5:1920 -5 +6:8 -6 +7:960 +8:960 -7 -4 -3")
        << "prodd";
  }
}

TEST(Reductions, WithScratch) {
  {
    EagerFixture f;
    const Tensor x = f.leaf({64, 300, 50});
    EXPECT_EQ(f.trace([&] { return f.run("sum", {x}, {{300, 50}}, {{"dim", int64_t{0}}}); }),
              "+1:60000 | +2:60000 | +3:3840000")
        << "big sum0";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({64, 300, 50});
    EXPECT_EQ(f.trace([&] { return f.run("sum", {x}, {{64, 50}}, {{"dim", int64_t{1}}}); }),
              "+1:12800 | +2:12800 | +3:3840000")
        << "big sum1";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({64, 300, 50});
    EXPECT_EQ(f.trace([&] { return f.run("sum", {x}, {{64, 300}}, {{"dim", int64_t{2}}}); }),
              "+1:76800 | +2:76800 | +3:3840000")
        << "big sum2";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({64, 300, 50});
    EXPECT_EQ(f.trace([&] { return f.run("sum", {x}, {{50}}, {{"dim", std::vector<int64_t>{0, 1}}}); }),
              "+1:200 +2:480000 +3:8 -3 -2 | +4:200 | +5:3840000")
        << "big sum01";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({64, 300, 50});
    EXPECT_EQ(f.trace([&] { return f.run("sum", {x}, {{64}}, {{"dim", std::vector<int64_t>{1, 2}}}); }),
              "+1:256 | +2:256 | +3:3840000")
        << "big sum12";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({64, 300, 50});
    EXPECT_EQ(f.trace([&] { return f.run("sum", {x}, {OutSpec({}, DType::f32)}); }),
              "+1:4 +2:472 +3:4 -3 -2 | +4:4 | +5:3840000")
        << "big sum";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({64, 300, 50});
    EXPECT_EQ(f.trace([&] { return f.run("argmax", {x}, {OutSpec({300, 50}, DType::i64)}, {{"dim", int64_t{0}}}); }),
              "+1:120000")
        << "big argmax0";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({64, 300, 50});
    EXPECT_EQ(f.trace([&] { return f.run("argmax", {x}, {OutSpec({}, DType::i64)}); }), "+1:8 +2:1888 +3:4 -3 -2")
        << "big argmax";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({64, 300, 50});
    EXPECT_EQ(f.trace([&] { return f.run("any", {x}, {OutSpec({}, DType::boolean)}); }), "+1:1 +2:118 +3:4 -3 -2")
        << "big any";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({64, 300, 50});
    EXPECT_EQ(f.trace([&] { return f.run("norm", {x}, {OutSpec({}, DType::f32)}, {{"p", 2.0}}); }),
              "+1:4 +2:472 +3:4 -3 -2 | +4:4 | +5:3840000 +6:1 +7:3840000 -6 -5")
        << "big norm";
  }
}

TEST(Reductions, Softmax) {
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("softmax", {x}, {{4, 6, 10}}, {{"dim", int64_t{-1}}}); }),
              "+1:960 | +2:960 | +3:960 +4:960 -4")
        << "softmax";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("log_softmax", {x}, {{4, 6, 10}}, {{"dim", int64_t{-1}}}); }),
              "+1:960 | +2:960 | +3:960")
        << "log_softmax";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    const auto forward = [&]() -> std::vector<Tensor> {
      const Tensor t = f.run("transpose", {x}, {{4, 10, 6}}, {{"dim0", int64_t{1}}, {"dim1", int64_t{2}}})[0];
      return f.run("softmax", {t}, {{4, 10, 6}}, {{"dim", int64_t{-1}}});
    };
    EXPECT_EQ(f.trace(forward), "+1:960 +2:960 -2 | +3:960 | +4:960 +5:960 -5 +6:960 -4") << "softmaxT";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 60}, DType::f16);
    EXPECT_EQ(f.trace([&] {
      return f.run("softmax", {x}, {OutSpec({4, 60}, DType::f32)},
                   {{"dim", int64_t{-1}}, {"dtype", std::string("float32")}});
    }),
              "+1:960 | +2:960 | +3:480 +4:960 -4")
        << "softmax f16 f32";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 60}, DType::bf16);
    EXPECT_EQ(f.trace([&] {
      return f.run("softmax", {x}, {OutSpec({4, 60}, DType::f32)},
                   {{"dim", int64_t{-1}}, {"dtype", std::string("float32")}});
    }),
              "+1:960 +2:960 -1 | +3:960 | +4:960 +5:960 -5 +6:480 -4")
        << "softmax bf16 f32";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("logsumexp", {x}, {{4, 10}}, {{"dim", int64_t{1}}}); }),
              "+1:160 +2:160 +3:40 -3 -2 +4:960 +5:160 -4 -1 | +6:160 | +7:960 +8:960 +9:960 -8 -7")
        << "logsumexp";
  }
}

// Under autocast these get dtype=float32.
TEST(Reductions, UnderAutocast) {
  MachineOptions options;
  options.autocast = DType::f16;
  const auto trace = [&](std::string_view op, OutSpec out) {
    EagerFixture f(options);
    const Tensor x = f.leaf({4, 60}, DType::f16);
    return f.trace([&] { return f.run(op, {x}, {out}, {{"dim", int64_t{-1}}}); });
  };
  EXPECT_EQ(trace("softmax", {4, 60}), "+1:960 | +2:960 | +3:480 +4:960 -4");
  EXPECT_EQ(trace("sum", {4}), "+1:16 | +2:16 | +3:480");
  EXPECT_EQ(trace("cumsum", {4, 60}), "+1:960 +2:960 -2 | +3:960 | +4:480 +5:480 +6:480 +7:480 -6 -5 -4");
  EXPECT_EQ(trace("norm", {4}), "+1:16 | +2:16 | +3:960 +4:4 +5:960 -4 -3 +6:480 -5");
}

TEST(Reductions, ExtremesAndOrder) {
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("amax", {x}, {{4, 10}}, {{"dim", int64_t{1}}}); }),
              "+1:160 | +2:160 | +3:240 +4:320 +5:1920 -5 +6:160 +7:960 -6 -4 -3")
        << "amax";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("amax", {x}, {{4, 1, 10}}, {{"dim", int64_t{1}}, {"keepdim", int64_t{1}}}); }),
              "+1:160 | +2:160 | +3:240 +4:320 +5:1920 -5 +6:160 +7:960 -6 -4 -3")
        << "amaxk";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("argmax", {x}, {OutSpec({4, 10}, DType::i64)}, {{"dim", int64_t{1}}}); }),
              "+1:320")
        << "argmax";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] {
      return f.run("topk", {x}, {{4, 3, 10}, OutSpec({4, 3, 10}, DType::i64)},
                   {{"k", int64_t{3}}, {"dim", int64_t{1}}});
    }),
              "+1:480 +2:960 | +3:480 | +4:960")
        << "topk";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] {
      return f.run("sort", {x}, {{4, 6, 10}, OutSpec({4, 6, 10}, DType::i64)}, {{"dim", int64_t{1}}});
    }),
              "+1:960 +2:1920 +3:48 -3 | +4:960 | +5:960")
        << "sort";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] {
      return f.run("sort", {x}, {{4, 6, 10}, OutSpec({4, 6, 10}, DType::i64)}, {{"dim", int64_t{-1}}});
    }),
              "+1:960 +2:1920 +3:80 -3 | +4:960 | +5:960")
        << "sort2";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("any", {x}, {OutSpec({4, 10}, DType::boolean)}, {{"dim", int64_t{1}}}); }),
              "+1:40")
        << "any";
  }
}

TEST(Reductions, Spread) {
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("var", {x}, {{4, 6}}, {{"dim", int64_t{-1}}}); }),
              "+1:96 | +2:96 | +3:96 +4:960 +5:96 +6:960 -5 -4 -3")
        << "var";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("std", {x}, {{4, 6}}, {{"dim", int64_t{-1}}}); }),
              "+1:96 | +2:96 | +3:96 +4:96 +5:24 -5 -3 +6:96 +7:960 +8:96 +9:960 -8 -7 -6 -4")
        << "std";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("std", {x}, {{4, 6, 1}}, {{"dim", int64_t{-1}}, {"keepdim", int64_t{1}}}); }),
              "+1:96 | +2:96 | +3:96 +4:96 +5:24 -5 -3 +6:96 +7:960 +8:96 +9:960 -8 -7 -6 -4")
        << "stdk";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("norm", {x}, {{4, 6}}, {{"dim", int64_t{-1}}, {"p", 2.0}}); }),
              "+1:96 | +2:96 | +3:960 +4:24 +5:960 -4 -3")
        << "norm2";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("norm", {x}, {{4, 6}}, {{"dim", int64_t{-1}}, {"p", 1.0}}); }),
              "+1:96 | +2:96 | +3:960 +4:960 -3")
        << "norm1";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10}, DType::f16);
    EXPECT_EQ(f.trace([&] { return f.run("var", {x}, {{4, 6}}, {{"dim", int64_t{-1}}}); }),
              "+1:48 | +2:48 | +3:48 +4:480 +5:48 +6:480 -5 -4 -3")
        << "var f16";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({64, 300, 50});
    EXPECT_EQ(f.trace([&] { return f.run("var", {x}, {{64, 300}}, {{"dim", int64_t{-1}}}); }),
              "+1:76800 | +2:76800 | +3:76800 +4:3840000 +5:76800 +6:3840000 -5 -4 -3")
        << "big var";
  }
}

}  // namespace
}  // namespace ullage::eager
