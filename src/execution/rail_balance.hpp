// SPDX-License-Identifier: BSD-3-Clause
// Which rail carries which parcel of a plan, round by round, where several rails lead to every other node and no network says how they differ. Each
// rail's time of a round goes to a RailLearner, and the next round is given out by what that knows: a rail that has become slow gets less. Only
// the sender need know, since a parcel goes to the same place by whichever rail. Reads no clock. For the thread that carries out the plan.
// Contract: begin(), then note_sent() of each balanced parcel, then look() as often as the caller looks, until is_looking() is false or the next
// begin(), which drops what was not seen to end. A rail whose end was seen late, because the program did not look, teaches nothing.
// Tests: tests/unit/execution/rail_balance_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "exchange/rail_learner.hpp"

namespace acp::execution {

class RailBalance {
public:
    // Shorter parcels stay where they are: their time says nothing of the rail.
    static constexpr std::uint64_t bytes_min = 8192;

    //   parcel_bytes  of all parcels in the order in which they go
    RailBalance(unsigned rails, std::vector<std::uint64_t> parcel_bytes);

    // Whether there is anything to choose: several rails, and several parcels long enough.
    [[nodiscard]] bool is_on() const noexcept { return is_on_; }

    // A round begins to be sent. Throws std::bad_alloc.
    void begin(std::uint64_t now_ns);

    // The rail of a parcel in this round.
    [[nodiscard]] unsigned rail(std::size_t parcel) const noexcept { return rail_of_[parcel]; }

    // It was handed over under this handle. Of one rail they end in about that order.
    void note_sent(std::size_t parcel, std::uint64_t handle) noexcept;

    // Whether the end of some rail was not seen yet.
    [[nodiscard]] bool is_looking() const noexcept { return rails_under_way_ != 0; }

    //   has_ended(handle)  of a parcel
    template <typename HasEnded>
    void look(std::uint64_t now_ns, const HasEnded& has_ended) {
        for (unsigned rail = 0; rail < parts_.size(); ++rail) {
            Part& part = parts_[rail];
            if (part.last_handle != 0 && has_ended(part.last_handle)) end(rail, now_ns);
        }
        looked_ns_ = now_ns;
    }

    // What is known of a rail, in bytes per microsecond; 0: nothing.
    [[nodiscard]] double rate(unsigned rail) const noexcept { return learner_.rate(rail); }

    [[nodiscard]] unsigned rails() const noexcept { return learner_.rails(); }

private:
    // Of a round, what one rail carries.
    struct Part {
        std::uint64_t bytes = 0;
        std::uint64_t last_handle = 0;  // 0: nothing under way
    };

    void end(unsigned rail, std::uint64_t now_ns) noexcept;

    exchange::RailLearner learner_;
    std::vector<std::uint64_t> parcel_bytes_;  // 0: of a parcel that is not balanced
    std::vector<unsigned> rail_of_;
    std::vector<Part> parts_;
    std::uint64_t begun_ns_ = 0;
    std::uint64_t looked_ns_ = 0;
    unsigned rails_under_way_ = 0;
    bool is_on_ = false;
};

}  // namespace acp::execution
