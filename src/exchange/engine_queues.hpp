// SPDX-License-Identifier: BSD-3-Clause
// The queues of a node's engines while a plan is made: pieces of messages in the order in which
// each engine sends them, and their times. Knows no scheduler. One thread per object.
// Tests: tests/unit/exchange/engine_queues_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "exchange/node_problem.hpp"
#include "exchange/rate_memo.hpp"

namespace acp::exchange {

struct QueuedPiece {
    double bytes = 0;
    std::uint32_t message = 0;  // index in NodeProblem::messages
    ClassIndex route_class = 0;
};

// One queue per engine; queues of engines that the node does not have are empty.
struct EngineQueues {
    std::array<std::vector<QueuedPiece>, engines_max> of;

    void clear() noexcept {
        for (auto& queue : of) queue.clear();
    }

    [[nodiscard]] std::size_t pieces() const noexcept {
        std::size_t count = 0;
        for (const auto& queue : of) count += queue.size();
        return count;
    }
};

// When each piece begins and ends.
struct PieceTimes {
    std::array<std::vector<double>, engines_max> begin_us, end_us;

    void make_room(const EngineQueues& queues) {
        for (unsigned e = 0; e < engines_max; ++e) {
            begin_us[e].assign(queues.of[e].size(), 0);
            end_us[e].assign(queues.of[e].size(), 0);
        }
    }
};

// The time from the first byte to the last.
//   engine_end_us  receives the end of each engine; engines_max of them
//   pieces         nullptr, or receives the times of all pieces
[[nodiscard]] double transfer_us(const NodeProblem& problem,
                                 const EngineQueues& queues,
                                 std::array<double, engines_max>& engine_end_us,
                                 PieceTimes* pieces = nullptr);

// transfer_us() of the problem of `rates`, faster.
[[nodiscard]] double transfer_us(RateMemo& rates,
                                 const EngineQueues& queues,
                                 std::array<double, engines_max>& engine_end_us);

// The time of an exchange: that of the transfer, plus the costs of the start and of each command.
[[nodiscard]] inline double exchange_us(const NodeProblem& problem,
                                        double transfer,
                                        std::size_t commands) noexcept {
    return problem.node().start_us + problem.node().command_us * static_cast<double>(commands) +
           transfer;
}

[[nodiscard]] double exchange_us(const NodeProblem& problem, const EngineQueues& queues);
[[nodiscard]] double exchange_us(RateMemo& rates, const EngineQueues& queues);

}  // namespace acp::exchange
