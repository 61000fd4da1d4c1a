# SPDX-License-Identifier: BSD-3-Clause
# The random patterns are those of the planner's tests.
target_include_directories(plan_speed PRIVATE "${PROJECT_SOURCE_DIR}/tests/unit/exchange")
