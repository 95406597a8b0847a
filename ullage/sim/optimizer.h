// Optimizers as torch.optim (2.15) runs them: what state each keeps, when it appears, and which temporaries a step
// makes. One row of optimizer_table() each; an optimizer with an unusual state shape (Adafactor, 8-bit) adds a function
// for it.
//
// Temporaries are a script over named locals: "+a" allocates a tensor like the parameter, "-a" frees it, "d=b" binds
// local d to b (what d held before goes now, as when Python rebinds a name). In for-loop form the script runs once a
// parameter and locals outlive the iteration; in foreach form every name is a list over all parameters.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ullage/eager/machine.h"
#include "ullage/sim/recipe.h"

namespace ullage {

enum class StateBirth : uint8_t {
  never,
  first_step,    // inside the first optimizer.step()
  construction,  // when the optimizer object is made
};

// How state tensors relate to the parameter.
enum class StateShape : uint8_t {
  like_parameter,
  factored,    // Adafactor: rows and columns of the last two dims; 1-d parameters like_parameter
  blockwise8,  // bitsandbytes: 1 byte an element and 4 bytes a 256-block; tensors below 4096 elements in fp32
};

struct OptimizerRow {
  std::string_view name;
  int states;  // tensors like the parameter
  StateBirth birth;
  StateShape shape;
  int device_scalars;  // further 4-byte device tensors per parameter (a CPU step counter is none)
  std::string_view foreach_script;
  std::string_view forloop_script;
  bool foreach_by_default;  // torch.optim picks foreach on CUDA unless the optimizer says otherwise
  bool has_fused;           // fused=True exists: no temporaries, and a device step counter
  std::string_view source;
};

std::span<const OptimizerRow> optimizer_table();
const OptimizerRow* find_optimizer(std::string_view name);

// The optimizer object of one run.
class Optimizer {
 public:
  // `parameters` train; they must outlive the optimizer.
  Optimizer(eager::Machine& m, const OptimizerRow& row, OptimizerImpl impl, bool master_weights,
            std::vector<eager::Tensor> parameters);
  void zero_grad(bool set_to_none);
  void step();

 private:
  void create_states();
  void run_temporaries(std::string_view script, std::span<const eager::Tensor> over);
  DType state_dtype(const eager::Tensor& parameter) const;
  eager::Tensor state(const Shape& sizes, DType dtype);

  eager::Machine& m_;
  const OptimizerRow& row_;
  OptimizerImpl impl_;
  bool master_weights_;  // fp32 copies and states for half parameters
  std::vector<eager::Tensor> parameters_;
  std::vector<eager::Tensor> states_;
  bool created_ = false;
};

}  // namespace ullage
