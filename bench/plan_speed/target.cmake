# SPDX-License-Identifier: BSD-3-Clause
# The random patterns are those of the planner's tests, the others those of a paper.
target_include_directories(plan_speed PRIVATE "${PROJECT_SOURCE_DIR}/tests/unit/exchange")
target_link_libraries(plan_speed PRIVATE acp_exchange_study)
