// SPDX-License-Identifier: BSD-3-Clause
// Divides messages among rails that all lead to the same places, in proportion to how fast each of them was lately, so that all end at the
// same time. Is told how long each rail took for its part; a rail that becomes slow gets less, and more when it has recovered. Reads no
// clock. One thread per object.
// Source: the division is R. McNaughton's (Scheduling with deadlines and loss functions, 1959), for machines of different speeds.
// Tests: tests/unit/exchange/rail_learner_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exchange/send_order.hpp"

namespace acp::exchange {

class RailLearner {
public:
    //   rails  >= 1; all are thought to be equally fast
    explicit RailLearner(unsigned rails);

    // What each rail is to send, in order: together all messages, of which fewer than there are rails are cut.
    [[nodiscard]] std::vector<std::vector<SentPiece>> divide(
        std::span<const std::uint64_t> message_bytes) const;

    // A rail has sent its part of an exchange. Nothing is learned of 0 bytes or no time.
    void note(unsigned rail, std::uint64_t bytes, double took_us);

    // Bytes per microsecond; 0: nothing was sent yet.
    [[nodiscard]] double rate(unsigned rail) const noexcept { return rates_[rail]; }

private:
    [[nodiscard]] std::vector<double> shares() const;

    std::vector<double> rates_;
};

}  // namespace acp::exchange
