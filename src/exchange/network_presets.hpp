// SPDX-License-Identifier: BSD-3-Clause
// Networks by name: the torus of paper 003 with the rates fitted to its measurements, and shapes of
// other machines with round numbers from their data sheets, for planning and simulating before
// anything was measured. Pure; any thread.
// Tests: tests/unit/exchange/network_presets_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "exchange/network_model.hpp"

namespace acp::exchange {

inline constexpr double tofu_link_rate = 5067;  // fitted to paper 003; the data sheet says 5000

struct NetworkPreset {
    std::string_view name;
    std::string_view sizes;  // the meaning of the numbers after the name
    std::string_view meaning;
    std::vector<std::uint32_t> default_sizes;
};

[[nodiscard]] std::span<const NetworkPreset> network_presets();

// The network of a preset. Errors: argument (no such preset, the message lists all; a wrong number
// of sizes), limit.
//   sizes  empty: the preset's default sizes
[[nodiscard]] base::Result<NetworkModel> preset_network(std::string_view name,
                                                        std::vector<std::uint32_t> sizes = {});

}  // namespace acp::exchange
