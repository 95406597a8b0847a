#include <CLI/CLI.hpp>
#include <fstream>

#include "cli/commands.h"
#include "cli/recipe_flags.h"
#include "ullage/report/estimate_json.h"
#include "ullage/report/events_text.h"

namespace ullage::cli {
namespace {

struct Options {
  std::shared_ptr<RecipeFlags> recipe;
  bool json = false;
  bool only_peak = false;
  std::string events;
};

Result<int> answer(const Options& options, Streams streams) {
  UL_TRY(const Recipe recipe, recipe_of(*options.recipe));
  Diagnostics notes;
  UL_TRY(std::unique_ptr<Model> model, open_model(options.recipe->model, notes));
  const GraphSource source = source_of(std::move(model));
  const bool more = !options.only_peak;
  UL_TRY(Estimate e, estimate(source, recipe, {.bounds = more, .law = more, .levers = more}));
  e.notes.merge(notes);
  if (!options.events.empty()) {
    std::ofstream file(options.events);
    file << events_text(e.run.timeline, e.graph);
    if (!file.flush()) return kCannotWrite;
  }
  streams.out << estimate_json(e) << "\n";
  return e.fits ? kAnswered : kNo;
}

}  // namespace

Run setup_estimate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->recipe = add_recipe_flags(app);
  app.add_flag("--json", options->json, "print JSON")->group("How to show");
  app.add_flag("--only-peak", options->only_peak, "leave out bounds, the batch law and what to change")->group("How to show");
  app.add_option("--events", options->events, "write every allocation and free to a file")->group("Where to write");
  return [options](Streams streams) {
    const Result<int> code = answer(*options, streams);
    return code ? *code : report_error(code.error(), streams);
  };
}

}  // namespace ullage::cli
