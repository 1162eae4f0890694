#pragma once
// Tokens -> AST. Recursive descent for statements, precedence climbing for expressions; after a mistake it goes on at
// the next statement, so that a file's mistakes are found in one run.
#include "dsl/ast.h"
#include "dsl/lexer.h"
#include "ir/support/diagnostic.h"

namespace coll::dsl {

// Marks tokens as `tight` for the formatter. Names are not looked at: see checker.h.
ast::File parse_tokens(const SourceFile&, Tokens&, Diagnostics&);

// Limits that keep every later walk over the tree within a thread's stack.
inline constexpr uint16_t kMaxExprHeight = 200;
inline constexpr int kMaxNesting = 64;

}  // namespace coll::dsl
