#include "cli/recipe_flags.h"

#include <fstream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace ullage::cli {
namespace {

// {"batch": 32, "optimizer": "adam"}: the keys of the flags.
Status read_recipe_file(const std::string& path, Recipe& recipe) {
  std::ifstream file(path);
  if (!file)
    return fail(ErrorCode::io, "cannot open the recipe", path, "a JSON object of flags, such as {\"batch\": 32}");
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object())
    return fail(ErrorCode::format, "a recipe is a JSON object", path, "for example {\"batch\": 32}");
  for (const auto& [key, value] : json.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (auto set = set_option(recipe, key, text); !set) return tl::unexpected(std::move(set.error()).at(path));
  }
  return {};
}

// set_option(), with the flag as the place of an error that names none.
Status set_flag(Recipe& recipe, std::string_view key, std::string_view value) {
  Status set = set_option(recipe, key, value);
  if (!set && set.error().where.empty()) set.error().where = "--" + std::string(key);
  return set;
}

// What to do about an error that brings no hint of its own.
std::string_view usual_hint(ErrorCode code) {
  switch (code) {
    case ErrorCode::io:
      return "check the path and who may read it";
    case ErrorCode::format:
      return "is this a whole model file? ullage list formats shows what is read";
    case ErrorCode::invalid_argument:
      return "ullage list options shows every flag and its values";
    default:
      return {};
  }
}

}  // namespace

std::shared_ptr<RecipeFlags> add_recipe_flags(CLI::App& app) {
  auto flags = std::make_shared<RecipeFlags>();
  flags->values.resize(recipe_options().size());
  app.add_option("MODEL", flags->model, "the model file")->required();
  app.add_option("--recipe", flags->recipe_file, "read flags from a JSON file first")->group("What to run");
  for (size_t i = 0; i < recipe_options().size(); ++i) {
    const OptionHelp& option = recipe_options()[i];
    const std::string name = "--" + std::string(option.key);
    CLI::Option* flag = option.key == "input" ? app.add_option(name, flags->inputs, std::string(option.meaning))
                                              : app.add_option(name, flags->values[i], std::string(option.meaning));
    flag->type_name(std::string(option.values))->group("What to run");
  }
  return flags;
}

Result<Recipe> recipe_of(const RecipeFlags& flags) {
  Recipe recipe;
  if (!flags.recipe_file.empty()) UL_TRY_STATUS(read_recipe_file(flags.recipe_file, recipe));
  for (size_t i = 0; i < recipe_options().size(); ++i) {
    if (!flags.values[i].empty()) UL_TRY_STATUS(set_flag(recipe, recipe_options()[i].key, flags.values[i]));
  }
  for (const std::string& input : flags.inputs) UL_TRY_STATUS(set_option(recipe, "input", input));
  for (const std::string& change : flags.changes) {
    const size_t equals = change.find('=');
    if (equals == change.npos) {
      return fail(ErrorCode::invalid_argument, "expected KEY=VALUE, not \"" + change + "\"", "--with",
                  "for example --with batch=64");
    }
    UL_TRY_STATUS(set_flag(recipe, change.substr(0, equals), change.substr(equals + 1)));
  }
  return recipe;
}

Result<Estimate> estimate_of(const RecipeFlags& flags, EstimateOptions options) {
  UL_TRY(const Recipe recipe, recipe_of(flags));
  Diagnostics notes;
  UL_TRY(std::unique_ptr<Model> model, open_model(flags.model, notes));
  Result<Estimate> answer = estimate(source_of(std::move(model)), recipe, options);
  if (!answer) return tl::unexpected(std::move(answer.error()).at(flags.model));
  answer->notes.merge(notes);
  return answer;
}

GraphSource source_of(std::shared_ptr<Model> model) {
  return [model](const Recipe& recipe, Diagnostics& notes) {
    Bindings bindings{recipe.batch, recipe.seq, {}};
    for (const RecipeInput& input : recipe.inputs) bindings.inputs.push_back({input.name, input.shape, input.dtype});
    return model->graph(bindings, notes);
  };
}

int exit_code(const Result<int>& answer, Streams streams) {
  if (answer) return *answer;
  const Error& error = answer.error();
  streams.err << "error: " << error.message << "\n";
  if (!error.where.empty()) streams.err << "  at " << error.where << "\n";
  const std::string_view hint = error.hint.empty() ? usual_hint(error.code) : error.hint;
  if (!hint.empty()) streams.err << "  hint: " << hint << "\n";
  switch (error.code) {
    case ErrorCode::invalid_argument:
      return kUsage;
    case ErrorCode::infeasible:
      return kNo;
    default:
      return kInput;
  }
}

}  // namespace ullage::cli
