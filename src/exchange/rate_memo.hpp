// SPDX-License-Identifier: BSD-3-Clause
// A cache of how flows share the links and engines of a problem (NodeProblem::share): a planner
// asks for the same few sets of flows repeatedly, and most other sets share in one of the same few
// ways. Returns exactly the problem's results. Knows no plan. One thread per object, which keeps
// its memory for the next problem.
// Tests: tests/unit/exchange/rate_memo_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "exchange/node_problem.hpp"

namespace acp::exchange {

// The share of one flow among those that run at once.
struct FlowShare {
    double rate = 0;         // bytes per microsecond
    double us_per_byte = 0;  // its inverse
};

//   shares  receives one per flow
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

    // Clears the cache and answers for this problem, whose address it keeps until the next call.
    //   steps_max  after this many steps steps_left() is 0; calls are answered nevertheless
    void begin(const NodeProblem& problem, std::uint64_t steps_max = steps_unbounded) {
        problem_ = &problem;
        steps_ = 0;
        steps_max_ = steps_max;
        keys_.assign(entries, nothing);
        shares_.resize(entries);
    }

    [[nodiscard]] const NodeProblem& problem() const noexcept { return *problem_; }

    // The work done for the problem since begin(), for nearly all of a planner's work is here or
    // between two calls of share(). Each call is one step; a miss adds one step per flow, or two if
    // the answer cannot be kept. A step takes some 15 ns (bench/plan_speed).
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

    // How many more steps the planner should make.
    [[nodiscard]] std::uint64_t steps_left() const noexcept {
        return steps_max_ - std::min(steps_, steps_max_);
    }

    // The shares of flows, as NodeProblem::share() computes them. Returns an array with one per
    // flow, valid until the next call.
    //   count  1 .. engines_max
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
            // If several keys map to one entry, the first one stays there, and the rest replace
            // each other in the entry beside it.
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
    // 2^64 over the golden ratio (Knuth, 6.4)
    static constexpr std::uint64_t spreading = 0x9E37'79B9'7F4A'7C15;

    const NodeProblem* problem_ = nullptr;
    std::uint64_t steps_ = 0;
    std::uint64_t steps_max_ = steps_unbounded;
    std::vector<std::uint64_t> keys_;  // NodeProblem::sharing_key(), by entry
    std::vector<std::array<FlowShare, keyed_flows_max>> shares_;  // the answer for each key
    std::array<FlowShare, engines_max> unremembered_{};
};

}  // namespace acp::exchange
