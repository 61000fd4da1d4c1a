# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` puts where: library, headers, pkg-config file, CMake package, compiler wrappers, man
# pages, licence.
include(CMakePackageConfigHelpers)
