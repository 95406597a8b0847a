// Every value is an event trace of PyTorch 2.15 (A100): forward | incoming gradient | backward. Leaves are float32
// unless named.
#include <gtest/gtest.h>

#include "tests/support/eager_fixture.h"

namespace ullage::eager {
namespace {

TEST(Indexing, Embedding) {
  {
    EagerFixture f;
    const Tensor w = f.leaf({50, 16});
    const Tensor i = f.data({4, 6}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("embedding", {w, i}, {{4, 6, 16}}); }), "+1:1536 | +2:1536 | +3:3200")
        << "embedding";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({50, 16});
    const Tensor i = f.data({3072}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("embedding", {w, i}, {{3072, 16}}); }), "+1:196608 | +2:196608 | +3:3200")
        << "embedding 3072";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({50, 16});
    const Tensor i = f.data({3073}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("embedding", {w, i}, {{3073, 16}}); }),
              "+1:196672 | +2:196672 | +3:24584 +4:24584 +5:24584 +6:3583 -6 -5 +7:3200 +8:24584 +9:8 +10:24584 "
              "+11:1279 -11 -10 +12:400 +13:400 +14:1279 -14 +15:8 +16:2856 +17:2856 -17 -16 -15 -13 -12 -9 -8 -4 -3")
        << "embedding 3073";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({50, 16});
    const Tensor i = f.data({4, 1000}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("embedding", {w, i}, {{4, 1000, 16}}); }),
              "+1:256000 | +2:256000 | +3:32000 +4:32000 +5:32000 +6:4607 -6 -5 +7:3200 +8:32000 +9:8 +10:32000 "
              "+11:1279 -11 -10 +12:400 +13:400 +14:1279 -14 +15:8 +16:3600 +17:3600 -17 -16 -15 -13 -12 -9 -8 -4 -3")
        << "embedding big";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({50, 16}, DType::f16);
    const Tensor i = f.data({4, 1000}, DType::i64);
    EXPECT_EQ(
        f.trace([&] { return f.run("embedding", {w, i}, {{4, 1000, 16}}); }),
        "+1:128000 | +2:128000 | +3:32000 +4:32000 +5:32000 +6:4607 -6 -5 +7:1600 +8:32000 +9:8 +10:32000 +11:1279 -11 "
        "-10 +12:400 +13:400 +14:1279 -14 +15:8 +16:3600 +17:3600 +18:3200 -18 -17 -16 -15 -13 -12 -9 -8 -4 -3")
        << "embedding big f16";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({30000, 768});
    const Tensor i = f.data({10000}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("embedding", {w, i}, {{10000, 768}}); }),
              "+1:30720000 | +2:30720000 | +3:80000 +4:80000 +5:80000 +6:167935 -6 -5 +7:92160000 +8:80000 +9:8 "
              "+10:80000 +11:1279 -11 -10 +12:80000 +13:80000 +14:1279 -14 +15:8 +16:88000 +17:33792000 -17 -16 -15 "
              "-13 -12 -9 -8 -4 -3")
        << "embedding 10000x768";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({3000, 64});
    const Tensor i = f.data({100000}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("embedding", {w, i}, {{100000, 64}}); }),
              "+1:25600000 | +2:25600000 | +3:800000 +4:800000 +5:800000 +6:1632255 -6 -5 +7:768000 +8:800000 +9:8 "
              "+10:800000 +11:2303 -11 -10 +12:24000 +13:24000 +14:1279 -14 +15:8 +16:104000 +17:3328000 -17 -16 -15 "
              "-13 -12 -9 -8 -4 -3")
        << "embedding 100000x64";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({50000, 48}, DType::f16);
    const Tensor i = f.data({4096}, DType::i64);
    EXPECT_EQ(
        f.trace([&] { return f.run("embedding", {w, i}, {{4096, 48}}); }),
        "+1:393216 | +2:393216 | +3:32768 +4:32768 +5:32768 +6:72191 -6 -5 +7:4800000 +8:32768 +9:8 +10:32768 +11:1279 "
        "-11 -10 +12:32768 +13:32768 +14:1279 -14 +15:8 +16:36040 +17:864960 -17 -16 -15 -13 -12 -9 -8 -4 -3")
        << "emb16 D48";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({2, 64});
    const Tensor i = f.data({8192}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("embedding", {w, i}, {{8192, 64}}); }),
              "+1:2097152 | +2:2097152 | +3:65536 +4:65536 +5:65536 +6:5631 -6 -5 +7:512 +8:65536 +9:8 +10:65536 "
              "+11:1279 -11 -10 +12:16 +13:16 +14:1279 -14 +15:8 +16:6568 +17:6568 -17 -16 -15 -13 -12 -9 -8 -4 -3")
        << "emb V2 n8192";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({2, 64}, DType::f16);
    const Tensor i = f.data({8192}, DType::i64);
    EXPECT_EQ(
        f.trace([&] { return f.run("embedding", {w, i}, {{8192, 64}}); }),
        "+1:1048576 | +2:1048576 | +3:65536 +4:65536 +5:65536 +6:5631 -6 -5 +7:256 +8:65536 +9:8 +10:65536 +11:1279 "
        "-11 -10 +12:16 +13:16 +14:1279 -14 +15:8 +16:6568 +17:6568 +18:512 -18 -17 -16 -15 -13 -12 -9 -8 -4 -3")
        << "emb V2 n8192 f16";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({256, 64});
    const Tensor i = f.data({8192}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("embedding", {w, i}, {{8192, 64}}); }),
              "+1:2097152 | +2:2097152 | +3:65536 +4:65536 +5:65536 +6:138751 -6 -5 +7:65536 +8:65536 +9:8 +10:65536 "
              "+11:1279 -11 -10 +12:2048 +13:2048 +14:1279 -14 +15:8 +16:8600 +17:8600 -17 -16 -15 -13 -12 -9 -8 -4 -3")
        << "emb V256 n8192";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({300, 768});
    const Tensor i = f.data({8192}, DType::i64);
    EXPECT_EQ(
        f.trace([&] { return f.run("embedding", {w, i}, {{8192, 768}}); }),
        "+1:25165824 | +2:25165824 | +3:65536 +4:65536 +5:65536 +6:138751 -6 -5 +7:921600 +8:65536 +9:8 +10:65536 "
        "+11:1279 -11 -10 +12:2400 +13:2400 +14:1279 -14 +15:8 +16:8952 +17:3437568 -17 -16 -15 -13 -12 -9 -8 -4 -3")
        << "emb V300 n8192";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({70000, 768});
    const Tensor i = f.data({8192}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("embedding", {w, i}, {{8192, 768}}); }),
              "+1:25165824 | +2:25165824 | +3:65536 +4:65536 +5:65536 +6:140799 -6 -5 +7:215040000 +8:65536 +9:8 "
              "+10:65536 +11:1279 -11 -10 +12:65536 +13:65536 +14:1279 -14 +15:8 +16:72088 +17:27681792 -17 -16 -15 "
              "-13 -12 -9 -8 -4 -3")
        << "emb V70000 n8192";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({600, 64});
    const Tensor i = f.data({100000}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("embedding", {w, i}, {{100000, 64}}); }),
              "+1:25600000 | +2:25600000 | +3:800000 +4:800000 +5:800000 +6:1632255 -6 -5 +7:153600 +8:800000 +9:8 "
              "+10:800000 +11:2303 -11 -10 +12:4800 +13:4800 +14:1279 -14 +15:8 +16:84800 +17:2713600 -17 -16 -15 -13 "
              "-12 -9 -8 -4 -3")
        << "emb V600 n100000";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({300, 64});
    const Tensor i = f.data({100000}, DType::i64);
    EXPECT_EQ(
        f.trace([&] { return f.run("embedding", {w, i}, {{100000, 64}}); }),
        "+1:25600000 | +2:25600000 | +3:800000 +4:800000 +5:800000 +6:1632255 -6 -5 +7:76800 +8:800000 +9:8 +10:800000 "
        "+11:2303 -11 -10 +12:2400 +13:2400 +14:1279 -14 +15:8 +16:82400 +17:82400 -17 -16 -15 -13 -12 -9 -8 -4 -3")
        << "emb V300 n100000";
  }
}

