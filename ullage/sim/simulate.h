// Simulate: one graph, one recipe, one card → the Timeline of the whole run. Everything else (estimate, fit, plan) asks
// this.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ullage/base/diagnostics.h"
#include "ullage/base/result.h"
#include "ullage/eager/machine.h"
#include "ullage/ir/device.h"
#include "ullage/ir/graph.h"
#include "ullage/sim/recipe.h"
#include "ullage/sim/replay.h"

namespace ullage {

// Which end of a modelled quantity's range a run takes.
enum class Leaning : uint8_t { low, expected, high };

struct Simulation {
  Timeline timeline;
  AllocatorStats stats;
  std::vector<eager::NodeStats> nodes;  // by graph node; of one step
  std::optional<ReplayFailure> out_of_memory;
  Diagnostics notes;

  Bytes peak(Counter counter) const { return timeline.peak(counter).value; }
};

// The graph as the recipe makes it run: training mode, in-place choice, loss. Done once, before simulate().
struct PreparedGraph {
  Graph graph;
  std::string loss;  // what the loss is; empty when the recipe does not train
};
Result<PreparedGraph> prepare(Graph graph, const Recipe& recipe);

// The events alone, before any allocator.
StepProgram write_program(const Graph& prepared, const Recipe& recipe, const Device& device, Leaning leaning,
                          std::vector<eager::NodeStats>& nodes, Diagnostics& notes);

Result<Simulation> simulate(const Graph& prepared, const Recipe& recipe, const Device& device,
                            Leaning leaning = Leaning::expected);

// The card a recipe names; a card without a limit when it names none.
Result<Device> device_of(const Recipe& recipe);

}  // namespace ullage
