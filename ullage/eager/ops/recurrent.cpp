#include "ullage/eager/rules.h"

namespace ullage::eager {

std::span<const RuleRow> recurrent_rules() { return {}; }

}  // namespace ullage::eager
