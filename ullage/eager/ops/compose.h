// Compose: runs another op's rule inside a rule, for functions that PyTorch writes in terms of its own ops (lp_pool,
// local_response_norm, cross_entropy with label smoothing). The inner op records its own node and meets autocast as any
// other.
//
//   const Tensor y = run_rule(m, "pow", {x}, x.sizes(), {{"exponent", 2.0}});
#pragma once

#include <string_view>
#include <vector>

#include "ullage/eager/machine.h"
#include "ullage/ir/graph.h"

namespace ullage::eager {

// The op's first output, of this shape; its dtype is the rule's, or the first input's where a rule asks the graph.
Tensor run_rule(Machine& m, std::string_view op, std::vector<Tensor> inputs, const Shape& shape,
                std::vector<Attr> attrs = {});

}  // namespace ullage::eager
