// The JSON of an Estimate, schema 1 (design: exact integers, never formatted; the same keys for estimate, rehearse and
// analyze).
#pragma once

#include <string>

#include "ullage/sim/estimate.h"

namespace ullage {

std::string estimate_json(const Estimate& estimate);

}  // namespace ullage
