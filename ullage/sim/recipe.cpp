#include "ullage/sim/recipe.h"

#include <charconv>

#include <fmt/format.h>

#include "ullage/base/suggest.h"
#include "ullage/sim/optimizer.h"

namespace ullage {
namespace {

template <class E>
struct Named {
  std::string_view name;
  E value;
};

constexpr Named<Mode> kModes[] = {{"train", Mode::train}, {"forward", Mode::forward}, {"infer", Mode::infer}};
constexpr Named<Precision> kPrecisions[] = {{"fp32", Precision::fp32},         {"fp32-strict", Precision::fp32_strict},
                                            {"tf32", Precision::tf32},         {"amp-fp16", Precision::amp_fp16},
                                            {"amp-bf16", Precision::amp_bf16}, {"fp16", Precision::fp16},
                                            {"bf16", Precision::bf16},         {"bf16-master", Precision::bf16_master}};
constexpr Named<LossKind> kLosses[] = {{"auto", LossKind::automatic},
                                       {"cross_entropy", LossKind::cross_entropy},
                                       {"mse", LossKind::mse},
                                       {"sum", LossKind::sum},
                                       {"output", LossKind::output}};
constexpr Named<OptimizerImpl> kImpls[] = {{"auto", OptimizerImpl::automatic},
                                           {"foreach", OptimizerImpl::foreach},
                                           {"fused", OptimizerImpl::fused},
                                           {"forloop", OptimizerImpl::forloop}};
constexpr Named<InplaceChoice> kInplace[] = {
    {"asis", InplaceChoice::asis}, {"on", InplaceChoice::on}, {"off", InplaceChoice::off}};
constexpr Named<bool> kFormats[] = {{"contiguous", false}, {"channels_last", true}};
constexpr Named<bool> kYesNo[] = {{"yes", true}, {"no", false}};
constexpr Named<ZeroGrad> kZeroGrad[] = {{"first", ZeroGrad::first},
                                         {"after-forward", ZeroGrad::after_forward},
                                         {"after-step", ZeroGrad::after_step},
                                         {"never", ZeroGrad::never}};
constexpr Named<CheckpointKind> kCheckpoints[] = {{"none", CheckpointKind::none},
                                                  {"sqrt", CheckpointKind::sqrt},
                                                  {"blocks", CheckpointKind::blocks},
                                                  {"attention", CheckpointKind::attention}};
constexpr Named<AllocatorKind> kAllocators[] = {{"pytorch", AllocatorKind::pytorch},
                                                {"ideal", AllocatorKind::ideal},
                                                {"bfc", AllocatorKind::bfc},
                                                {"ort", AllocatorKind::ort}};

template <class E, size_t N>
Status choose(E& target, const Named<E> (&table)[N], std::string_view key, std::string_view value) {
  std::string allowed;
  for (const auto& row : table) {
    if (row.name == value) {
      target = row.value;
      return {};
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(row.name);
  }
  return fail(ErrorCode::invalid_argument, fmt::format("{} cannot be \"{}\"", key, value), fmt::format("--{}", key),
              "one of: " + allowed);
}

template <class E, size_t N>
std::string name_in(const Named<E> (&table)[N], E value) {
  for (const auto& row : table) {
    if (row.value == value) return std::string(row.name);
  }
  return {};
}

Result<int64_t> positive(std::string_view key, std::string_view value) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size() || number < 1) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} must be a whole number of at least 1, not \"{}\"", key, value),
                fmt::format("--{}", key));
  }
  return number;
}

// "zero-grad=after-step,set-to-none=no,keep=outputs"
Status set_loop(Loop& loop, std::string_view text) {
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const size_t equals = item.find('=');
    const std::string_view key = item.substr(0, equals);
    const std::string_view value = equals == item.npos ? std::string_view{} : item.substr(equals + 1);
    if (key == "zero-grad") {
      UL_TRY_STATUS(choose(loop.zero_grad, kZeroGrad, "loop zero-grad", value));
    } else if (key == "set-to-none") {
      UL_TRY_STATUS(choose(loop.set_to_none, kYesNo, "loop set-to-none", value));
    } else if (key == "keep" && (value == "loss" || value == "outputs" || value == "none")) {
      loop.keep_outputs = value == "outputs";
      loop.keep_loss = value != "none";
    } else {
      return fail(ErrorCode::invalid_argument, fmt::format("loop does not know \"{}\"", item), "--loop",
                  "zero-grad=first|after-forward|after-step|never, set-to-none=yes|no, keep=loss|outputs|none");
    }
  }
  return {};
}

