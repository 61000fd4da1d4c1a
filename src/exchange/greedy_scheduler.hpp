// SPDX-License-Identifier: BSD-3-Clause
// List scheduling with a look ahead at the fluid rates: whenever an engine is free it begins the piece that, with those that run,
// brings the most worth per microsecond, where a byte is worth the more the more critical the resources are that it has yet to
// pass. When nothing is left to begin, a free engine takes part of a running piece over if that is worth a command. Never
// leaves an engine idle while a piece is left. One thread per object, which keeps its memory for the next problem.
// Source: docs/guide/exchange.md. Tests: tests/unit/exchange/greedy_scheduler_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "exchange/engine_queues.hpp"

namespace acp::exchange {

// How the worth of a piece is made of the resources it needs.
struct GreedyWeights {
    unsigned exponent =
        8;  // of a resource's load in relation to the most critical one: 1, 2, 4, 8, 16
    float message_weight = 1;  // of what is left of the message itself
    float hop_bias = 0;        // more worth per hop after the first
    float size_bias = 0.3F;    // more worth by the piece's share of all bytes
};

class GreedyScheduler {
public:
    // Makes these pieces the ones to schedule. Keeps the address of the rates, and of their problem, until the next call.
    void prepare(RateMemo& rates, std::span<const QueuedPiece> pieces);

    // Schedules them.
    //   may_split  a free engine may take part of a running piece over in the end
    //   queues     replaced
    // Returns the time of the transfer.
    double run(const GreedyWeights& weights, bool may_split, EngineQueues& queues);

    // Makes the classes that were late in the last run worth more in the next ones ("squeaky wheel").
    void favour_late_classes(float step);

private:
    struct Lane {  // an engine
        double left = 0;
        double ready_us = 0;
        ClassIndex route_class = 0;
        bool is_busy = false;
        bool is_done = false;  // sends nothing any more
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

    // What is the same in every run.
    struct Prepared {
        const NodeProblem* problem = nullptr;
        RateMemo* rates = nullptr;
        std::vector<QueuedPiece> pieces;         // by class, longest first
        std::vector<std::uint32_t> class_first;  // of class c: class_first[c] .. class_first[c + 1]
        std::vector<float> favour;               // by class
        std::array<float, problem_links_max> load{};
        float total = 0;
    };

    Prepared prepared_;
    std::vector<std::uint32_t> next_;  // by class
    std::vector<float> worth_;         // of a byte, by class
    std::vector<float> late_bytes_;    // by class: sent after an engine had nothing to do
    std::array<float, problem_links_max> load_{};
    std::array<Lane, engines_max> lanes_{};
    std::array<ClassIndex, engines_max> flows_{};  // classes of busy lanes, and which they are
    std::array<unsigned, engines_max> flow_lane_{};
    float total_ = 0;
    float inverse_horizon_ = 0;  // 1 / the time that the most critical resource still needs
    std::size_t left_ = 0;       // pieces not begun
    double now_ = 0;
    double end_us_ = 0;  // of the last piece that has ended
    double idle_from_us_ = 0;
};

}  // namespace acp::exchange
