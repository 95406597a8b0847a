// The table of rules against the vocabulary of ops.
#include "ullage/eager/rules.h"

#include <gtest/gtest.h>

#include "ullage/ir/op_table.h"

namespace ullage::eager {
namespace {

TEST(Rules, EveryOpOfTheVocabularyHasOne) {
  for (const OpRow& op : op_table()) EXPECT_NE(find_rule(op.name), nullptr) << op.name;
}

TEST(Rules, EveryRuleIsAnOpOfTheVocabularyAndNamesItsSource) {
  for (const RuleRow* row : all_rules()) {
    ASSERT_NE(find_op(row->op), nullptr) << row->op;
    EXPECT_EQ(find_op(row->op)->name, row->op);
    EXPECT_FALSE(row->source.empty()) << row->op;
  }
}

TEST(Rules, AnInPlaceNameFindsThePlainRule) {
  EXPECT_EQ(find_rule("relu_"), find_rule("relu"));
  EXPECT_EQ(find_rule("no_such_op_"), nullptr);
}

}  // namespace
}  // namespace ullage::eager
