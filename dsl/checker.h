#pragma once
// Names and kinds: what every name refers to, which slot each variable has, numbers and conditions told apart, every
// statement where it may stand. Writes what it finds into the tree; items with mistakes are marked unsound.
#include "dsl/ast.h"
#include "ir/support/diagnostic.h"

namespace coll::dsl {

void check(ast::File&, Diagnostics&);

}  // namespace coll::dsl
