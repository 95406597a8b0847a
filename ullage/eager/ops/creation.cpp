#include "ullage/eager/rules.h"

namespace ullage::eager {

std::span<const RuleRow> creation_rules() { return {}; }

}  // namespace ullage::eager
