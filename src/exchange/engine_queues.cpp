// SPDX-License-Identifier: BSD-3-Clause
// The fluid simulation of one node. One thread.
#include "exchange/engine_queues.hpp"

#include <algorithm>

namespace acp::exchange {

namespace {

// The sending engines, stored contiguously: an engine is removed when its queue is empty.
struct Senders {
    unsigned count = 0;
    double left[engines_max] = {};
    ClassIndex route_class[engines_max] = {};
    unsigned engine[engines_max] = {};
    const QueuedPiece* piece[engines_max] = {};

    void begin(unsigned place, const QueuedPiece* one) noexcept {
        piece[place] = one;
        left[place] = one->bytes;
        route_class[place] = one->route_class;
    }

    void remove(unsigned place) noexcept {
        --count;
        left[place] = left[count];
        route_class[place] = route_class[count];
        engine[place] = engine[count];
        piece[place] = piece[count];
    }
};

// Starts the queues whose time has come; returns the start of the next one.
double begin_engines(const NodeProblem& problem,
                     const EngineQueues& queues,
                     double now,
                     unsigned& begun,
                     Senders& senders,
                     PieceTimes* pieces) {
    for (; begun < problem.engines(); ++begun) {
        const auto& queue = queues.of[begun];
        if (queue.empty()) continue;
        const double ready = problem.node().stair_us * begun;
        if (ready > now + 1e-9) return ready;
        senders.engine[senders.count] = begun;
        senders.begin(senders.count++, queue.data());
        if (pieces != nullptr) pieces->begin_us[begun][0] = now;
    }
    return 1e300;
}

// Ends a sender's piece: its engine starts the next one, or is removed.
void end_piece(const EngineQueues& queues,
               double now,
               unsigned sender,
               Senders& senders,
               std::array<double, engines_max>& engine_end_us,
               PieceTimes* pieces) {
    const unsigned engine = senders.engine[sender];
    const auto& queue = queues.of[engine];
    const QueuedPiece* const piece = senders.piece[sender];
    const bool is_last = piece == &queue.back();
    if (pieces != nullptr) {
        const auto place = static_cast<std::size_t>(piece - queue.data());
        pieces->end_us[engine][place] = now;
        if (!is_last) pieces->begin_us[engine][place + 1] = now;
    }
    if (is_last) {
        engine_end_us[engine] = now;
        senders.remove(sender);
    } else {
        senders.begin(sender, piece + 1);
    }
}

//   share(flows, count)  the shares of the flows, valid until the next call
template <typename Share>
double simulated_us(const NodeProblem& problem,
                    const Share& share,
                    const EngineQueues& queues,
                    std::array<double, engines_max>& engine_end_us,
                    PieceTimes* pieces) {
    engine_end_us.fill(0);
    if (pieces != nullptr) pieces->make_room(queues);
    Senders senders;
    unsigned begun = 0;
    const FlowShare* shares = nullptr;
    double now = 0;
    double next = begin_engines(problem, queues, now, begun, senders, pieces);
    while (senders.count != 0 || next < 1e300) {
        double elapsed = next - now;
        if (senders.count != 0) shares = share(senders.route_class, senders.count);
        for (unsigned i = 0; i < senders.count; ++i)
            elapsed = std::min(elapsed, senders.left[i] * shares[i].us_per_byte);
        now += elapsed;
        for (unsigned i = senders.count; i-- > 0;) {
            senders.left[i] -= shares[i].rate * elapsed;
            if (senders.left[i] <= 1e-3) end_piece(queues, now, i, senders, engine_end_us, pieces);
        }
        if (next <= now + 1e-9) next = begin_engines(problem, queues, now, begun, senders, pieces);
    }
    return now;
}

}  // namespace

double transfer_us(const NodeProblem& problem,
                   const EngineQueues& queues,
                   std::array<double, engines_max>& engine_end_us,
                   PieceTimes* pieces) {
    FlowShare shares[engines_max];
    const auto share = [&](const ClassIndex* flows, unsigned count) {
        find_shares(problem, flows, count, shares);
        return shares;
    };
    return simulated_us(problem, share, queues, engine_end_us, pieces);
}

double transfer_us(RateMemo& rates,
                   const EngineQueues& queues,
                   std::array<double, engines_max>& engine_end_us) {
    const auto share = [&](const ClassIndex* flows, unsigned count) {
        return rates.share(flows, count);
    };
    return simulated_us(rates.problem(), share, queues, engine_end_us, nullptr);
}

double exchange_us(const NodeProblem& problem, const EngineQueues& queues) {
    std::array<double, engines_max> ends{};
    return exchange_us(problem, transfer_us(problem, queues, ends), queues.pieces());
}

double exchange_us(RateMemo& rates, const EngineQueues& queues) {
    std::array<double, engines_max> ends{};
    return exchange_us(rates.problem(), transfer_us(rates, queues, ends), queues.pieces());
}

}  // namespace acp::exchange
