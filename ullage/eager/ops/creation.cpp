// Tensors that Python code makes in every forward: result only, no gradient (TensorFactories.cpp).
#include "ullage/eager/rules.h"

namespace ullage::eager {
namespace {

void make(Call& c) { c.out[0] = c.m.empty(c.shape(), c.graph_dtype()); }

void make_like(Call& c) {
  const bool given = !c.in.empty() && c.in[0].defined();
  c.out[0] = c.m.empty(c.shape(), given ? c.in[0].dtype() : c.graph_dtype());
}

constexpr RuleRow kRules[] = {
    {"arange", make, Autocast::none, "TensorFactories: result only"},
    {"constant", make, Autocast::none, "torch.tensor moved to the device: result only"},
    {"eye", make, Autocast::none, "TensorFactories: result only"},
    {"full", make_like, Autocast::none, "TensorFactories: result only"},
};

}  // namespace

std::span<const RuleRow> creation_rules() { return kRules; }

}  // namespace ullage::eager
