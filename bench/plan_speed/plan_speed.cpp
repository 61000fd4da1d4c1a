// SPDX-License-Identifier: BSD-3-Clause
// How long the exchange planner takes: for the 14 messages of paper 003, for a three-dimensional
// halo of 26 messages and for the same in four pieces each (104). The yardstick is one simulation
// of RoundRobin's plan for the same messages, in the same run: medians and ratios. Then for the
// thousand random patterns of planner_quality_test.cpp, each planned three times: of the shortest
// times the median, that which 99 of 100 are within, and the longest; and for as many of 14
// messages, of which the fast plan is to take no longer than `fast_us_max`. One thread.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <span>
#include <vector>

#include "exchange/exchange_planner.hpp"
#include "exchange/network_presets.hpp"
#include "exchange/round_robin.hpp"

#include "exchange_study/paper_patterns.hpp"
#include "random_problem.hpp"

namespace {

using namespace acp::exchange;

constexpr double fast_us_max = 15;  // for any 14 messages

double median_us(int times, const std::function<void()>& work) {
    std::vector<double> samples;
    for (int i = 0; i < times; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double, std::micro> took =
            std::chrono::steady_clock::now() - begin;
        samples.push_back(took.count());
    }
    std::nth_element(samples.begin(), samples.begin() + times / 2, samples.end());
    return samples[static_cast<std::size_t>(times / 2)];
}

// The faces, edges and corners of a cube of 64 points a side, 8 bytes each.
//   parts  number of parts of each message
NodeProblem cube_halo(std::uint64_t parts) {
    std::vector<OffsetMessage> messages;
    for (int way = 0; way < 27; ++way) {
        OffsetMessage message{{way % 3 - 1, way / 3 % 3 - 1, way / 9 - 1}, 8};
        if (message.offset == OffsetMessage{}.offset) continue;
        for (std::size_t i = 0; i < 3; ++i) message.bytes *= message.offset[i] == 0 ? 64U : 1U;
        message.bytes = std::max<std::uint64_t>(message.bytes / parts, 1);
        messages.insert(messages.end(), parts, message);
    }
    return NodeProblem::symmetric(make_torus({8, 8, 8}, tofu_link_rate, {}).value(), messages)
        .value();
}

constexpr struct {
    const char* name;
    PlanEffort effort;
    int times;
} efforts[] = {{"fast", PlanEffort::fast, 1001},
               {"standard", PlanEffort::standard, 101},
               {"deep", PlanEffort::deep, 21}};

void measure(const char* name, const NodeProblem& problem) {
    EngineQueues queues;
    const double yardstick = median_us(2001, [&] {
        round_robin(problem, 4, queues);
        (void)exchange_us(problem, queues);
    });
    std::printf("%-14s one simulation %6.2f us", name, yardstick);
    ExchangePlanner planner;
    for (const auto& one : efforts) {
        const double took = median_us(one.times, [&] { planner.plan(problem, one.effort); });
        std::printf(" | %s %8.2f us, %6.1f x, gap %.2f %%", one.name, took, took / yardstick,
                    100 * planner.made().gap());
    }
    std::printf("\n");
}

// The same random patterns in each run, in two and three dimensions in turn.
std::vector<NodeProblem> random_problems(std::span<const std::size_t> counts, std::size_t rounds) {
    acp::base::Random random(7);
    std::vector<NodeProblem> problems;
    for (std::size_t round = 0; round < rounds; ++round) {
        for (const std::size_t count : counts)
            problems.push_back(random_problem(random, 2 + round % 2, count));
    }
    return problems;
}

// The shortest of three times of each, in ascending order.
std::vector<double> shortest_us(std::span<const NodeProblem> problems, PlanEffort effort) {
    ExchangePlanner planner;
    std::vector<double> shortest;
    for (const NodeProblem& problem : problems) {
        double least = 1e300;
        for (int i = 0; i < 3; ++i)
            least = std::min(least, median_us(1, [&] { planner.plan(problem, effort); }));
        shortest.push_back(least);
    }
    std::sort(shortest.begin(), shortest.end());
    return shortest;
}

void print(const char* patterns, const char* effort, std::span<const double> times) {
    std::printf("%zu random patterns of %s messages | %-8s %8.2f us, p99 %8.2f, max %8.2f",
                times.size(), patterns, effort, times[times.size() / 2],
                times[times.size() * 99 / 100], times.back());
}

void measure_random() {
    constexpr std::size_t counts[] = {6, 10, 14, 20, 26, 30, 50, 64};
    const auto problems = random_problems(counts, 125);
    for (const auto& one : efforts) {
        print("6 .. 64", one.name, shortest_us(problems, one.effort));
        std::printf("\n");
    }
}

void measure_fourteen() {
    constexpr std::size_t counts[] = {14};
    const auto times = shortest_us(random_problems(counts, 1000), PlanEffort::fast);
    print("14", "fast", times);
    std::printf(", %td within %.0f us\n",
                std::upper_bound(times.begin(), times.end(), fast_us_max) - times.begin(),
                fast_us_max);
}

}  // namespace

int main() {
    for (const acp::exchange_study::PaperPattern pattern : acp::exchange_study::paper_patterns) {
        const std::string name = "paper " + std::string(name_of(pattern));
        measure(name.c_str(), acp::exchange_study::paper_problem(pattern, 872));
    }
    measure("cube 26", cube_halo(1));
    measure("cube 104", cube_halo(4));
    measure_random();
    measure_fourteen();
    return 0;
}
