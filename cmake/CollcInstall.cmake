# `cmake --install` makes find_package(collc) work: collc::compiler (compile text in process) and collc::runtime (load a
# plan and run it; no compiler is linked). Every library is static, so the internal ones they stand on are exported with
# them; only the headers under coll/ are installed, and they need nothing but the standard library.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(collc_exported)
foreach(name ir dsl passes runtime compiler)
  if(TARGET collc_${name})
    set_target_properties(collc_${name} PROPERTIES EXPORT_NAME ${name})
    list(APPEND collc_exported collc_${name})
  endif()
endforeach()

install(TARGETS ${collc_exported} EXPORT collc-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(folder runtime dsl)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/include/coll DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          FILES_MATCHING PATTERN "*.h")
endforeach()

set(collc_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/collc)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/collc-config.cmake.in
                              ${PROJECT_BINARY_DIR}/collc-config.cmake
                              INSTALL_DESTINATION ${collc_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/collc-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/collc-config.cmake ${PROJECT_BINARY_DIR}/collc-config-version.cmake
        DESTINATION ${collc_package_dir})
install(EXPORT collc-targets NAMESPACE collc:: DESTINATION ${collc_package_dir})