TEST(Indexing, Advanced) {
  {
    EagerFixture f;
    const Tensor w = f.leaf({40, 16});
    const Tensor i = f.data({7}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("index", {w, i}, {{7, 16}}); }),
              "+1:448 | +2:448 | +3:2560 +4:56 +5:56 -4 +6:56 +7:56 +8:56 +9:1 -9 -8 -7 -6 -5")
        << "index 1";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({40, 16});
    const Tensor i = f.data({7, 3}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("index", {w, i}, {{7, 3, 16}}); }),
              "+1:1344 | +2:1344 | +3:2560 +4:168 +5:168 -4 +6:168 +7:168 +8:168 +9:1 -9 -8 -7 -6 -5")
        << "index 2d";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({40, 16, 5});
    const Tensor i = f.data({7}, DType::i64);
    const Tensor j = f.data({7}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("index", {w, i, j}, {{7, 5}}); }),
              "+1:140 | +2:140 | +3:12800 +4:56 +5:56 -4 +6:56 +7:56 -6 -7 +8:56 +9:56 +10:56 +11:1 -11 -10 -9 -8 -5")
        << "index 2";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({40, 16, 5});
    const Tensor i = f.data({7}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("index", {w, {}, i}, {{40, 7, 5}}); }),
              "+1:5600 | +2:5600 | +3:12800 +4:56 +5:56 -4 +6:56 +7:56 +8:56 +9:1 -9 -8 -7 -6 -5")
        << "index none";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({40, 16, 5});
    const Tensor i = f.data({7, 1}, DType::i64);
    const Tensor j = f.data({3}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("index", {w, i, j}, {{7, 3, 5}}); }),
              "+1:168 +2:168 +3:420 -2 -1 | +4:420 | +5:12800 +6:168 +7:168 -6 +8:168 +9:168 -8 -9 +10:168 +11:168 "
              "+12:168 +13:1 -13 -12 -11 -10 -7")
        << "index bcast";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({40, 16});
    const Tensor i = f.data({2401}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("index", {w, i}, {{2401, 16}}); }),
              "+1:153664 | +2:153664 | +3:2560 +4:19208 +5:19208 -4 +6:19208 +7:19208 +8:19208 +9:3583 -9 -8 -7 -6 -5")
        << "index big";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({4000, 16});
    const Tensor i = f.data({100000}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("index", {w, i}, {{100000, 16}}); }),
              "+1:6400000 | +2:6400000 | +3:256000 +4:800000 +5:800000 -4 +6:800000 +7:800000 +8:800000 +9:1632255 -9 "
              "-8 -7 -6 -5")
        << "index big2";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({169, 12});
    const Tensor i = f.data({2304}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("index", {w, i}, {{2304, 12}}); }),
              "+1:110592 | +2:110592 | +3:8112 +4:18432 +5:18432 -4 +6:18432 +7:18432 +8:18432 +9:1 -9 -8 -7 -6 -5")
        << "index n2304";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({169, 12});
    const Tensor i = f.data({2305}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("index", {w, i}, {{2305, 12}}); }),
              "+1:110640 | +2:110640 | +3:8112 +4:18440 +5:18440 -4 +6:18440 +7:18440 +8:18440 +9:3583 -9 -8 -7 -6 -5")
        << "index n2305";
  }
}