// "x=1x3x224x224:float16", "1x3x224x224"
Status add_input(Recipe& recipe, std::string_view text) {
  RecipeInput input;
  if (const size_t equals = text.rfind('='); equals != text.npos) {
    input.name = text.substr(0, equals);
    text.remove_prefix(equals + 1);
  }
  if (const size_t colon = text.find(':'); colon != text.npos) {
    input.dtype = parse_dtype(text.substr(colon + 1));
    if (!input.dtype) {
      return fail(ErrorCode::invalid_argument, fmt::format("no dtype \"{}\"", text.substr(colon + 1)), "--input",
                  "float32, float16, bfloat16, int64, int32, uint8, bool, …");
    }
    text = text.substr(0, colon);
  }
  UL_TRY(input.shape, parse_shape(text));
  recipe.inputs.push_back(std::move(input));
  return {};
}

Status set_checkpoint(Recipe& recipe, std::string_view value) {
  if (value.starts_with("segments=")) {
    UL_TRY(recipe.checkpoint_segments, positive("checkpoint segments", value.substr(9)));
    recipe.checkpoint = CheckpointKind::segments;
    return {};
  }
  return choose(recipe.checkpoint, kCheckpoints, "checkpoint", value);
}

Status set_parallel(Recipe& recipe, std::string_view value) {
  if (value.empty() || value == "none" || value == "dp=1") return recipe.parallel.clear(), Status{};
  return fail(ErrorCode::unsupported, fmt::format("parallel layout \"{}\" is not simulated yet", value), "--parallel",
              "leave it out to get the answer for one device");
}

constexpr OptionHelp kOptions[] = {
    {"mode", "train|forward|infer", "training step; autograd on without backward; no_grad"},
    {"batch", "N", "samples in a (micro-)batch; re-batches a graph exported at another"},
    {"seq", "N", "sequence length"},
    {"input", "[NAME=]1x3x224x224[:dtype]", "shape of one input; may be given several times"},
    {"loss", "auto|cross_entropy|mse|sum|output", "what is put on the model's output"},
    {"precision", "fp32|fp32-strict|tf32|amp-fp16|amp-bf16|fp16|bf16|bf16-master",
     "fp32 lets cuDNN use TF32 as PyTorch does; fp32-strict does not"},
    {"optimizer", "none|sgd|momentum|adam|adamw|…", "see `ullage list optimizers`"},
    {"optimizer-impl", "auto|foreach|fused|forloop", "auto is what torch.optim picks on CUDA"},
    {"accumulate", "K", "micro-batches in a step"},
    {"checkpoint", "none|sqrt|segments=K|blocks|attention", "activation checkpointing"},
    {"inplace", "asis|on|off", "in-place activations"},
    {"memory-format", "contiguous|channels_last", "layout of weights and images"},
    {"steps", "N", "steps to simulate; optimizer state appears in step 1, so the peak is in step 2"},
    {"loop", "zero-grad=…,set-to-none=…,keep=…", "how the training loop is written"},
    {"parallel", "dp=N,…", "layout over several devices"},
    {"cudnn", "auto|model|off", "convolution workspaces: modelled, or cuDNN disabled"},
    {"device", "NAME", "a card; see `ullage list devices`"},
    {"capacity", "24GiB", "memory of a card that is not listed"},
    {"allocator", "pytorch|ideal|bfc|ort", "which allocator places the blocks"},
    {"alloc-conf", "TEXT", "PYTORCH_CUDA_ALLOC_CONF, for example expandable_segments:True"},
};

}  // namespace

std::span<const OptionHelp> recipe_options() { return kOptions; }

