#include "ullage/eager/rules.h"

namespace ullage::eager {

std::span<const RuleRow> pooling_rules() { return {}; }

}  // namespace ullage::eager
