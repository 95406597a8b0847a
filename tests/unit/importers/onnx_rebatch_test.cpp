// A graph frozen at one batch and run at another. Each case is a piece of a model whose sizes at the new batch are
// known by hand.
#include <gmock/gmock.h>

#include "tests/support/onnx_builder.h"

namespace ullage::onnx {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* what;
  ints from;    // the first dim is the batch of the export
  ints perm;    // a transpose before, or none
  ints target;  // frozen
  int64_t batch;
  const char* expected;
};

std::vector<OnnxBuilder::Dim> dims_of(const ints& sizes) {
  std::vector<OnnxBuilder::Dim> dims;
  for (const int64_t s : sizes) dims.emplace_back(static_cast<int>(s));
  return dims;
}

class FrozenReshape : public testing::TestWithParam<Case> {};

TEST_P(FrozenReshape, PutsTheBatchWhereItBelongs) {
  const Case& c = GetParam();
  OnnxBuilder m;
  m.input("x", dims_of(c.from)).int64s("target", c.target);
  if (c.perm.empty()) {
    m.node("Reshape", {"x", "target"}, {"y"});
  } else {
    m.node("Transpose", {"x"}, {"t"}, {{"perm", c.perm}}).node("Reshape", {"t", "target"}, {"y"});
  }
  const Lowered g = lowered(m.output("y"), {.batch = c.batch});
  ASSERT_TRUE(g.graph) << c.what << ": " << g.error();
  EXPECT_EQ(g.shape("y"), c.expected) << c.what;
  EXPECT_EQ(g.notes.count("rebatched_constant"), 1) << c.what;
}

INSTANTIATE_TEST_SUITE_P(
    Models, FrozenReshape,
    testing::Values(
        Case{"heads of a transformer", {1, 196, 768}, {}, {1, 196, 12, 64}, 8, "8x196x12x64"},
        Case{"tokens as rows", {1, 196, 768}, {}, {196, 768}, 8, "1568x768"},
        Case{"-1 that is not the batch", {1, 196, 768}, {}, {1, -1, 768}, 8, "8x196x768"},
        Case{"batch and heads as one", {1, 12, 197, 64}, {}, {12, 197, 64}, 8, "96x197x64"},
        Case{"heads out of batch and heads", {2, 12, 5, 4}, {}, {24, 5, 4}, 6, "72x5x4"},
        Case{"sequence first, into rows", {1, 197, 12, 64}, {1, 0, 2, 3}, {197, 768}, 4, "788x768"},
        Case{"sequence first, into batch and heads", {1, 197, 768}, {1, 0, 2}, {197, 12, 64}, 4, "197x48x64"},
        Case{"windows", {1, 8, 7, 8, 7, 96}, {0, 1, 3, 2, 4, 5}, {64, 49, 96}, 4, "256x49x96"},
        Case{"flatten", {2, 8, 7, 7}, {}, {2, 392}, 3, "3x392"}));

TEST(Rebatch, RowsComeApartAgainAtASequenceFirstBatch) {  // [S, B, E] → [S·B, E] → [S, B, E]
  for (const int frozen : {1, 2}) {
    OnnxBuilder m;
    m.input("x", {frozen, 7, 32}).int64s("rows", {7 * frozen, 32}).int64s("back", {7, frozen, 32});
    m.node("Transpose", {"x"}, {"t"}, {{"perm", ints{1, 0, 2}}})
        .node("Reshape", {"t", "rows"}, {"r"})
        .node("Reshape", {"r", "back"}, {"y"});
    const Lowered g = lowered(m.output("y"), {.batch = 8});
    ASSERT_TRUE(g.graph) << g.error();
    EXPECT_EQ(g.shape("r"), "56x32");
    EXPECT_EQ(g.shape("y"), "7x8x32");
  }
}

TEST(Rebatch, HeadsComeApartFromTheBatch) {  // [B·12, 197, 64] → [1, 12, 197, 64] must not make 96 heads
  OnnxBuilder m;
  m.input("x", {1, 12, 197, 64}).int64s("merged", {12, 197, 64}).int64s("apart", {1, 12, 197, 64});
  m.node("Reshape", {"x", "merged"}, {"a"}).node("Reshape", {"a", "apart"}, {"y"}).output("y");
  EXPECT_EQ(lowered(m, {.batch = 8}).shape("y"), "8x12x197x64");
}

TEST(Rebatch, TheClassTokenIsExpandedBeforeConcat) {
  OnnxBuilder m;
  m.input("x", {1, 196, 768})
      .weight("token", {1, 1, 768})
      .node("Concat", {"token", "x"}, {"y"}, {{"axis", 1}})
      .output("y");
  const Lowered g = lowered(m, {.batch = 8});
  ASSERT_TRUE(g.graph) << g.error();
  EXPECT_EQ(g.ops(), "expand cat");
  EXPECT_EQ(g.shape("y"), "8x197x768");
}

TEST(Rebatch, AMinusOneThatTakesTheBatchIsNoRewrite) {
  OnnxBuilder m;
  m.input("x", {1, 196, 768}).int64s("t", {-1, 768}).node("Reshape", {"x", "t"}, {"y"}).output("y");
  const Lowered g = lowered(m, {.batch = 8});
  EXPECT_EQ(g.shape("y"), "1568x768");
  EXPECT_EQ(g.notes.count("rebatched_constant"), 0);
}

TEST(Rebatch, NothingIsRewrittenAtTheBatchOfTheExport) {
  OnnxBuilder m;
  m.input("x", {2, 6}).int64s("t", {2, 3, 2}).node("Reshape", {"x", "t"}, {"y"}).output("y");
  const Lowered g = lowered(m, {.batch = 2});
  EXPECT_EQ(g.shape("y"), "2x3x2");
  EXPECT_EQ(g.notes.count("rebatched_constant"), 0);
}

TEST(Rebatch, RefusesWhatDoesNotDivideAndNamesTheNode) {
  OnnxBuilder m;
  m.input("x", {4, 3}).int64s("t", {2, 6}).named("odd").node("Reshape", {"x", "t"}, {"y"}).output("y");
  const Lowered g = lowered(m, {.batch = 5});
  ASSERT_FALSE(g.graph);
  EXPECT_EQ(g.graph.error().code, ErrorCode::unsupported);
  EXPECT_THAT(g.error(), HasSubstr("odd"));
  EXPECT_THAT(g.graph.error().hint, HasSubstr("dynamic batch"));
}

TEST(Rebatch, RefusesAConstantThatFixedTheBatch) {
  OnnxBuilder m;
  m.input("x", {2, 3}).weight("w", {2, 3}).node("Add", {"x", "w"}, {"y"}).output("y");
  const Lowered g = lowered(m, {.batch = 5});
  ASSERT_FALSE(g.graph);
  EXPECT_EQ(g.graph.error().code, ErrorCode::unsupported);
}

TEST(Rebatch, RefusesASqueezeOfTheBatch) {
  OnnxBuilder m;
  m.input("x", {1, 3}).int64s("a", {0}).node("Squeeze", {"x", "a"}, {"y"}).output("y");
  EXPECT_THAT(lowered(m, {.batch = 5}).error(), HasSubstr("which is the batch"));
}

}  // namespace
}  // namespace ullage::onnx
