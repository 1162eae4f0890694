// `collc fmt`: the formatter. Prints by default; --write changes files, --check only says which would change.
#include <fmt/format.h>

#include <cstdio>

#include "dsl/frontend.h"
#include "frontend/command.h"
#include "frontend/diagnostics.h"
#include "frontend/load.h"
#include "frontend/report.h"

namespace coll {

int verb_fmt(const Verb& verb, const Words& words) {
  Words files;
  bool write = false, check = false;
  auto app = make_parser(verb);
  app->add_option("FILE", files, ".coll files, lib:NAME, or -")->type_name("");
  app->add_flag("-i,--write", write, "write the files in place");
  app->add_flag("--check", check, "name the files that are not formatted, and exit 1 if there are any");
  if (auto status = parse_words(*app, words)) return *status;

  Report report;
  if (write && check)
    report.diagnostics.error(diag::kCommandOptionConflict, {}, "`--write` and `--check` exclude each other");
  if (files.empty())
    report.diagnostics.error(diag::kCommandMissingFile, {}, "no FILE was given",
                             "name .coll files, or `-` for standard input");
  for (const std::string& file : files) {
    if (write && (file == "-" || file.starts_with("lib:")))
      report.diagnostics.error(diag::kCommandOptionConflict, {}, fmt::format("`{}` cannot be written in place", file),
                               "leave out --write");
  }
  if (!report.ok()) return report.finish();

  bool all_formatted = true;
  std::vector<Input> kept;  // diagnostics point into them
  for (const std::string& file : files) {
    std::optional<Input> input = read_input(file, report);
    if (!input) continue;
    kept.push_back(*input);
    if (input->kind != Input::Kind::kProgram) {
      report.diagnostics.error(diag::kCommandWrongInput, {}, fmt::format("`{}` is not a .coll file", input->name),
                               "plans and schedules are printed in their one form by `collc compile`");
      continue;
    }
    std::optional<std::string> text = format(*input->file, report.diagnostics);
    if (!text) continue;
    bool same = *text == input->file->text();
    if (check) {
      all_formatted = all_formatted && same;
      if (!same) fmt::print("{}\n", input->name);
    } else if (!write || !same) {
      if (Status status = write_text(write ? file : "-", *text); !status.ok()) report.fail(status);
    }
  }
  int status = report.finish();
  return status != kExitRight ? status : all_formatted ? kExitRight : kExitNo;
}

}  // namespace coll
