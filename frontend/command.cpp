#include "frontend/command.h"

#include <fmt/format.h>

#include "frontend/diagnostics.h"
#include "frontend/report.h"

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

std::optional<int> parse_words(CLI::App& app, const Words& words) {
  Report report;
  try {
    Words reversed(words.rbegin(), words.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return kExitRight;
  } catch (const CLI::ParseError& error) {
    report.diagnostics.error(diag::kCommandBadUsage, {}, error.what(), fmt::format("see `{} --help`", app.get_name()));
    return report.finish();
  }
  bool unknown_option = false;
  for (const std::string& word : app.remaining()) {
    if (word.size() > 1 && word[0] == '-') {
      unknown_option = true;
      std::string name = word.substr(0, word.find('='));
      std::string near = nearest(name, option_names(app));
      report.diagnostics.error(
          diag::kCommandUnknownOption, {}, fmt::format("`{}` has no option `{}`", app.get_name(), name),
          near.empty() ? fmt::format("see `{} --help`", app.get_name()) : fmt::format("did you mean `{}`", near));
    } else if (!unknown_option) {  // what follows an unknown option may be its value
      report.diagnostics.error(diag::kCommandBadUsage, {}, fmt::format("`{}` is one word too many", word),
                               fmt::format("see `{} --help`", app.get_name()));
    }
  }
  if (!report.ok()) return report.finish();
  return std::nullopt;
}

}  // namespace coll
