// SPDX-License-Identifier: BSD-3-Clause
// Which rail carries which parcel of a plan, round by round, where several rails lead to every other node. Each
// rail's time of a round goes to a RailLearner, and the next round is given out by what that knows: a rail that has become slow gets less. A plan
// for a network has chosen the rails, which stay as long as what was learned does not say that the parcels are better given out anew. Only
// the sender need know, since a parcel goes to the same place by whichever rail. Reads no clock. For the thread that carries out the plan.
// Contract: begin(), then note_sent() of each balanced parcel, then look() as often as the caller looks, until is_looking() is false or the next
// begin(). A rail whose end was seen late, because the program computed or slept, teaches nothing; one that has not ended by the next begin() was at
// most as fast as that says.
// Tests: tests/unit/execution/rail_balance_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "exchange/rail_learner.hpp"

namespace acp::execution {

class RailBalance {
public:
    // Shorter parcels go where the plan has them: their time is that of handing them over, and says nothing of the rail.
    static constexpr std::uint64_t bytes_min = 8192;

    //   parcel_bytes  of all parcels in the order in which they go
    //   planned       the rail of each by the plan; empty: there is no plan for a network
    RailBalance(unsigned rails,
                std::vector<std::uint64_t> parcel_bytes,
                std::vector<unsigned> planned = {});

    // Whether there is anything to choose: several rails, and several parcels long enough.
    [[nodiscard]] bool is_on() const noexcept { return is_on_; }

    // A round begins to be sent. Throws std::bad_alloc.
    void begin(std::uint64_t now_ns);

    // Whether this class gives the parcel a rail.
    [[nodiscard]] bool has(std::size_t parcel) const noexcept { return parcel_bytes_[parcel] != 0; }

    // The rail of such a parcel in this round.
    [[nodiscard]] unsigned rail(std::size_t parcel) const noexcept { return rail_of_[parcel]; }

    // Such a parcel was handed over under this handle, which is not 0. Throws std::bad_alloc.
    void note_sent(std::size_t parcel, std::uint64_t handle);

    // Whether the end of some rail was not seen yet.
    [[nodiscard]] bool is_looking() const noexcept { return rails_under_way_ != 0; }

    //   has_ended(handle)  of a parcel
    template <typename HasEnded>
    void look(std::uint64_t now_ns, const HasEnded& has_ended) {
        for (unsigned rail = 0; rail < parts_.size(); ++rail) {
            Part& part = parts_[rail];
            if (part.under_way.empty()) continue;
            // In any order, as they go to different nodes.
            while (!part.under_way.empty() && has_ended(part.under_way.back()))
                part.under_way.pop_back();
            if (part.under_way.empty()) end(rail, now_ns);
        }
        looked_ns_ = now_ns;
    }

    // What is known of a rail, in bytes per microsecond; 0: nothing.
    [[nodiscard]] double rate(unsigned rail) const noexcept { return learner_.rate(rail); }

    [[nodiscard]] unsigned rails() const noexcept { return learner_.rails(); }

    // Whether the last round went by other rails than those of the plan.
    [[nodiscard]] bool has_left_plan() const noexcept { return has_left_plan_; }

private:
    // Of a round, what one rail carries.
    struct Part {
        std::uint64_t bytes = 0;
        std::vector<std::uint64_t> under_way;  // handles, of which the last one was not seen to end
    };

    void end(unsigned rail, std::uint64_t now_ns) noexcept;
    [[nodiscard]] bool is_plan_good(std::span<const unsigned> instead) const;
    [[nodiscard]] double expected_us(std::span<const unsigned> rails) const;

    exchange::RailLearner learner_;
    std::vector<std::uint64_t> parcel_bytes_;  // 0: of a parcel that is not balanced
    std::vector<unsigned> planned_;
    std::vector<unsigned> rail_of_;
    std::vector<Part> parts_;
    std::uint64_t begun_ns_ = 0;
    std::uint64_t looked_ns_ = 0;
    unsigned rails_under_way_ = 0;
    bool is_on_ = false;
    bool has_left_plan_ = false;
};

}  // namespace acp::execution
