# Writes ${OUT}: a C++ file with coll::library(), the text of every ${FILES} entry as a raw string.
set(text "// Made from dsl/lib/*.coll by cmake/EmbedLibrary.cmake.\n#include \"dsl/frontend.h\"\n\nnamespace coll {\n\nconst std::vector<LibraryFile>& library() {\n  static const std::vector<LibraryFile> files = {\n")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} body)
  string(APPEND text "      {\"${name}\", R\"__coll__(${body})__coll__\"},\n")
endforeach()
string(APPEND text "  };\n  return files;\n}\n\n}  // namespace coll\n")
file(WRITE ${OUT} "${text}")
