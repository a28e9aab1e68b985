# What `cmake --install` puts where: the program, the library with its headers, and the two files
# through which other builds find it.
include(CMakePackageConfigHelpers)

set(UL_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/ullage)

install(TARGETS ullage EXPORT ullage-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ul_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/ullage DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

install(EXPORT ullage-targets NAMESPACE ullage:: DESTINATION ${UL_CMAKE_DIR})
get_target_property(UL_LIBRARY_TYPE ullage TYPE)
configure_package_config_file(cmake/ullage-config.cmake.in
                              ${CMAKE_CURRENT_BINARY_DIR}/ullage-config.cmake
                              INSTALL_DESTINATION ${UL_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/ullage-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ullage-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/ullage-config-version.cmake
        DESTINATION ${UL_CMAKE_DIR})

# The .pc file finds its prefix from where it lies, so it stays right under any --prefix.
file(RELATIVE_PATH UL_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" UL_PC_TO_PREFIX "${UL_PC_TO_PREFIX}")
# A program that links the archive links what the archive needs, with or without --static.
if(UL_LIBRARY_TYPE STREQUAL "STATIC_LIBRARY")
  set(UL_PC_REQUIRES Requires)
else()
  set(UL_PC_REQUIRES Requires.private)
endif()
configure_file(cmake/ullage.pc.in ${CMAKE_CURRENT_BINARY_DIR}/ullage.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ullage.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Manual pages are built where scdoc is at hand, and are no reason to fail where it is not.
find_program(SCDOC scdoc)
file(GLOB UL_MAN_SOURCES CONFIGURE_DEPENDS docs/man/*.scd)
if(SCDOC AND UL_MAN_SOURCES)
  set(pages "")
  foreach(source ${UL_MAN_SOURCES})
    get_filename_component(page ${source} NAME_WLE)
    string(REGEX MATCH "[0-9]+$" section ${page})
    set(output ${CMAKE_CURRENT_BINARY_DIR}/man/${page})
    add_custom_command(OUTPUT ${output} DEPENDS ${source} VERBATIM
                       COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/man
                       COMMAND sh -c "SOURCE_DATE_EPOCH=0 '${SCDOC}' < '${source}' > '${output}'")
    list(APPEND pages ${output})
    install(FILES ${output} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  endforeach()
  add_custom_target(man ALL DEPENDS ${pages})
endif()
