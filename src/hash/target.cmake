# SPDX-License-Identifier: BSD-3-Clause
# xxHash, of which its header is all that is needed. The build has a copy of that file alone: the folder that it lies in may
# have the headers of another system, where this is a build for another architecture.
find_path(ACP_XXHASH_INCLUDE xxhash.h DOC "Folder of xxHash's header xxhash.h")
if(NOT ACP_XXHASH_INCLUDE)
    message(FATAL_ERROR "There is no xxhash.h, the header of xxHash 0.8 or newer. Install it (Debian: apt-get install "
        "libxxhash-dev; Fedora: dnf install xxhash-devel), or name its folder: -DACP_XXHASH_INCLUDE=FOLDER")
endif()
configure_file("${ACP_XXHASH_INCLUDE}/xxhash.h" "${PROJECT_BINARY_DIR}/xxhash/xxhash.h" COPYONLY)
target_include_directories(acp_hash SYSTEM PRIVATE "${PROJECT_BINARY_DIR}/xxhash")
target_compile_definitions(acp_hash PRIVATE XXH_INLINE_ALL)
