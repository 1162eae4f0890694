# collc_library(name DEPENDS lib... SUBFOLDERS folder...): a static library of every .cpp of this folder and of the
# subfolders named (one file, one idea: no list to keep).
function(collc_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;SUBFOLDERS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  foreach(folder ${ARG_SUBFOLDERS})
    file(GLOB more CONFIGURE_DEPENDS ${folder}/*.cpp)
    list(APPEND sources ${more})
  endforeach()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-missing-field-initializers)
endfunction()
