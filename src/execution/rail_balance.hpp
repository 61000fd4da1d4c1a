// SPDX-License-Identifier: BSD-3-Clause
// Chooses which rail carries which parcel of a plan, round by round, where several rails lead to
// every other node. A RailLearner gets the time that each rail took for a round, and distributes
// the next round accordingly: a rail that has become slow gets fewer bytes. Where a plan for a
// network has chosen rails, they stay until the learned rates predict a faster distribution. Only
// the sender needs to know, for the destination of a parcel is the same by each rail. Reads no
// clock. Used by the thread that carries out the plan.
// Contract: begin(), then note_sent() of each balanced parcel, then look() at every poll until
// is_looking() is false or the next begin(). A completion that was seen late, because the program
// computed or slept, is not measured. A rail with parcels in flight at the next begin() was at most
// as fast as the bytes it had by the time that has passed.
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
    // Shorter parcels keep the rail of the plan: issuing them takes longer than the rail, so their
    // time does not measure it.
    static constexpr std::uint64_t bytes_min = 8192;

    //   parcel_bytes  of all parcels, in send order
    //   planned       the plan's rail of each parcel; empty: the plan is not for a network
    RailBalance(unsigned rails,
                std::vector<std::uint64_t> parcel_bytes,
                std::vector<unsigned> planned = {});

    // Whether there is anything to choose: several rails, and several parcels long enough.
    [[nodiscard]] bool is_on() const noexcept { return is_on_; }

    // Starts a round: assigns a rail to each parcel. Throws std::bad_alloc.
    void begin(std::uint64_t now_ns);

    // Whether this class chooses the parcel's rail.
    [[nodiscard]] bool has(std::size_t parcel) const noexcept { return parcel_bytes_[parcel] != 0; }

    // The rail of a parcel for which has() is true, in this round.
    [[nodiscard]] unsigned rail(std::size_t parcel) const noexcept { return rail_of_[parcel]; }

    // The parcel, for which has() is true, was issued under this handle, which is not 0. Throws
    // std::bad_alloc.
    void note_sent(std::size_t parcel, std::uint64_t handle);

    // Whether some rail has a parcel in flight.
    [[nodiscard]] bool is_looking() const noexcept { return rails_under_way_ != 0; }

    // Polls for completed parcels.
    //   has_ended(handle)  whether the parcel with this handle has completed
    template <typename HasEnded>
    void look(std::uint64_t now_ns, const HasEnded& has_ended) {
        for (unsigned rail = 0; rail < parts_.size(); ++rail) {
            Part& part = parts_[rail];
            if (part.under_way.empty()) continue;
            // Parcels of a rail complete in any order, as they go to different nodes.
            while (!part.under_way.empty() && has_ended(part.under_way.back()))
                part.under_way.pop_back();
            if (part.under_way.empty()) end(rail, now_ns);
        }
        looked_ns_ = now_ns;
    }

    // The learned rate of a rail in bytes per microsecond; 0: unknown.
    [[nodiscard]] double rate(unsigned rail) const noexcept { return learner_.rate(rail); }

    [[nodiscard]] unsigned rails() const noexcept { return learner_.rails(); }

    // Whether the last round went by other rails than those of the plan.
    [[nodiscard]] bool has_left_plan() const noexcept { return has_left_plan_; }

private:
    // What one rail carries in a round.
    struct Part {
        std::uint64_t bytes = 0;
        // handles of parcels in flight; the last one had not completed at the last poll
        std::vector<std::uint64_t> under_way;
    };

    void end(unsigned rail, std::uint64_t now_ns) noexcept;
    [[nodiscard]] bool is_plan_good(std::span<const unsigned> instead) const;
    [[nodiscard]] double expected_us(std::span<const unsigned> rails) const;

    exchange::RailLearner learner_;
    std::vector<std::uint64_t> parcel_bytes_;  // 0: the parcel is not balanced
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
