#include "ullage/eager/rules.h"

namespace ullage::eager {

std::span<const RuleRow> pointwise_rules() { return {}; }

}  // namespace ullage::eager
