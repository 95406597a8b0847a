// Every value is an event trace of PyTorch 2.15 (A100): forward | incoming gradient | backward. Leaves are float32
// unless named.
#include <gtest/gtest.h>

#include "tests/support/eager_fixture.h"

namespace ullage::eager {
namespace {

TEST(Shapes, CatAndStack) {
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    const Tensor y = f.leaf({4, 10, 6});
    const auto forward = [&]() -> std::vector<Tensor> {
      const Tensor t = f.run("transpose", {y}, {{4, 6, 10}}, {{"dim0", int64_t{1}}, {"dim1", int64_t{2}}})[0];
      return f.run("cat", {x, t}, {{8, 6, 10}}, {{"dim", int64_t{0}}});
    };
    EXPECT_EQ(f.trace(forward), "+1:1920 | +2:1920 | +3:960") << "cat noncontig";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10}, DType::f16);
    const Tensor y = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("cat", {x, y}, {{8, 6, 10}}, {{"dim", int64_t{0}}}); }),
              "+1:1920 | +2:1920 | +3:480")
        << "cat mixed f16";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({6, 10});
    const Tensor y = f.leaf({6, 10});
    const Tensor z = f.leaf({6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("stack", {x, y, z}, {{6, 3, 10}}, {{"dim", int64_t{1}}}); }),
              "+1:720 | +2:720 | +3:240 +4:240 +5:240")
        << "stack";
  }
}

TEST(Shapes, PartsAndTheirGradients) {
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    const auto forward = [&]() -> std::vector<Tensor> {
      const auto p = f.run("chunk", {x}, {{4, 6, 5}, {4, 6, 5}}, {{"chunks", int64_t{2}}, {"dim", int64_t{-1}}});
      return f.run("mul", {p[0], p[1]}, {{4, 6, 5}});
    };
    EXPECT_EQ(f.trace(forward), "+1:480 | +2:480 | +3:480 +4:480 +5:960 -4 -3") << "chunk all";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    const auto forward = [&]() -> std::vector<Tensor> {
      const auto p = f.run("unbind", {x}, {{6, 10}, {6, 10}, {6, 10}, {6, 10}}, {{"dim", int64_t{0}}});
      return f.run("mul", {p[0], p[1]}, {{6, 10}});
    };
    EXPECT_EQ(f.trace(forward), "+1:240 | +2:240 | +3:240 +4:240 +5:4 +6:4 +7:960 -5 -6 -4 -3") << "unbind";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    const auto forward = [&]() -> std::vector<Tensor> {
      const Tensor y = f.run("slice", {x}, {{4, 3, 10}}, {{"dim", int64_t{1}}, {"step", int64_t{2}}})[0];
      return f.run("mul", {y}, {{4, 3, 10}}, {{"other", 2.0}});
    };
    EXPECT_EQ(f.trace(forward), "+1:480 | +2:480 | +3:480 +4:960 -3") << "slice step";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    const auto forward = [&]() -> std::vector<Tensor> {
      const Tensor y = f.run("slice", {x}, {{4, 6, 10}}, {{"dim", int64_t{1}}})[0];
      return f.run("mul", {y}, {{4, 6, 10}}, {{"other", 2.0}});
    };
    EXPECT_EQ(f.trace(forward), "+1:960 | +2:960 | +3:960") << "slice noop";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    const auto forward = [&]() -> std::vector<Tensor> {
      const Tensor y = f.run("select", {x}, {{4, 10}}, {{"dim", int64_t{1}}, {"index", int64_t{0}}})[0];
      return f.run("mul", {y}, {{4, 10}}, {{"other", 2.0}});
    };
    EXPECT_EQ(f.trace(forward), "+1:160 | +2:160 | +3:160 +4:960 -3") << "select0";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    const auto forward = [&]() -> std::vector<Tensor> {
      const Tensor y = f.run("unfold", {x}, {{4, 6, 4, 4}},
                             {{"dimension", int64_t{2}}, {"size", int64_t{4}}, {"step", int64_t{2}}})[0];
      return f.run("mul", {y}, {{4, 6, 4, 4}}, {{"other", 2.0}});
    };
    EXPECT_EQ(f.trace(forward), "+1:1536 | +2:1536 | +3:1536 +4:960 +5:80 -5 -3") << "unfold view";
  }
}

