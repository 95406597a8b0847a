#include "ullage/eager/rules.h"

namespace ullage::eager {

std::span<const RuleRow> attention_rules() { return {}; }

}  // namespace ullage::eager
