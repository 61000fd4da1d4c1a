# SPDX-License-Identifier: BSD-3-Clause
# kmer_count reads gzip files with zlib, and draws its progress bar from a thread.
find_package(Threads REQUIRED)
if(CMAKE_CROSSCOMPILING)
    find_package(ZLIB)
else()
    find_package(ZLIB REQUIRED)
endif()
if(ZLIB_FOUND)
    target_link_libraries(kmer_count PRIVATE ZLIB::ZLIB Threads::Threads)
else()
    message(STATUS "kmer_count: not built (no zlib for the target machine)")
    set_target_properties(kmer_count PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
