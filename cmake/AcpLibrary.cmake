# SPDX-License-Identifier: BSD-3-Clause
# libacp: the object files of all layers down to api as one shared library that exports acp_* and acp3_* at version ACP_4 and needs
# only libc and libstdc++, and the same as a static archive (target acp_static), for programs that shall need nothing
# and for link-time optimisation across the boundary.

include(CheckLinkerFlag)

function(acp_add_library)
    set(objects "")
    foreach(layer IN LISTS ACP_OBJECT_LAYERS)
        if(NOT layer IN_LIST ACP_APART_LAYERS)
            list(APPEND objects "$<TARGET_OBJECTS:acp_${layer}>")
        endif()
    endforeach()
    foreach(kind SHARED STATIC)
        set(target acp)
        set(exclude "")
        if(kind STREQUAL "STATIC")
            set(target acp_static)
            if(NOT PROJECT_IS_TOP_LEVEL)
                set(exclude EXCLUDE_FROM_ALL)
            endif()
        endif()
        add_library(${target} ${kind} ${exclude} ${objects})
        add_library(ACP::${target} ALIAS ${target})
        acp_configure(${target})
        set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX INSTALL_RPATH "")
        target_include_directories(${target} PUBLIC
            "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
            "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    endforeach()

    set(map "${PROJECT_SOURCE_DIR}/cmake/acp.map")
    set_target_properties(acp PROPERTIES
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS "${map}")
    # Threads that used the library may end after dlclose(): their ends run its code (docs/life.md, "unloading").
    target_link_options(acp PRIVATE -pthread "-Wl,--version-script=${map}" -Wl,-z,nodelete)
    # What every program runs lies together, where the linker can do that (start_functions.py).
    set(start_functions "${PROJECT_SOURCE_DIR}/cmake/start_functions.ld")
    check_linker_flag(CXX "-Wl,-T,${start_functions}" ACP_LINKER_PLACES_FUNCTIONS)
    if(ACP_LINKER_PLACES_FUNCTIONS)
        target_link_options(acp PRIVATE "-Wl,-T,${start_functions}")
        set_property(TARGET acp APPEND PROPERTY LINK_DEPENDS "${start_functions}")
    endif()
    target_link_options(acp_static INTERFACE -pthread)
    # By name, and not as the language of a target, which a project in C alone does not have.
    target_link_libraries(acp_static INTERFACE stdc++ m ${CMAKE_DL_LIBS})
    set_target_properties(acp_static PROPERTIES OUTPUT_NAME acp)
    # Before there is an api layer, layers may call what is declared and not yet built.
    if("api" IN_LIST ACP_BUILT_LAYERS AND NOT ACP_SANITIZE)
        target_link_options(acp PRIVATE -Wl,--no-undefined)
    endif()
endfunction()
