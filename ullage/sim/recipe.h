// Recipe: everything about a run that is not the model. One set of keys for the command line, --recipe files, JSON and
// Python; defaults are what a plain PyTorch script does.
//
//   Recipe recipe;
//   UL_TRY_STATUS(set_option(recipe, "optimizer", "adam"));
//   UL_TRY_STATUS(set_option(recipe, "batch", "32"));
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ullage/base/bytes.h"
#include "ullage/base/result.h"
#include "ullage/ir/dtype.h"
#include "ullage/ir/shape.h"
#include "ullage/sim/allocator.h"

namespace ullage {

enum class Mode : uint8_t { train, forward, infer };
enum class Precision : uint8_t { fp32, fp32_strict, tf32, amp_fp16, amp_bf16, fp16, bf16, bf16_master };
enum class LossKind : uint8_t { automatic, cross_entropy, mse, sum, output };
enum class OptimizerImpl : uint8_t { automatic, foreach, fused, forloop };
enum class InplaceChoice : uint8_t { asis, on, off };
enum class ZeroGrad : uint8_t { first, after_forward, after_step, never };
enum class CheckpointKind : uint8_t { none, sqrt, segments, blocks, attention };

struct RecipeInput {
  std::string name;
  Shape shape;
  std::optional<DType> dtype;
};

// How the training loop is written; it moves the peak by up to 15 %.
struct Loop {
  ZeroGrad zero_grad = ZeroGrad::first;
  bool set_to_none = true;
  bool keep_loss = true;      // `loss` of the step before is referenced until the next backward has begun
  bool keep_outputs = false;  // so is the model's output
};

struct Recipe {
  Mode mode = Mode::train;
  std::optional<int64_t> batch;  // the micro-batch; absent: what the file says, or 1
  std::optional<int64_t> seq;
  std::vector<RecipeInput> inputs;
  LossKind loss = LossKind::automatic;
  Precision precision = Precision::fp32;
  std::string optimizer = "sgd";  // a name of optimizer_table()
  OptimizerImpl optimizer_impl = OptimizerImpl::automatic;
  int64_t accumulate = 1;
  CheckpointKind checkpoint = CheckpointKind::none;
  int64_t checkpoint_segments = 0;  // of CheckpointKind::segments
  InplaceChoice inplace = InplaceChoice::asis;
  bool channels_last = false;
  int64_t steps = 3;
  Loop loop;
  std::string parallel;  // not simulated yet: anything but one device is refused
  std::string cudnn = "auto";
  std::string device;  // id from data/devices.json
  std::optional<Bytes> capacity;
  AllocatorKind allocator = AllocatorKind::pytorch;
  std::string alloc_conf;  // the text of PYTORCH_CUDA_ALLOC_CONF
};

// Sets one key ("batch", "optimizer-impl", …, the flags without dashes) from text; errors list what is allowed.
Status set_option(Recipe& recipe, std::string_view key, std::string_view value);
// Every key with its value as text, defaults included, in the order of help; set_option takes them back.
std::vector<std::pair<std::string, std::string>> options_of(const Recipe& recipe);

struct OptionHelp {
  std::string_view key;
  std::string_view values;  // "train|forward|infer"
  std::string_view meaning;
};
std::span<const OptionHelp> recipe_options();

// What a precision means for tensors: dtype of parameters, and of autocast regions.
DType parameter_dtype(Precision precision);
std::optional<DType> autocast_dtype(Precision precision);

}  // namespace ullage
