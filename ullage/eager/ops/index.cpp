#include "ullage/eager/rules.h"

namespace ullage::eager {

std::span<const RuleRow> index_rules() { return {}; }

}  // namespace ullage::eager
