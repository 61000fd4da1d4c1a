// SPDX-License-Identifier: BSD-3-Clause
// What ACP_FAULT asks for: which datagrams a gateway loses, doubles, delays, reorders or damages on their way
// out, on purpose. The text and the plan it stands for; transport/fault_injector.hpp carries it out. Knows no
// datagram and no clock. Pure; any thread. Tests: tests/unit/base/fault_plan_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace acp::base {

inline constexpr std::uint32_t fault_reorder_max = 256;  // datagrams one may be overtaken by
inline constexpr std::uint32_t fault_burst_max = 10'000;
inline constexpr std::size_t fault_blackholes_max = 8;

struct FaultPlan {
    // Nothing leaves in it. Nanoseconds since the gateway's first datagram; end > begin.
    struct Blackhole {
        std::uint64_t begin_ns = 0;
        std::uint64_t end_ns = 0;
    };

    double loss = 0;             // of datagrams, 0 .. 1
    double duplicate = 0;        // likewise
    double corrupt = 0;          // likewise: one bit is turned over
    std::uint32_t burst = 1;     // datagrams lost in a row; `loss` stays the share of all
    std::uint32_t reorder = 0;   // one in eight is overtaken by up to so many
    std::uint64_t delay_ns = 0;  // every datagram
    std::uint64_t seed = 1;      // same seed, same fate of the n-th datagram
    std::vector<Blackhole> blackholes;

    [[nodiscard]] bool is_harmless() const noexcept {
        return loss == 0 && duplicate == 0 && corrupt == 0 && reorder == 0 && delay_ns == 0 &&
               blackholes.empty();
    }
};

inline constexpr std::string_view fault_plan_terms =
    "a list of loss=, dup=, corrupt= (each 0..1), burst=, reorder=, delay=TIME, "
    "blackhole=TIME..TIME, seed=; a TIME ends in ns, us, ms or s";
// The same, briefly, for a table.
inline constexpr std::string_view fault_plan_type = "loss=P,dup=P,...";

// "loss=0.01,dup=0.02,reorder=16,delay=1ms,blackhole=2s..3.5s,seed=7"; "" is the plan that does nothing.
// nullopt for an unknown word, one given twice (but blackhole), and a value that does not fit.
[[nodiscard]] std::optional<FaultPlan> parse_fault_plan(std::string_view text);

}  // namespace acp::base
