# SPDX-License-Identifier: BSD-3-Clause
# The figure includes <ve_offload.h>, and does not use the arguments of main.
target_include_directories(veo_figure2 PRIVATE "${PROJECT_SOURCE_DIR}/include/acp/veo")
target_compile_options(veo_figure2 PRIVATE -Wno-unused-parameter)
