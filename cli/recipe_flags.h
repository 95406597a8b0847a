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
  std::vector<std::string> values;                // by option of recipe_options(); several --input are joined below
  std::vector<std::string> inputs;
  std::string recipe_file;
};

// Adds MODEL, --recipe and one flag per recipe key.
std::shared_ptr<RecipeFlags> add_recipe_flags(CLI::App& app);
Result<Recipe> recipe_of(const RecipeFlags& flags);
// A model as the estimator wants it: a function from shapes to graphs.
GraphSource source_of(std::shared_ptr<Model> model);

// Prints an error as what, where, hint; returns the exit code.
int report_error(const Error& error, Streams streams);

}  // namespace ullage::cli
