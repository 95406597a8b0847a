#include "ullage/eager/rules.h"

namespace ullage::eager {

std::span<const RuleRow> convolution_rules() { return {}; }

}  // namespace ullage::eager