TEST(Shapes, ViewsAndCopies) {
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    const auto forward = [&]() -> std::vector<Tensor> {
      const Tensor y = f.run("permute", {x}, {{10, 4, 6}}, {{"dims", std::vector<int64_t>{2, 0, 1}}})[0];
      return f.run("mul", {y}, {{10, 4, 6}}, {{"other", 2.0}});
    };
    EXPECT_EQ(f.trace(forward), "+1:960 | +2:960 | +3:960") << "permute mul";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    const auto forward = [&]() -> std::vector<Tensor> {
      const Tensor p = f.run("permute", {x}, {{10, 4, 6}}, {{"dims", std::vector<int64_t>{2, 0, 1}}})[0];
      const Tensor y = f.run("contiguous", {p}, {{10, 4, 6}})[0];
      return f.run("mul", {y}, {{10, 4, 6}}, {{"other", 2.0}});
    };
    EXPECT_EQ(f.trace(forward), "+1:960 +2:960 -1 | +3:960 | +4:960 +5:960 -4") << "permute contiguous mul";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    const auto forward = [&]() -> std::vector<Tensor> {
      const Tensor p = f.run("transpose", {x}, {{4, 10, 6}}, {{"dim0", int64_t{1}}, {"dim1", int64_t{2}}})[0];
      const Tensor y = f.run("reshape", {p}, {{4, 60}})[0];
      return f.run("mul", {y}, {{4, 60}}, {{"other", 2.0}});
    };
    EXPECT_EQ(f.trace(forward), "+1:960 +2:960 -1 | +3:960 | +4:960 +5:960 -4") << "transpose reshape";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    const auto forward = [&]() -> std::vector<Tensor> {
      const Tensor p = f.run("transpose", {x}, {{4, 10, 6}}, {{"dim0", int64_t{1}}, {"dim1", int64_t{2}}})[0];
      const Tensor y = f.run("flatten", {p}, {{4, 60}}, {{"start_dim", int64_t{1}}})[0];
      return f.run("mul", {y}, {{4, 60}}, {{"other", 2.0}});
    };
    EXPECT_EQ(f.trace(forward), "+1:960 +2:960 -1 | +3:960 | +4:960 +5:960 -4") << "flatten nc";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 1, 10});
    const auto forward = [&]() -> std::vector<Tensor> {
      const Tensor y = f.run("expand", {x}, {{4, 6, 10}})[0];
      return f.run("mul", {y}, {{4, 6, 10}}, {{"other", 2.0}});
    };
    EXPECT_EQ(f.trace(forward), "+1:960 | +2:960 | +3:960 +4:160 -3") << "expand mul";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("clone", {x}, {{4, 6, 10}}); }), "+1:960 | +2:960 | +3:960") << "clone";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] {
      return f.run("to", {x}, {OutSpec({4, 6, 10}, DType::f16)}, {{"dtype", std::string("float16")}});
    }),
              "+1:480 | +2:480 | +3:960")
        << "to other";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10}, DType::f16);
    EXPECT_EQ(f.trace([&] {
      return f.run("to", {x}, {OutSpec({4, 6, 10}, DType::f32)}, {{"dtype", std::string("float32")}});
    }),
              "+1:960 | +2:960 | +3:480")
        << "to other f16";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(
        f.trace([&] { return f.run("to", {x}, {OutSpec({4, 6, 10}, DType::i64)}, {{"dtype", std::string("int64")}}); }),
        "+1:1920")
        << "to int";
  }
}

