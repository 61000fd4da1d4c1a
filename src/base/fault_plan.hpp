// SPDX-License-Identifier: BSD-3-Clause
// The meaning of ACP_FAULT: which outgoing datagrams a gateway loses, duplicates, delays, reorders or corrupts on purpose.
// Contains the text form and the plan; engine/fault_injector.hpp applies it. Knows no datagram and no clock. Pure; any thread.
// Tests: tests/unit/base/fault_plan_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace acp::base {

inline constexpr std::uint32_t fault_reorder_max = 256;  // most datagrams that may overtake one
inline constexpr std::uint32_t fault_burst_max = 10'000;
inline constexpr std::size_t fault_blackholes_max = 8;
inline constexpr std::uint32_t fault_rail_max = 3;

struct FaultPlan {
    // A time in which no datagram leaves. Nanoseconds since the gateway's first datagram; end > begin.
    struct Blackhole {
        std::uint64_t begin_ns = 0;
        std::uint64_t end_ns = 0;
    };

    double loss = 0;             // share of datagrams, 0 .. 1
    double duplicate = 0;        // share of datagrams
    double corrupt = 0;          // share of datagrams in which one bit is inverted
    std::uint32_t burst = 1;     // datagrams lost in a row; `loss` stays the overall share
    std::uint32_t reorder = 0;   // one datagram in eight is overtaken by up to this many
    std::uint64_t delay_ns = 0;  // added to every datagram
    std::uint64_t seed = 1;      // two runs with one seed treat the n-th datagram alike
    std::vector<Blackhole> blackholes;
    std::optional<std::uint32_t> rail;  // the only rail with these faults; nullopt: all have them

    // The faults of one rail.
    [[nodiscard]] FaultPlan of_rail(std::uint32_t number) const {
        return rail && *rail != number ? FaultPlan{} : *this;
    }

    [[nodiscard]] bool is_harmless() const noexcept {
        return loss == 0 && duplicate == 0 && corrupt == 0 && reorder == 0 && delay_ns == 0 &&
               blackholes.empty();
    }
};

inline constexpr std::string_view fault_plan_terms =
    "a list of loss=, dup=, corrupt= (each 0..1), burst=, reorder=, delay=TIME, "
    "blackhole=TIME..TIME, seed=, rail=0..3; a TIME ends in ns, us, ms or s";
// A shorter form of the same, for a table.
inline constexpr std::string_view fault_plan_type = "loss=P,dup=P,...";

// Parses "loss=0.01,dup=0.02,reorder=16,delay=1ms,blackhole=2s..3.5s,seed=7"; "" is a plan without faults. nullopt for an
// unknown word, for a word given twice (except blackhole), and for an invalid value.
[[nodiscard]] std::optional<FaultPlan> parse_fault_plan(std::string_view text);

}  // namespace acp::base
