#include <algorithm>
#include <vector>

#include "ullage/importers/onnx/lower/call.h"

namespace ullage::onnx {
namespace {

std::vector<OpRule> all_rules() {
  std::vector<OpRule> all;
  for (const auto rules :
       {convolution_rules(),  pooling_rules(),   norm_rules(),      pointwise_rules(),    reduction_rules(),
        shape_rules(),        slicing_rules(),   creation_rules(),  index_rules(),        resize_rules(),
        matmul_rules(),       attention_rules(), recurrent_rules(), control_flow_rules(), sequence_rules(),
        quantization_rules(), random_rules(),    loss_rules(),      signal_rules(),       microsoft_rules()}) {
    all.insert(all.end(), rules.begin(), rules.end());
  }
  std::ranges::sort(all, [](const OpRule& a, const OpRule& b) {
    return std::tie(a.op, a.domain, a.since) < std::tie(b.op, b.domain, b.since);
  });
  return all;
}

}  // namespace

const OpRule* find_rule(std::string_view domain, std::string_view op, int opset) {
  static const std::vector<OpRule> kAll = all_rules();  // joined once; constant
  const auto [first, last] = std::ranges::equal_range(kAll, std::pair(op, domain), {},
                                                      [](const OpRule& r) { return std::pair(r.op, r.domain); });
  const OpRule* found = nullptr;
  for (auto row = first; row != last; ++row) {
    if (row->since <= opset || !found) found = &*row;  // older than the oldest row: read as of that row
  }
  return found;
}

}  // namespace ullage::onnx
