// TrainingLoop: writes the StepProgram of a run: the model moves to the device, then the loop of a plain PyTorch
// script.
//
//   model.cuda(); optimizer = …; x, y = …                       marks after_model, after_inputs
//   for step in 1..N:
//     optimizer.zero_grad()
//     for k in 1..accumulate:
//       with autocast: loss = criterion(model(x), y)            mark  after_forward  (of the last micro-batch)
//       scaler.scale(loss / accumulate).backward()              mark  after_backward (of the last micro-batch)
//     scaler.step(optimizer); scaler.update()                   mark  after_step
//
// In modes forward and infer there is only the forward, in a loop that rebinds `output = model(x)`.
#pragma once

#include <memory>
#include <vector>

#include "ullage/eager/machine.h"
#include "ullage/ir/graph.h"
#include "ullage/sim/forward.h"
#include "ullage/sim/optimizer.h"
#include "ullage/sim/recipe.h"

namespace ullage {

class TrainingLoop {
 public:
  // `graph` ends in the loss when the recipe trains. All must outlive this.
  TrainingLoop(eager::Machine& m, const Graph& graph, const Recipe& recipe);
  void run();

 private:
  void move_model();
  void make_inputs();
  void forward_step(int64_t step);
  void train_step(int64_t step);
  void run_forward();  // binds loss_ (training) and, where the loop keeps them, outputs_
  void backward(const eager::Tensor& loss);
  bool trains() const { return recipe_.mode == Mode::train; }

  eager::Machine& m_;
  const Graph& graph_;
  const Recipe& recipe_;
  Forward forward_;
  std::vector<eager::Tensor> trainable_;
  std::unique_ptr<Optimizer> optimizer_;
  std::vector<eager::Tensor> scaler_;  // scale and growth tracker, once made
  eager::Tensor loss_;                 // the loop's variables, alive until rebound
  eager::Tensor scaled_loss_;
  std::vector<eager::Tensor> outputs_;
};

}  // namespace ullage
