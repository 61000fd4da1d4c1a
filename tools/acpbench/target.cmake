# SPDX-License-Identifier: BSD-3-Clause
# acpbench measures and draws the exchanges of a paper, by all schedulers that its plans are compared with.
target_link_libraries(acpbench PRIVATE acp_exchange_study)
