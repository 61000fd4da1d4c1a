# SPDX-License-Identifier: BSD-3-Clause
# Serves calls. Libraries that it loads get acp_sys_write() and so on from the program itself, also where they are
# linked with libacp.
target_link_libraries(acp-worker PRIVATE acp_worker)
set_target_properties(acp-worker PROPERTIES ENABLE_EXPORTS ON)
