// SPDX-License-Identifier: BSD-3-Clause
// Simulated annealing on the queues of a plan: swaps, moves, cuts and joins pieces, and takes a
// worse plan with a probability that shrinks. Same seed, same result. One thread per object, which
// keeps its memory.
// Tests: tests/unit/exchange/annealing_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "base/random.hpp"
#include "exchange/engine_queues.hpp"

namespace acp::exchange {

struct AnnealingOptions {
    unsigned evaluations = 2000;
    double good_enough = 0;  // stops when the exchange takes no longer
    bool may_split = true;
    std::uint64_t seed = 1;
};

class Annealing {
public:
    // Returns the time of the exchange, never more than that of the given queues.
    //   queues  changed to the best plan found
    double improve(RateMemo& rates, const AnnealingOptions& options, EngineQueues& queues);

private:
    using EngineEnds = std::array<double, engines_max>;

    // A number 0 .. bound - 1.
    [[nodiscard]] std::uint32_t any(std::size_t bound) noexcept {
        return static_cast<std::uint32_t>((random_() >> 32) * bound >> 32);
    }

    // A queue of trial_ that is to be changed.
    std::vector<QueuedPiece>& changed(unsigned engine) noexcept {
        changed_ |= 1U << engine;
        return trial_.of[engine];
    }

    void copy_changed(const EngineQueues& from, EngineQueues& to);
    bool is_taken(double worse, double temperature) noexcept;
    // Changes trial_. False: the change that was drawn is not possible.
    bool change(unsigned engines, bool may_split);
    bool swap_pieces(unsigned engine, unsigned other, std::size_t place);
    bool split(unsigned engine, unsigned other, std::size_t place);
    // Moves bytes between two pieces of one message, or joins them.
    bool shift(unsigned engine, std::size_t place);
    void insert(unsigned engine, const QueuedPiece& piece);
    void remove(unsigned engine, std::size_t place);
    [[nodiscard]] double measure(const NodeProblem& problem,
                                 double transfer,
                                 const EngineEnds& ends,
                                 std::size_t pieces) const;

    base::Random random_{1};
    EngineQueues now_, trial_;
    unsigned changed_ = 0;  // engines whose queues differ, as bits
    EngineEnds ends_{};     // ends of the engines in now_
};

}  // namespace acp::exchange
