// The flags that every simulating command shares: a model, and the recipe keys of sim/recipe.h under the same names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "ullage/importers/importer.h"
#include "ullage/sim/estimate.h"

namespace ullage::cli {

struct RecipeFlags {
  std::string model;
  std::vector<std::string> values;  // by option of recipe_options(); several --input are joined below
  std::vector<std::string> inputs;
  std::string recipe_file;
  std::vector<std::string> changes;  // KEY=VALUE, applied last (diff --with)
};

// Adds MODEL, --recipe and one flag per recipe key.
std::shared_ptr<RecipeFlags> add_recipe_flags(CLI::App& app);
Result<Recipe> recipe_of(const RecipeFlags& flags);
// A model as the estimator wants it: a function from shapes to graphs.
GraphSource source_of(std::shared_ptr<Model> model);

// Opens the model and estimates it under the flags' recipe.
Result<Estimate> estimate_of(const RecipeFlags& flags, EstimateOptions options);

// The code itself; or, for an error, its message (what, where, hint) on stderr and the code that goes with it.
int exit_code(const Result<int>& answer, Streams streams);

}  // namespace ullage::cli
