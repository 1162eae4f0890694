# Compiler settings that hold for every target of the tree.

# Results must be the same to the bit on every target and compiler: no contraction, no fast-math. Set for the tree rather
# than on each library, so that it reaches the tests (which compute references) and does not leak into users' builds.
add_compile_options(-ffp-contract=off)

# g++ 12 sees overlapping copies in std::string's own operator+ (GCC bug 105651); nothing of ours is warned of by it.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)

if(COLLC_SANITIZE)
  add_compile_options(-fsanitize=${COLLC_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${COLLC_SANITIZE})
  # Undefined behaviour must fail a test; printing alone would pass silently.
  if(COLLC_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()

# ccache where it is found: a second build of the same tree, or of another preset's twin, costs seconds.
find_program(COLLC_CCACHE ccache)
if(COLLC_CCACHE)
  foreach(language C CXX)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER ${COLLC_CCACHE})
    endif()
  endforeach()
endif()
