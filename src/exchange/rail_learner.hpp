// SPDX-License-Identifier: BSD-3-Clause
// Assigns pieces of messages to rails that all lead to the same places: each piece to the rail that
// would finish it first, by the rails' recent rates. The caller reports how long each rail took for
// its part. A rail that becomes slow gets fewer bytes, and more again when it has recovered. Reads
// no clock. One thread per object.
// Source: list scheduling on machines of different speeds, O. Ibarra and C. Kim, Heuristic
// algorithms for scheduling independent tasks on nonidentical processors, 1977.
// Tests: tests/unit/exchange/rail_learner_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace acp::exchange {

class RailLearner {
public:
    static constexpr unsigned idle_max = 64;

    //   rails  >= 1; taken to be equally fast at first
    explicit RailLearner(unsigned rails);

    // The rail of each piece in the next exchange. Pieces of 0 bytes get rail 0. A rail without a
    // piece in `idle_max` exchanges gets the shortest one; otherwise its recovery would never be
    // measured.
    [[nodiscard]] std::vector<unsigned> assign(std::span<const std::uint64_t> piece_bytes);

    // Notes that a rail has sent its part of an exchange. Ignores 0 bytes or no time.
    void note(unsigned rail, std::uint64_t bytes, double took_us);

    // Bytes per microsecond; 0: not measured yet.
    [[nodiscard]] double rate(unsigned rail) const noexcept { return rates_[rail]; }

    [[nodiscard]] unsigned rails() const noexcept { return static_cast<unsigned>(rates_.size()); }

private:
    [[nodiscard]] std::vector<double> believed() const;

    void try_idle_rail(std::span<const std::uint64_t> piece_bytes, std::vector<unsigned>& rails);

    std::vector<double> rates_;
    std::vector<unsigned> idle_;  // exchanges since each rail last had a piece
};

}  // namespace acp::exchange
