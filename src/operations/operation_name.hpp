// SPDX-License-Identifier: BSD-3-Clause
// The names of numbered operations, for reports of waits (node/awaited.hpp). Any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace acp::operations {

// The name of an operation of library_operations(); "" for an unknown number.
[[nodiscard]] std::string_view name_of_operation(std::uint32_t number);

}  // namespace acp::operations