TEST(Indexing, ReadAndWrite) {
  {
    EagerFixture f;
    const Tensor w = f.leaf({40, 16});
    const Tensor i = f.data({7}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("index_select", {w, i}, {{7, 16}}); }), "+1:448 | +2:448 | +3:2560")
        << "index_select";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({40, 16});
    const Tensor i = f.data({40, 3}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("gather", {w, i}, {{40, 3}}); }), "+1:480 | +2:480 | +3:2560") << "gather";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({40, 16});
    const Tensor i = f.data({40, 3}, DType::i64);
    const Tensor s = f.leaf({40, 3});
    EXPECT_EQ(f.trace([&] { return f.run("scatter", {w, i, s}, {{40, 16}}); }), "+1:2560 | +2:2560 | +3:2560 +4:480")
        << "scatter src";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({40, 16});
    const Tensor i = f.data({40, 3}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("scatter", {w, i}, {{40, 16}}, {{"value", 1.0}}); }),
              "+1:2560 | +2:2560 | +3:2560")
        << "scatter val";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({40, 16});
    const Tensor i = f.data({40, 3}, DType::i64);
    const Tensor s = f.leaf({40, 3});
    EXPECT_EQ(f.trace([&] { return f.run("scatter_add", {w, i, s}, {{40, 16}}); }),
              "+1:2560 | +2:2560 | +3:480 +4:2560")
        << "scatter_add";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({40, 16});
    const Tensor i = f.data({7}, DType::i64);
    const Tensor s = f.leaf({7, 16});
    EXPECT_EQ(f.trace([&] { return f.run("index_add", {w, i, s}, {{40, 16}}); }), "+1:2560 | +2:2560 | +3:448 +4:2560")
        << "index_add";
  }
  {
    EagerFixture f;
    const Tensor w = f.leaf({40, 16});
    const Tensor i = f.data({7}, DType::i64);
    const Tensor s = f.leaf({7, 16});
    EXPECT_EQ(f.trace([&] { return f.run("index_put", {w, s, i}, {{40, 16}}); }),
              "+1:2560 | +2:2560 | +3:448 +4:2560 -3 +5:448")
        << "index_put";
  }
  {
    EagerFixture f;
    const Tensor i = f.data({4, 6}, DType::i64);
    EXPECT_EQ(f.trace([&] { return f.run("one_hot", {i}, {OutSpec({4, 6, 9}, DType::i64)}); }), "+1:1728") << "one_hot";
  }
}

}  // namespace
}  // namespace ullage::eager
