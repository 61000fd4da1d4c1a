// SPDX-License-Identifier: BSD-3-Clause
// Round by round, what is compared in turns. Each rank's main thread.
#include "halo_times.hpp"

#include <algorithm>

#include "os/clock.hpp"

#include "job.hpp"
#include "opaque.hpp"

namespace acp::bench {

namespace {

constexpr std::uint64_t steps_tried = 200'000;
constexpr int step_trials = 9;
constexpr std::uint64_t rail_exchanges_first = 12;  // in which a plan learns how fast rails are

// A computation that needs no memory: each step waits for the one before it. Never 0.
ACP_OPAQUE std::uint64_t compute(std::uint64_t steps) {
    std::uint64_t value = steps | 1;
    for (std::uint64_t i = 0; i < steps; ++i) value = value * value + 2 * i;  // stays odd
    return value;
}

// Rank 0's time of each call; all ranks make the same calls at the same time.
template <typename Call>
double time_each_ns(std::uint64_t count, const Call& call) {
    sync_all();
    const std::uint64_t begin = os::now_ns();
    for (std::uint64_t i = 0; i < count; ++i) call();
    return static_cast<double>(os::now_ns() - begin) / static_cast<double>(count);
}

}  // namespace

// The shortest of several: a step that was disturbed would make the computation shorter than what
// it is to hide.
double time_of_step_ns() {
    std::uint64_t shortest_ns = ~std::uint64_t{0};
    for (int i = 0; i < step_trials; ++i) {
        const std::uint64_t begin = os::now_ns();
        if (compute(steps_tried) == 0) give_up("the computation computes nothing");
        shortest_ns = std::min(shortest_ns, os::now_ns() - begin);
    }
    return static_cast<double>(shortest_ns) / steps_tried;
}

HaloTimes measure_exchange(HaloExchange& halo,
                           bool is_one_node,
                           std::uint64_t rounds,
                           std::uint64_t count) {
    HaloTimes times;
    const auto exchange = [&] {
        halo.start();
        halo.wait();
    };
    for (std::uint64_t round = 0; round < rounds; ++round) {
        times.exchange_ns.push_back(time_each_ns(count, exchange));
        double started = 0;
        (void)time_each_ns(count, [&] {
            const std::uint64_t begin = os::now_ns();
            halo.start();
            started += static_cast<double>(os::now_ns() - begin);
            halo.wait();
        });
        times.start_ns.push_back(started / static_cast<double>(count));
        times.yardstick_ns.push_back(time_each_ns(count, [&] {
            if (is_one_node) {
                halo.copy_within();
            } else {
                halo.put_all();
            }
        }));
    }
    sync_all();
    return times;
}

RailTimes measure_rails(HaloExchange& halo, std::uint64_t rounds, std::uint64_t count) {
    RailTimes times;
    const auto exchange = [&] {
        halo.start();
        halo.wait();
    };
    for (const bool is_one : {true, false}) {
        halo.use_one_rail(is_one);
        halo.check();
        (void)time_each_ns(rail_exchanges_first, exchange);
    }
    for (std::uint64_t round = 0; round < rounds; ++round) {
        times.all_ns.push_back(time_each_ns(count, exchange));
        halo.use_one_rail(true);
        times.one_ns.push_back(time_each_ns(count, exchange));
        halo.use_one_rail(false);
    }
    sync_all();
    return times;
}

OverlapTimes measure_overlap(HaloExchange& halo,
                             std::uint64_t rounds,
                             std::uint64_t count,
                             std::uint64_t steps) {
    OverlapTimes times;
    std::uint64_t all = 1;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        times.exchange_ns.push_back(time_each_ns(count, [&] {
            halo.start();
            halo.wait();
        }));
        times.compute_ns.push_back(time_each_ns(count, [&] { all &= compute(steps); }));
        times.both_ns.push_back(time_each_ns(count, [&] {
            halo.start();
            all &= compute(steps);
            halo.wait();
        }));
    }
    sync_all();
    if (all == 0) give_up("the computation computes nothing");
    return times;
}

}  // namespace acp::bench