Status set_option(Recipe& r, std::string_view key, std::string_view value) {
  if (key == "mode") return choose(r.mode, kModes, key, value);
  if (key == "loss") return choose(r.loss, kLosses, key, value);
  if (key == "precision") return choose(r.precision, kPrecisions, key, value);
  if (key == "optimizer-impl") return choose(r.optimizer_impl, kImpls, key, value);
  if (key == "inplace") return choose(r.inplace, kInplace, key, value);
  if (key == "memory-format") return choose(r.channels_last, kFormats, key, value);
  if (key == "allocator") return choose(r.allocator, kAllocators, key, value);
  if (key == "checkpoint") return set_checkpoint(r, value);
  if (key == "loop") return set_loop(r.loop, value);
  if (key == "input") return add_input(r, value);
  if (key == "parallel") return set_parallel(r, value);
  if (key == "device") return r.device = value, Status{};
  if (key == "alloc-conf") return r.alloc_conf = value, Status{};
  if (key == "cudnn") {
    if (value != "auto" && value != "model" && value != "off") {
      return fail(ErrorCode::unsupported, fmt::format("cudnn cannot be \"{}\"", value), "--cudnn",
                  "auto, model or off; asking a cuDNN library is not built yet");
    }
    return r.cudnn = value, Status{};
  }
  if (key == "capacity") {
    UL_TRY(r.capacity, parse_bytes(value));
    return {};
  }
  if (key == "optimizer") {
    if (find_optimizer(value)) return r.optimizer = value, Status{};
    std::vector<std::string_view> names;
    for (const OptimizerRow& row : optimizer_table()) names.push_back(row.name);
    return fail(ErrorCode::invalid_argument, fmt::format("no optimizer \"{}\"", value), "--optimizer",
                fmt::format("did you mean {}? one of: {}", closest(value, names), fmt::join(names, ", ")));
  }
  int64_t* number = key == "accumulate" ? &r.accumulate : key == "steps" ? &r.steps : nullptr;
  if (number || key == "batch" || key == "seq") {
    UL_TRY(const int64_t n, positive(key, value));
    if (number) *number = n;
    if (key == "batch") r.batch = n;
    if (key == "seq") r.seq = n;
    return {};
  }
  std::vector<std::string_view> keys;
  for (const OptionHelp& option : kOptions) keys.push_back(option.key);
  return fail(ErrorCode::invalid_argument, fmt::format("no recipe key \"{}\"", key), "recipe",
              fmt::format("did you mean {}?", closest(key, keys)));
}

std::vector<std::pair<std::string, std::string>> options_of(const Recipe& r) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto put = [&](std::string key, std::string value) { out.emplace_back(std::move(key), std::move(value)); };
  put("mode", name_in(kModes, r.mode));
  if (r.batch) put("batch", std::to_string(*r.batch));
  if (r.seq) put("seq", std::to_string(*r.seq));
  for (const RecipeInput& input : r.inputs) {
    put("input", fmt::format("{}{}{}{}{}", input.name, input.name.empty() ? "" : "=", input.shape.to_string(),
                             input.dtype ? ":" : "", input.dtype ? name_of(*input.dtype) : ""));
  }
  put("loss", name_in(kLosses, r.loss));
  put("precision", name_in(kPrecisions, r.precision));
  put("optimizer", r.optimizer);
  put("optimizer-impl", name_in(kImpls, r.optimizer_impl));
  put("accumulate", std::to_string(r.accumulate));
  put("checkpoint", r.checkpoint == CheckpointKind::segments ? fmt::format("segments={}", r.checkpoint_segments)
                                                             : name_in(kCheckpoints, r.checkpoint));
  put("inplace", name_in(kInplace, r.inplace));
  put("memory-format", name_in(kFormats, r.channels_last));
  put("steps", std::to_string(r.steps));
  put("loop", fmt::format("zero-grad={},set-to-none={},keep={}", name_in(kZeroGrad, r.loop.zero_grad),
                          name_in(kYesNo, r.loop.set_to_none),
                          r.loop.keep_outputs ? "outputs"
                          : r.loop.keep_loss  ? "loss"
                                              : "none"));
  if (!r.parallel.empty()) put("parallel", r.parallel);
  put("cudnn", r.cudnn);
  if (!r.device.empty()) put("device", r.device);
  if (r.capacity) put("capacity", std::to_string(r.capacity->value));
  put("allocator", name_in(kAllocators, r.allocator));
  if (!r.alloc_conf.empty()) put("alloc-conf", r.alloc_conf);
  return out;
}

DType parameter_dtype(Precision precision) {
  switch (precision) {
    case Precision::fp16:
      return DType::f16;
    case Precision::bf16:
    case Precision::bf16_master:
      return DType::bf16;
    default:
      return DType::f32;
  }
}

std::optional<DType> autocast_dtype(Precision precision) {
  if (precision == Precision::amp_fp16) return DType::f16;
  if (precision == Precision::amp_bf16) return DType::bf16;
  return std::nullopt;
}

}  // namespace ullage
