#pragma once
// What is being done, told on a terminal when it takes long: one line of standard error, rewritten, gone at the end.
// Nothing is shown for work of less than two seconds, nor where standard error is no terminal.
#include <string>

namespace coll {

// What begins now, as "verifying `ring`". Until the next one, or until clear_progress().
void show_progress(const std::string& what);

// Takes the line away; to be called before anything else is printed.
void clear_progress();

}  // namespace coll
