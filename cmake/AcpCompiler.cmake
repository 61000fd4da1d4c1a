# SPDX-License-Identifier: BSD-3-Clause
# Compiler and linker settings: language levels, warnings, instruction set, sanitizers, output folders.
# What is global is set only when ACP is the top-level project; a host project keeps its own choices.

set(ACP_CXX_WARNINGS -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual)
set(ACP_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-align
    -Wformat=2 -Wundef)

if(PROJECT_IS_TOP_LEVEL)
    if(NOT CMAKE_BUILD_TYPE)
        set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
    endif()
    find_program(ACP_CCACHE ccache)
    foreach(language C CXX)
        if(ACP_CCACHE AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
            # It keeps what was compiled with a precompiled header only when it is told that this is safe: nothing here
            # uses __DATE__ or __TIME__, and a change of the header changes what it is compiled to.
            set(CMAKE_${language}_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
                "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime" "${ACP_CCACHE}")
        endif()
    endforeach()
    set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
    set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
    set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
    set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
endif()

# Programs find libacp.so beside themselves, in the build tree and wherever the install tree is moved to.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
file(RELATIVE_PATH acp_bin_to_lib "/prefix/${CMAKE_INSTALL_BINDIR}" "/prefix/${CMAKE_INSTALL_LIBDIR}")
set(ACP_INSTALL_RPATH "$ORIGIN/${acp_bin_to_lib}")

if(ACP_MARCH STREQUAL "auto")
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
        set(acp_march -march=x86-64-v2)
    endif()
elseif(ACP_MARCH)
    set(acp_march "-march=${ACP_MARCH}")
endif()

if(ACP_LTO)
    include(CheckIPOSupported)
    check_ipo_supported(LANGUAGES C CXX)
endif()

# What every target of the project is compiled with. The sanitizers' flags also go to the linker.
add_library(acp_options INTERFACE)
target_compile_features(acp_options INTERFACE cxx_std_20 c_std_11)
target_compile_options(acp_options INTERFACE
    ${acp_march} ${ACP_WARNINGS} "$<$<COMPILE_LANGUAGE:CXX>:${ACP_CXX_WARNINGS}>"
    # Assertions and debug information name files below the source folder, so builds in two folders are equal.
    "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=" "-ffile-prefix-map=${PROJECT_BINARY_DIR}/=build/"
    # gcc 12 reports "literal" + std::string at -O3 as an overlapping copy, which it is not (gcc bug 105651)
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<COMPILE_LANGUAGE:CXX>>:-Wno-restrict>
    $<$<BOOL:${ACP_WERROR}>:-Werror>)
# Functions are looked up before anything runs: a later look-up would save the vector registers, with what was copied
# last, on the stack; and that may have been a key.
target_link_options(acp_options INTERFACE -Wl,--as-needed -Wl,-z,relro,-z,now)
if(ACP_SANITIZE)
    set(acp_sanitize -fsanitize=${ACP_SANITIZE} -fno-omit-frame-pointer)
    if(ACP_SANITIZE MATCHES "undefined")
        list(APPEND acp_sanitize -fno-sanitize-recover=all)
    endif()
    target_compile_options(acp_options INTERFACE ${acp_sanitize})
    target_link_options(acp_options INTERFACE ${acp_sanitize})
endif()

if(ACP_FUZZ)
    # Everything tells the fuzzer where it goes; only the targets of tests/fuzz have its main().
    target_compile_options(acp_options INTERFACE -fsanitize=fuzzer-no-link)
    target_link_options(acp_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# The standard headers that most files include, read once for all files of targets with the same settings: parsing them is
# half of the time it takes to compile a small file. Sources include what they use all the same: lint compiles them
# without.
set(ACP_STANDARD_HEADERS <algorithm> <array> <atomic> <bit> <cerrno> <charconv> <chrono> <cstddef> <cstdint> <cstdio>
    <cstdlib> <cstring> <deque> <functional> <limits> <map> <memory> <mutex> <new> <optional> <set> <span> <string>
    <string_view> <thread> <unordered_map> <utility> <variant> <vector>)
list(TRANSFORM ACP_STANDARD_HEADERS REPLACE "^.+$" "$<$<COMPILE_LANGUAGE:CXX>:\\0>")

# acp_precompile(group target): the target, whose settings are those of all others in the group, shares their header,
# made by the first of them, or by the target acp_precompiled_<group> where there is one.
function(acp_precompile group target)
    get_target_property(sources_in_c ${target} SOURCES)
    list(FILTER sources_in_c INCLUDE REGEX "\\.c$")
    if(sources_in_c OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        return()
    endif()
    # For ccache; and what gcc 12 no longer keeps silent about in a precompiled header is the bug named above.
    target_compile_options(${target} PRIVATE
        "$<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess;-Wno-stringop-overflow;-Wno-array-bounds>")
    get_property(first GLOBAL PROPERTY ACP_PRECOMPILED_${group})
    if(first)
        target_precompile_headers(${target} REUSE_FROM ${first})
    else()
        target_precompile_headers(${target} PRIVATE ${ACP_STANDARD_HEADERS} ${ARGN})
        set_property(GLOBAL PROPERTY ACP_PRECOMPILED_${group} ${target})
    endif()
endfunction()

# acp_precompile_for_programs(group header...): the header of a group of programs that are compiled quickly. A program of
# its own makes it, since the others wait until that one is built; and a library would be compiled as a library.
function(acp_precompile_for_programs group)
    set(source "${PROJECT_BINARY_DIR}/generated/precompiled_${group}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "int main() {}\n")
    add_executable(acp_precompiled_${group} EXCLUDE_FROM_ALL "${source}")
    acp_configure(acp_precompiled_${group})
    acp_compile_quickly(acp_precompiled_${group})
    list(TRANSFORM ARGN REPLACE "^.+$" "$<$<COMPILE_LANGUAGE:CXX>:\\0>" OUTPUT_VARIABLE headers)
    acp_precompile(${group} acp_precompiled_${group} ${headers})
endfunction()

# Gives a target the project's settings without showing them to those who link it.
function(acp_configure target)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:acp_options>)
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF
        POSITION_INDEPENDENT_CODE ON
        INTERPROCEDURAL_OPTIMIZATION ${ACP_LTO}
        INSTALL_RPATH "${ACP_INSTALL_RPATH}")
endfunction()

# For what is not measured: the header-only libraries of tools and tests take minutes at -O3, and their speed is nobody's
# concern. With the sanitizers' checks in them even -O1 takes twice as long as none; fuzz targets want their speed.
function(acp_compile_quickly name)
    if(CMAKE_BUILD_TYPE STREQUAL "Release")
        target_compile_options(${name} PRIVATE -O1)
    elseif(ACP_SANITIZE AND NOT ACP_FUZZ)
        target_compile_options(${name} PRIVATE -O0)
    endif()
endfunction()
