# SPDX-License-Identifier: BSD-3-Clause
# An agent talks to acprun.
target_link_libraries(acp-agent PRIVATE acp_launch)
