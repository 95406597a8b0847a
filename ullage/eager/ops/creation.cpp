// Tensors that Python code makes in every forward: result only, no gradient (TensorFactories.cpp).
#include "ullage/eager/rules.h"

namespace ullage::eager {
namespace {

void make(Call& c) { c.out[0] = c.m.empty(c.shape(), c.graph_dtype()); }

constexpr RuleRow kRules[] = {
    {"arange", make, Autocast::none, "TensorFactories: result only"},
    {"constant", make, Autocast::none, "torch.tensor moved to the device: result only"},
    {"eye", make, Autocast::none, "TensorFactories: result only"},
    {"full", make, Autocast::none, "TensorFactories: result only"},
};

}  // namespace

std::span<const RuleRow> creation_rules() { return kRules; }

}  // namespace ullage::eager
