# SPDX-License-Identifier: BSD-3-Clause
# Planners are tested with the patterns of a paper, and their predictions against the fluid simulator.
target_link_libraries(unit_exchange PRIVATE acp_exchange_study)
