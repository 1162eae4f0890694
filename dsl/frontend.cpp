#include "dsl/frontend.h"

#include "dsl/ast.h"
#include "dsl/checker.h"
#include "dsl/lexer.h"
#include "dsl/parser.h"

namespace coll {

std::shared_ptr<const ast::File> parse(const SourceFile& source, Diagnostics& diagnostics) {
  size_t errors_before = diagnostics.error_count();
  dsl::Tokens tokens = dsl::lex(source, diagnostics);
  auto file = std::make_shared<ast::File>(dsl::parse_tokens(source, tokens, diagnostics));
  dsl::check(*file, diagnostics);
  // A mistake below the grammar (an odd character, say) belongs to no item: none of them counts as sound then.
  if (diagnostics.error_count() > errors_before)
    for (ast::Item& item : file->items) item.sound = false;
  return file;
}

std::vector<AlgorithmInfo> algorithms(const ast::File& file) {
  std::vector<AlgorithmInfo> list;
  for (const ast::Item& item : file.items) {
    if (item.kind != ast::Item::Kind::kAlgorithm) continue;
    AlgorithmInfo& info = list.emplace_back();
    info.name = std::string(item.name);
    info.contract = std::string(item.contract);
    for (const ast::Parameter& p : item.parameters) info.parameters.emplace_back(std::string(p.name), p.default_value);
  }
  return list;
}

}  // namespace coll
