// SPDX-License-Identifier: BSD-3-Clause
// The one table of the numbered operations of this library's layers. Ranks pass it to their global memory access and their own
// gateways, agents to the gateways of nodes: both link this layer, so both have the same table. A layer adds its rows in
// library_operations.cpp. Any thread.
#pragma once

#include "local/numbered_operation.hpp"

namespace acp::operations {

// Returns the same object at each call; the first call makes it.
[[nodiscard]] const local::OperationTable& library_operations() noexcept;

}  // namespace acp::operations