TEST(Shapes, Remade) {
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("repeat", {x}, {{8, 6, 30}}, {{"repeats", std::vector<int64_t>{2, 1, 3}}}); }),
              "+1:5760 | +2:5760 | +3:960")
        << "repeat";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({64, 100});
    const auto forward = [&]() -> std::vector<Tensor> {
      const Tensor y = f.run("repeat", {x}, {{64000, 100}}, {{"repeats", std::vector<int64_t>{1000, 1}}})[0];
      return f.run("mul", {y}, {{64000, 100}}, {{"other", 2.0}});
    };
    EXPECT_EQ(f.trace(forward), "+1:25600000 +2:25600000 -1 | +3:25600000 | +4:25600000 +5:25600 -4") << "repeat big";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("flip", {x}, {{4, 6, 10}}, {{"dims", std::vector<int64_t>{1}}}); }),
              "+1:960 | +2:960 | +3:960")
        << "flip";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] {
      return f.run("roll", {x}, {{4, 6, 10}}, {{"shifts", std::vector<int64_t>{2}}, {"dims", std::vector<int64_t>{1}}});
    }),
              "+1:960 | +2:960 | +3:960")
        << "roll";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] {
      return f.run("roll", {x}, {{4, 6, 10}},
                   {{"shifts", std::vector<int64_t>{2, 1}}, {"dims", std::vector<int64_t>{1, 2}}});
    }),
              "+1:960 +2:960 -1 | +3:960 | +4:960 +5:960 -4")
        << "roll2";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    const auto forward = [&]() -> std::vector<Tensor> {
      const Tensor p = f.run("transpose", {x}, {{6, 4, 10}}, {{"dim0", int64_t{0}}, {"dim1", int64_t{1}}})[0];
      return f.run("roll", {p}, {{6, 4, 10}}, {{"shifts", std::vector<int64_t>{1}}, {"dims", std::vector<int64_t>{0}}});
    };
    EXPECT_EQ(f.trace(forward), "+1:960 +2:960 -1 | +3:960 | +4:960 +5:960 -4") << "roll nc";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(f.trace([&] { return f.run("tril", {x}, {{4, 6, 10}}); }), "+1:960 | +2:960 | +3:960") << "tril";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(
        f.trace([&] { return f.run("constant_pad_nd", {x}, {{4, 6, 13}}, {{"pad", std::vector<int64_t>{1, 2}}}); }),
        "+1:1248 | +2:1248 | +3:960")
        << "pad const";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(
        f.trace([&] { return f.run("reflection_pad", {x}, {{4, 6, 13}}, {{"pad", std::vector<int64_t>{1, 2}}}); }),
        "+1:1248 | +2:1248 | +3:960")
        << "pad reflect";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 6, 10});
    EXPECT_EQ(
        f.trace([&] { return f.run("replication_pad", {x}, {{4, 6, 13}}, {{"pad", std::vector<int64_t>{1, 2}}}); }),
        "+1:1248 | +2:1248 | +3:960")
        << "pad replicate";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({2, 8, 3, 3});
    EXPECT_EQ(f.trace([&] { return f.run("pixel_shuffle", {x}, {{2, 2, 6, 6}}); }), "+1:576 | +2:576 | +3:576")
        << "pixel_shuffle";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({2, 8, 4, 4});
    EXPECT_EQ(f.trace([&] { return f.run("pixel_unshuffle", {x}, {{2, 32, 2, 2}}); }), "+1:1024 | +2:1024 | +3:1024")
        << "pixel_unshuffle";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({2, 3, 9, 8});
    const auto forward = [&]() -> std::vector<Tensor> {
      const Tensor y = f.run("im2col", {x}, {{2, 27, 20}})[0];
      return f.run("mul", {y}, {{2, 27, 20}}, {{"other", 2.0}});
    };
    EXPECT_EQ(f.trace(forward), "+1:1728 +2:4320 -1 +3:4320 -2 | +4:4320 | +5:4320 +6:4320 -5") << "im2col s";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({2, 12, 16});
    EXPECT_EQ(f.trace([&] { return f.run("col2im", {x}, {{2, 3, 8, 8}}); }), "+1:1536 | +2:1536 | +3:1536") << "col2im";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 16});
    EXPECT_EQ(f.trace([&] { return f.run("fft_r2c", {x}, {OutSpec({4, 9}, DType::c64)}); }),
              "+1:288 | +2:288 | +3:512 +4:512 -3 +5:256 -4")
        << "rfft";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 9}, DType::c64);
    EXPECT_EQ(f.trace([&] { return f.run("fft_c2r", {x}, {{4, 16}}); }), "+1:256 +2:288 -2 | +3:256 | +4:288")
        << "irfft";
  }
  {
    EagerFixture f;
    const Tensor x = f.leaf({4, 8}, DType::c64);
    EXPECT_EQ(f.trace([&] { return f.run("fft_c2c", {x}, {OutSpec({4, 8}, DType::c64)}); }), "+1:256 | +2:256 | +3:256")
        << "fft";
  }
}

}  // namespace
}  // namespace ullage::eager
