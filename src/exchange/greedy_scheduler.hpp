// SPDX-License-Identifier: BSD-3-Clause
// List scheduling that looks ahead at the fluid rates. A free engine starts the piece that,
// together with the running ones, earns the most worth per microsecond; a byte is worth more the
// more critical the resources are that it still has to pass. When no piece is left to start, a free
// engine takes over part of a running piece if that is worth a command. No engine is idle while a
// piece is left. One thread per object, which keeps its memory for the next problem.
// Source: docs/guide/exchange.md. Tests: tests/unit/exchange/greedy_scheduler_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "exchange/engine_queues.hpp"

namespace acp::exchange {

// How the worth of a piece follows from the resources it needs.
struct GreedyWeights {
    // Applied to a resource's load relative to the most critical one: 1, 2, 4, 8, 16.
    unsigned exponent = 8;
    float message_weight = 1;  // weight of the rest of the message itself
    float hop_bias = 0;        // additional worth per hop after the first
    float size_bias = 0.3F;    // additional worth by the piece's share of all bytes
};

class GreedyScheduler {
public:
    // Sets the pieces to schedule. Keeps the address of the rates, and of their problem, until the
    // next call.
    void prepare(RateMemo& rates, std::span<const QueuedPiece> pieces);

    // Schedules them. Returns the time of the transfer.
    //   may_split  a free engine may take over part of a running piece at the end
    //   queues     replaced
    double run(const GreedyWeights& weights, bool may_split, EngineQueues& queues);

    // Gives classes that were late in the last run more worth in the next ones ("squeaky wheel").
    void favour_late_classes(float step);

private:
    struct Lane {  // an engine
        double left = 0;
        double ready_us = 0;
        ClassIndex route_class = 0;
        bool is_busy = false;
        bool is_done = false;  // has sent its last piece
    };

    void begin_run(EngineQueues& queues);
    void find_prices(const GreedyWeights& weights);
    void start_pieces(const GreedyWeights& weights, EngineQueues& queues);
    ClassIndex dearest_class(const GreedyWeights& weights);
    unsigned collect_busy();
    void help_others(bool may_split, EngineQueues& queues);
    bool take_over(unsigned lane, EngineQueues& queues);
    unsigned best_to_help(unsigned flows, double last_us, const FlowShare* shares);
    bool advance();
    [[nodiscard]] double next_ready() const;

    [[nodiscard]] bool is_free(unsigned lane) const {
        return !lanes_[lane].is_busy && !lanes_[lane].is_done &&
               lanes_[lane].ready_us <= now_ + 1e-9;
    }

    // Data that is the same in every run.
    struct Prepared {
        const NodeProblem* problem = nullptr;
        RateMemo* rates = nullptr;
        std::vector<QueuedPiece> pieces;  // sorted by class, longest first
        // class c has pieces class_first[c] .. class_first[c + 1] - 1
        std::vector<std::uint32_t> class_first;
        std::vector<float> favour;  // indexed by class
        std::array<float, problem_links_max> load{};
        float total = 0;
    };

    Prepared prepared_;
    std::vector<std::uint32_t> next_;  // indexed by class
    std::vector<float> worth_;         // worth of a byte, indexed by class
    std::vector<float> late_bytes_;    // indexed by class: sent after an engine was done
    std::array<float, problem_links_max> load_{};
    std::array<Lane, engines_max> lanes_{};
    // the classes of busy lanes; flow_lane_: their lanes
    std::array<ClassIndex, engines_max> flows_{};
    std::array<unsigned, engines_max> flow_lane_{};
    float total_ = 0;
    float inverse_horizon_ = 0;  // 1 / time that the most critical resource still needs
    std::size_t left_ = 0;       // pieces not started
    double now_ = 0;
    double end_us_ = 0;  // end of the last piece so far
    double idle_from_us_ = 0;
};

}  // namespace acp::exchange
