# SPDX-License-Identifier: BSD-3-Clause
# acprun talks to agents, and carries output of several agents as an agent carries that of its ranks.
target_sources(acprun PRIVATE "${PROJECT_SOURCE_DIR}/tools/acp-agent/output.cpp"
                              "${PROJECT_SOURCE_DIR}/tools/acp-agent/line_gate.cpp")
target_link_libraries(acprun PRIVATE acp_launch acp_job)
