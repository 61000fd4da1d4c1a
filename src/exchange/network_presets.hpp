// SPDX-License-Identifier: BSD-3-Clause
// Networks by name: the torus of paper 003 with the rates that were fitted to its measurements, and shapes of other machines with
// round numbers of their data sheets, to plan and simulate on before anything was measured. Pure; any thread.
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
    std::string_view sizes;  // what the numbers after the name mean
    std::string_view meaning;
    std::vector<std::uint32_t> default_sizes;
};

[[nodiscard]] std::span<const NetworkPreset> network_presets();

// The network of a preset.   sizes  empty: the preset's default sizes
// Errors: argument (no such preset, the message names those there are; a wrong number of sizes), limit.
[[nodiscard]] base::Result<NetworkModel> preset_network(std::string_view name,
                                                        std::vector<std::uint32_t> sizes = {});

}  // namespace acp::exchange
