// SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss.

#include "ullage/importers/onnx/lower/call.h"

namespace ullage::onnx {
namespace {

Status loss(Call& c) {
  if (!c.has(0) || !c.has(1) || c.rank(0) < 2) return c.error("scores or labels are missing");
  const DType dtype = c.dtype(0);
  const Sizes scores = c.sizes(0);
  const std::string_view reduction = c.text("reduction", "mean");
  const Sizes y = reduction == "none" ? c.sizes(1) : Sizes{};
  std::vector<DraftId> inputs{c.id(0), c.id(1)};
  if (c.has(2)) inputs.push_back(c.id(2));
  std::vector<Attr> attrs{{"reduction", std::string(reduction)}, {"ignore_index", c.attr("ignore_index", -100)}};
  const bool negative_log_likelihood = c.node().op == "NegativeLogLikelihoodLoss";
  if (c.wants(1) && !negative_log_likelihood) {  // the log-probabilities are an output: the two halves one by one
    inputs[0] = c.step("log_softmax", {c.id(0)}, dtype, scores, {{"dim", int64_t{1}}});
    c.set(1, inputs[0]);
    return c.result("nll_loss", std::move(inputs), dtype, y, std::move(attrs));
  }
  return c.result(negative_log_likelihood ? "nll_loss" : "cross_entropy_loss", std::move(inputs), dtype, y,
                  std::move(attrs));
}

constexpr OpRule kRules[] = {{"", "NegativeLogLikelihoodLoss", 12, loss}, {"", "SoftmaxCrossEntropyLoss", 12, loss}};

}  // namespace

std::span<const OpRule> loss_rules() { return kRules; }

}  // namespace ullage::onnx
