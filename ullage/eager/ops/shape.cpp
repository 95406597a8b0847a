#include "ullage/eager/rules.h"

namespace ullage::eager {

std::span<const RuleRow> shape_rules() { return {}; }

}  // namespace ullage::eager
