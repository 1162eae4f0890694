#include "frontend/command.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/diagnostics.h"
#include "frontend/report.h"
#include "frontend/units.h"

namespace coll {

namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

}  // namespace

std::unique_ptr<CLI::App> make_parser(const Verb& verb) {
  auto app = std::make_unique<CLI::App>(verb.what, std::string("collc ") + verb.name);
  app->footer(std::string("Example:\n  ") + verb.example);
  app->allow_extras();  // reported below, with a hint, all of them
  return app;
}

bool wants_json(const Words& words) { return std::find(words.begin(), words.end(), "--json") != words.end(); }

std::optional<int> parse_words(CLI::App& app, const Words& words) {
  Report report;
  std::string see = fmt::format("see `{} --help`", app.get_name());
  // An option given twice is told below, in our words; until then the last one counts.
  std::vector<CLI::Option*> single;
  for (CLI::Option* option : app.get_options()) {
    if (!option->nonpositional() || option->get_items_expected_max() != 1) continue;
    if (option->get_multi_option_policy() != CLI::MultiOptionPolicy::Throw) continue;
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    single.push_back(option);
  }
  try {
    Words reversed(words.rbegin(), words.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return kExitRight;
  } catch (const CLI::ArgumentMismatch& error) {
    std::string name = std::string(error.what()).substr(0, std::string(error.what()).find(':'));
    report.diagnostics.error(diag::kCommandBadUsage, {}, fmt::format("`{}` has no value", name), see);
    return report.finish(wants_json(words), {{"ok", false}});
  } catch (const CLI::ParseError& error) {
    report.diagnostics.error(diag::kCommandBadUsage, {}, error.what(), see);
    return report.finish(wants_json(words), {{"ok", false}});
  }
  for (const CLI::Option* option : single) {
    if (option->count() < 2) continue;
    report.diagnostics.error(diag::kCommandBadUsage, {},
                             fmt::format("`{}` is given {} times", option->get_name(), option->count()),
                             "give it once");
  }
  bool unknown_option = false;
  for (const std::string& word : app.remaining()) {
    if (word.size() > 1 && word[0] == '-') {
      unknown_option = true;
      std::string name = word.substr(0, word.find('='));
      std::string near = near_word(name, option_names(app));
      report.diagnostics.error(diag::kCommandUnknownOption, {},
                               fmt::format("`{}` has no option `{}`", app.get_name(), name),
                               near.empty() ? see : fmt::format("did you mean `{}`", near));
    } else if (!unknown_option) {  // what follows an unknown option may be its value
      report.diagnostics.error(diag::kCommandBadUsage, {}, fmt::format("`{}` is one word too many", word), see);
    }
  }
  if (!report.ok()) return report.finish(wants_json(words), {{"ok", false}});
  return std::nullopt;
}

}  // namespace coll
