// SPDX-License-Identifier: BSD-3-Clause
// The one table of the numbered operations that the layers of this library have. Ranks give it to their global memory
// access and their own gateways, agents to the gateways of nodes: both are linked to this layer, so both have the same
// table. A layer that has operations adds its rows in library_operations.cpp. Any thread.
#pragma once

#include "local/numbered_operation.hpp"

namespace acp::operations {

// The same object at each call; made with the first one.
[[nodiscard]] const local::OperationTable& library_operations() noexcept;

}  // namespace acp::operations
