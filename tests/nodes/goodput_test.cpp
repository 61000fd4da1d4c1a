// SPDX-License-Identifier: BSD-3-Clause
// How much of the rate of a clean network a stream keeps when datagrams are lost, and how evenly streams share the
// way to one node. Drivers; the ranks are nodes_stream. Rates are compared within one test only, runs in turn.
#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iomanip>
#include <iostream>
#include <numeric>

#include "nodes/stream_job.hpp"
#include "support/clock.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr double megabyte = 1e6;

int rounds() {
    const char* given = std::getenv("TEST_ROUNDS");
    return given == nullptr ? 5 : std::atoi(given);
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

class GoodputTest : public ::testing::Test {
protected:
    void SetUp() override {
        adopt_orphans();
        arm_watchdog(300, "streams between nodes");
    }

    void TearDown() override { arm_watchdog(0, ""); }

    static double rate_with(const std::string& faults) {
        StreamJob job(2, faults);
        job.warm_up(100);
        const double rate = job.measure(second_ns).front();
        job.expect_good_end();
        return rate;
    }
};

TEST_F(GoodputTest, keeps_four_fifths_at_a_thousandth_lost_and_half_at_a_hundredth) {
    struct Network {
        const char* loss;
        double wanted;  // share of the clean rate
        std::vector<double> rates;
    };

    Network networks[] = {{"0", 1, {}}, {"0.001", 0.8, {}}, {"0.01", 0.5, {}}};
    for (int round = 0; round < rounds(); ++round) {
        for (Network& network : networks) {
            const std::string seed = ",seed=" + std::to_string(round + 1);
            const bool is_clean = network.wanted == 1;
            network.rates.push_back(rate_with(is_clean ? "" : "loss=" + (network.loss + seed)));
        }
    }
    const double clean = median(networks[0].rates);
    for (const Network& network : networks) {
        const double rate = median(network.rates);
        const auto [low, high] = std::ranges::minmax(network.rates);
        std::cout << std::fixed << std::setprecision(0) << "loss " << network.loss << ": median "
                  << rate / megabyte << " MB/s of " << network.rates.size() << " ("
                  << low / megabyte << " to " << high / megabyte << "), " << 100 * rate / clean
                  << " % of clean\n";
        EXPECT_GE(rate / clean, network.wanted) << "at loss " << network.loss;
    }
}

// One time in a network that never loses anything, all senders at their fastest.
TEST_F(GoodputTest, is_shared_evenly_by_three_senders_to_one_node_without_overrunning_it) {
    StreamJob job(4, "");
    job.warm_up(100);
    const std::uint64_t drops_before = job.receive_drops();
    const std::vector<double> rates = job.measure(3 * second_ns);
    const std::uint64_t drops = job.receive_drops() - drops_before;
    job.expect_good_end();
    const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
    const double squares = std::inner_product(rates.begin(), rates.end(), rates.begin(), 0.0);
    const double jain = sum * sum / (static_cast<double>(rates.size()) * squares);
    std::cout << std::fixed << std::setprecision(3) << "Jain index " << jain << " over";
    for (const double rate : rates) {
        std::cout << ' ' << rate / megabyte;
    }
    std::cout << " MB/s, " << drops_before << " drops before, " << drops << " in steady state\n";
    EXPECT_GE(jain, 0.9);
    EXPECT_EQ(drops, 0U) << "datagrams found the receive buffer full";
}

}  // namespace
}  // namespace acp::test
