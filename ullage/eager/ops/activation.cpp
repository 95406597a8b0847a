#include "ullage/eager/rules.h"

namespace ullage::eager {

std::span<const RuleRow> activation_rules() { return {}; }

}  // namespace ullage::eager
