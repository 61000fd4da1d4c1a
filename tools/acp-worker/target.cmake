# SPDX-License-Identifier: BSD-3-Clause
# Serves calls.
target_link_libraries(acp-worker PRIVATE acp_worker)
