#include "ullage/eager/rules.h"

namespace ullage::eager {

std::span<const RuleRow> reduction_rules() { return {}; }

}  // namespace ullage::eager
