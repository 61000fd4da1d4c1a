// SPDX-License-Identifier: BSD-3-Clause
// Remembers how flows share the links and engines of a problem (NodeProblem::share): a planner asks for the same few flows again and again, and most
// others share in one of the same few ways. Gives exactly what the problem would. Knows no plan. One thread per object, which keeps its memory for the next problem.
// Tests: tests/unit/exchange/rate_memo_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "exchange/node_problem.hpp"

namespace acp::exchange {

// Of one of the flows that run at once.
struct FlowShare {
    double rate = 0;         // bytes per microsecond
    double us_per_byte = 0;  // its inverse
};

//   shares  set, one per flow
inline void find_shares(const NodeProblem& problem,
                        const ClassIndex* flows,
                        unsigned count,
                        FlowShare* shares) noexcept {
    double rates[engines_max];
    problem.share(flows, count, rates);
    for (unsigned i = 0; i < count; ++i) shares[i] = {rates[i], 1 / rates[i]};
}

class RateMemo {
public:
    static constexpr std::uint64_t steps_unbounded = ~std::uint64_t{0};

    RateMemo() = default;

    explicit RateMemo(const NodeProblem& problem) { begin(problem); }

    // Forgets all, and answers for this problem, whose address it keeps until the next call.
    //   steps_max  after which steps_left() is 0; it answers nevertheless
    void begin(const NodeProblem& problem, std::uint64_t steps_max = steps_unbounded) {
        problem_ = &problem;
        steps_ = 0;
        steps_max_ = steps_max;
        keys_.assign(entries, nothing);
        shares_.resize(entries);
    }

    [[nodiscard]] const NodeProblem& problem() const noexcept { return *problem_; }

    // The work that was done for the problem since begin(), as whoever plans does nearly all of it here or between two questions: each question
    // is one step, and the flows of one whose answer was not known are as many more, or twice as many where it cannot be kept. A step takes some 15 ns (bench/plan_speed).
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

    // How much more whoever plans is to do.
    [[nodiscard]] std::uint64_t steps_left() const noexcept {
        return steps_max_ - std::min(steps_, steps_max_);
    }

    // What each flow has, as NodeProblem::share says.   count  1 .. engines_max
    // Returns an array with one for each flow, valid until the next call.
    const FlowShare* share(const ClassIndex* flows, unsigned count) noexcept {
        ++steps_;
        if (count > keyed_flows_max) [[unlikely]] {
            steps_ += std::uint64_t{2} * count;
            find_shares(*problem_, flows, count, unremembered_.data());
            return unremembered_.data();
        }
        const std::uint64_t key = problem_->sharing_key(flows, count);
        std::size_t entry = key * spreading >> (64 - entries_log2);
        if (keys_[entry] != key) [[unlikely]] {
            // Of keys that meet in one entry the first stays, and the others take turns beside it.
            if (keys_[entry] != nothing) entry ^= 1;
            if (keys_[entry] != key) {
                steps_ += count;
                find_shares(*problem_, flows, count, shares_[entry].data());
                keys_[entry] = key;
            }
        }
        return shares_[entry].data();
    }

private:
    static constexpr unsigned entries_log2 = 11;
    static constexpr std::size_t entries = std::size_t{1} << entries_log2;
    static constexpr std::uint64_t nothing = 0;  // the key of no flows
    static constexpr std::uint64_t spreading =
        0x9E37'79B9'7F4A'7C15;  // 2^64 over the golden ratio (Knuth, 6.4)

    const NodeProblem* problem_ = nullptr;
    std::uint64_t steps_ = 0;
    std::uint64_t steps_max_ = steps_unbounded;
    std::vector<std::uint64_t> keys_;                             // of NodeProblem, by entry
    std::vector<std::array<FlowShare, keyed_flows_max>> shares_;  // of these
    std::array<FlowShare, engines_max> unremembered_{};
};

}  // namespace acp::exchange
