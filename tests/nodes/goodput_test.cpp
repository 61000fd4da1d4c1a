// SPDX-License-Identifier: BSD-3-Clause
// The share of a clean network's rate that a stream keeps when datagrams are lost, and how evenly
// streams share the path to one node. Drivers; the ranks are nodes_stream. Rates are compared
// within one test only, by alternating runs, and only of runs during which no other program took
// CPU time, since the CPUs limit the streams.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <gtest/gtest.h>
#include <iomanip>
#include <iostream>
#include <numeric>

#include "nodes/neighbours.hpp"
#include "nodes/stream_job.hpp"
#include "support/clock.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr double megabyte = 1e6;
// The load by other programs that a comparison tolerates, and the number of attempts to find such a
// time.
constexpr double busy_cpus_max = 0.1;
constexpr int attempts_max = 4;
const char* const no_quiet = "other programs kept CPUs busy all the time: rates say nothing";

// Some jobs are half as fast as others, with loss and without, depending on the cores of their
// threads: many short runs average that.
int rounds() {
    const char* given = std::getenv("TEST_ROUNDS");
    return given == nullptr ? 15 : std::atoi(given);
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
        const double rate = job.measure(second_ns / 3).front();
        job.expect_good_end();
        return rate;
    }

    // Repeats the measurement until other programs are quiet during it. False: they never were.
    template <typename Measurement>
    static bool run_in_quiet(const Measurement& measurement) {
        for (int attempt = 0; attempt < attempts_max && !HasFailure(); ++attempt) {
            const Neighbours neighbours;
            measurement();
            const double busy_cpus = neighbours.busy_cpus();
            if (busy_cpus <= busy_cpus_max) {
                return true;
            }
            std::cout << std::fixed << std::setprecision(2) << "left out: other programs kept "
                      << busy_cpus << " CPUs busy\n";
        }
        return false;
    }
};

TEST_F(GoodputTest, keeps_four_fifths_at_a_thousandth_lost_and_half_at_a_hundredth) {
    struct Network {
        const char* loss;
        // The least share of the clean rate.
        double wanted;
        std::vector<double> rates;
    };

    Network networks[] = {{"0", 1, {}}, {"0.001", 0.8, {}}, {"0.01", 0.5, {}}};
    for (int round = 0; round < rounds(); ++round) {
        const std::string seed = ",seed=" + std::to_string(round + 1);
        std::array<double, std::size(networks)> rates{};
        const bool was_quiet = run_in_quiet([&] {
            for (std::size_t at = 0; at < rates.size(); ++at) {
                const bool is_clean = networks[at].wanted == 1;
                rates[at] = rate_with(is_clean ? "" : "loss=" + (networks[at].loss + seed));
            }
        });
        if (!was_quiet) {
            GTEST_SKIP() << no_quiet;
        }
        for (std::size_t at = 0; at < rates.size(); ++at) {
            networks[at].rates.push_back(rates[at]);
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

// One path into a network that loses nothing, and three senders at full speed.
TEST_F(GoodputTest, is_shared_evenly_by_three_senders_to_one_node_without_overrunning_it) {
    std::uint64_t drops_before = 0;
    std::uint64_t drops = 0;
    std::vector<double> rates;
    const bool was_quiet = run_in_quiet([&] {
        StreamJob job(4, "");
        job.warm_up(100);
        drops_before = job.receive_drops();
        rates = job.measure(3 * second_ns);
        drops = job.receive_drops() - drops_before;
        job.expect_good_end();
    });
    if (!was_quiet) {
        GTEST_SKIP() << no_quiet;
    }
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
