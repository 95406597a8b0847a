// Estimate: the answer to "what will this step take of the card, and for what?". It is the one value that text, JSON,
// CSV and the Python package show; every part of it is exact bytes and adds up.
//
//   UL_TRY(Estimate answer, estimate(source, recipe, notes));
//   answer.peak.device, answer.fits, answer.breakdown …
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ullage/base/diagnostics.h"
#include "ullage/base/result.h"
#include "ullage/ir/device.h"
#include "ullage/ir/graph.h"
#include "ullage/sim/recipe.h"
#include "ullage/sim/simulate.h"

namespace ullage {

// Makes the model's graph at other shapes; an importer's Model::graph() behind a function, since sim does not know
// importers.
using GraphSource = std::function<Result<Graph>(const Recipe& shapes, Diagnostics& notes)>;

struct ModelFacts {
  std::string name;
  std::string format;
  int64_t parameters = 0;
  int64_t trainable = 0;
  Bytes parameter_bytes;  // at the recipe's precision
  Bytes buffer_bytes;
  int64_t batch = 0;  // of the graph as simulated
  std::string loss;   // "cross_entropy of output"; empty when not training
};

struct PeakFacts {
  Bytes requested, allocated, active, reserved, device;
  // The moment of the allocated peak.
  uint16_t step = 0;
  Phase phase = Phase::other;
  uint32_t node = 0;  // graph node, 0 for none
  std::string op;     // its name
};

struct CategoryRow {
  Category category;
  Bytes bytes;
  std::string note;  // "61 saved tensors", "23.5 M float32"
};

struct Bounds {
  Bytes low, high;  // of peak.device, stated coverage 95 %
  std::vector<std::string> why;
};

struct FlopFacts {
  int64_t forward = 0, backward = 0, recompute = 0;  // of one step; a multiply-add is 2
};

struct LayerRow {
  uint32_t node = 0;
  std::string name;    // "layer1.0.conv1", or the op's name in the file
  std::string module;  // full path of the module it is in
  std::string op;
  Shape output_shape;
  int64_t parameters = 0;
  FlopFacts flops;
  Bytes output_bytes, saved_bytes, workspace_bytes;
  Bytes at_peak;  // what is alive at the peak on this node's behalf
};

// peak.requested = model + batch × per_sample, from batch `from` on (and up to `to` as far as it was checked).
struct BatchLaw {
  Bytes model, per_sample;
  int64_t from = 1, to = 1;
};

// One change, and the device peak it was simulated to have.
struct Lever {
  std::string change;  // "--precision amp-bf16"
  std::string what;    // "mixed precision"
  Bytes peak_device;
  Bytes saves;  // positive: less memory
};

struct Estimate {
  ModelFacts model;
  Recipe recipe;
  Device device;
  Simulation run;  // the timeline behind every figure
  Graph graph;     // as simulated, loss included
  PeakFacts peak;
  std::vector<CategoryRow> breakdown;  // of peak.device, largest first
  Bounds bounds;
  bool fits = true;
  FlopFacts flops;
  std::vector<LayerRow> layers;
  std::optional<BatchLaw> law;
  std::vector<Lever> levers;  // largest effect first
  Diagnostics notes;
  std::vector<std::string> assumptions;
};

struct EstimateOptions {
  bool bounds = true;
  bool law = true;
  bool levers = true;
};

Result<Estimate> estimate(const GraphSource& source, const Recipe& recipe, EstimateOptions options = {});

}  // namespace ullage
