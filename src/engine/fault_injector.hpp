// SPDX-License-Identifier: BSD-3-Clause
// Carries out a fault plan (base/fault_plan.hpp) between the endpoint and the socket: loses, doubles, delays,
// reorders and damages datagrams on their way out. What happens to the n-th datagram depends on the seed alone.
// Untouched datagrams stay together in their burst; only a datagram with a fault is sent by itself. Knows no socket:
// it passes datagrams to a function, which may refuse them for now. Holds at most held_datagrams_max datagrams; beyond
// it they go at once. One thread.
// Tests: tests/unit/engine/fault_injector_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/fault_plan.hpp"
#include "base/random.hpp"
#include "datagram/endpoint.hpp"

namespace acp::engine {

using datagram::Time;
using datagram::Transmit;

inline constexpr std::size_t held_datagrams_max = 4096;

// The injected faults, in datagrams.
struct FaultCounters {
    std::uint64_t seen = 0;
    std::uint64_t lost = 0;
    std::uint64_t blackholed = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t corrupted = 0;
    std::uint64_t reordered = 0;
    std::uint64_t delayed = 0;
};

class FaultInjector {
public:
    // Sends datagrams as Transmit describes them. false: no room now, try the same again.
    using Send = std::function<bool(const Transmit&, datagram::MutableBytes)>;

    explicit FaultInjector(const base::FaultPlan& plan);

    // Takes a burst. Passes datagrams that are due to `send`; those that it refuses are held for flush().
    //   bytes  the datagrams; faults may change them
    void transmit(Time now, const Transmit& burst, datagram::MutableBytes bytes, const Send& send);

    // Sends what is due. false when `send` refused.
    bool flush(Time now, const Send& send);

    // When flush() has something to do; datagram::never.
    [[nodiscard]] Time deadline() const noexcept;

    [[nodiscard]] const FaultCounters& counters() const noexcept { return counters_; }

private:
    // A datagram on hold, until a time or until a number of later datagrams were seen.
    struct Held {
        Transmit transmit;
        Time due = 0;
        std::uint64_t after = 0;  // seen count at which it goes, 0: by time alone
        std::vector<std::byte> bytes;
    };

    // What happens to one datagram.
    struct Fate {
        bool is_lost = false;
        bool is_doubled = false;
        bool is_damaged = false;
        bool is_overtaken = false;
        std::uint64_t by = 0;  // how many datagrams overtake it
    };

    [[nodiscard]] bool draw(double chance) noexcept;
    [[nodiscard]] bool is_lost(Time now) noexcept;
    [[nodiscard]] Fate draw_fate(Time now) noexcept;
    [[nodiscard]] bool is_left_alone(const Fate& fate) const noexcept;
    void corrupt(datagram::MutableBytes datagram) noexcept;
    void touch(Time now,
               const Fate& fate,
               const Transmit& one,
               datagram::MutableBytes bytes,
               const Send& send);
    void pass(Time now, const Transmit& run, datagram::MutableBytes bytes, const Send& send);
    void hold(const Transmit& one, datagram::MutableBytes bytes, Time due, std::uint64_t after);

    base::FaultPlan plan_;
    base::Random random_;
    FaultCounters counters_;
    Time start_ = datagram::never;  // when the first datagram was seen
    std::uint32_t burst_left_ = 0;  // datagrams still to be lost in a row
    std::vector<Held> held_;        // sorted by arrival
};

}  // namespace acp::engine
