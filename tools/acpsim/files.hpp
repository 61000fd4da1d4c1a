// SPDX-License-Identifier: BSD-3-Clause
// Files that commands of acpsim read, and what they say of them. Main thread only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "exchange/network_model.hpp"

namespace acp::sim_tool {

// Nothing where it cannot be read, which is said.
[[nodiscard]] std::optional<std::string> content_of(const std::string& path);

// A network in a file. Nothing after a failure, which is said.
[[nodiscard]] std::optional<exchange::NetworkModel> network_in(const std::string& path);

// Says what is wrong with a file.
void complain(const std::string& path, std::string_view complaint);

// "12.50"
[[nodiscard]] std::string decimal(double value, int digits);

}  // namespace acp::sim_tool
