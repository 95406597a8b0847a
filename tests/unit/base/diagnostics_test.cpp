#include "ullage/base/diagnostics.h"

#include <gtest/gtest.h>

#include "ullage/base/result.h"

namespace ullage {
namespace {

TEST(Diagnostics, CountsByKindAndKeepsTheFirstExample) {
  Diagnostics notes;
  EXPECT_TRUE(notes.empty());
  notes.add("duplicate_name", "tensor x");
  notes.add("unknown_op", "Foo");
  notes.add("unknown_op", "Bar", 2);
  EXPECT_EQ(notes.count("unknown_op"), 3);
  EXPECT_EQ(notes.count("unknown_dtype"), 0);
  const auto rows = notes.rows();
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].kind, "unknown_op") << "warnings before notices";
  EXPECT_EQ(rows[0].count, 3);
  EXPECT_EQ(rows[0].first, "Foo");
  EXPECT_EQ(rows[0].severity, Severity::warning);
  EXPECT_EQ(rows[0].meaning, find_diagnostic_kind("unknown_op")->meaning);
  EXPECT_EQ(rows[1].kind, "duplicate_name");
}

TEST(Diagnostics, MergeAddsCountsAndKeepsOurExample) {
  Diagnostics a;
  Diagnostics b;
  a.add("unknown_op", "ours");
  b.add("unknown_op", "theirs", 4);
  b.add("missing_weights");
  a.merge(b);
  EXPECT_EQ(a.count("unknown_op"), 5);
  EXPECT_EQ(a.rows()[0].first, "ours");
  EXPECT_EQ(a.count("missing_weights"), 1);
}

TEST(DiagnosticsDeathTest, UndeclaredKindIsOurBug) {
  Diagnostics notes;
  EXPECT_EXIT(notes.add("no_such_kind"), testing::ExitedWithCode(70), "internal error");
}

TEST(ErrorText, PlacesAreOutermostFirst) {
  EXPECT_EQ((Error{.message = "cut off", .where = "byte 7"}.at("node 3").at("a.onnx").where), "a.onnx: node 3: byte 7");
}

}  // namespace
}  // namespace ullage
