// SPDX-License-Identifier: BSD-3-Clause
// The wire between two hosts: found among other networks, pulled and put back, pulled for good, and
// with a smaller MTU than one end assumes. The hosts are networks of the test's own
// (support/joined_networks.hpp), reached by a replacement of ssh; without root the tests are
// skipped, with the reason.
#include <algorithm>
#include <array>
#include <ctime>
#include <gtest/gtest.h>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>
#include <vector>

#include "faults/fault_job.hpp"
#include "support/clock.hpp"
#include "support/joined_networks.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr std::int64_t peer_timeout_ns = 3 * second_ns;
constexpr const char* peer_timeout = "ACP_PEER_TIMEOUT=3";
constexpr std::int64_t pulled_ns = 3 * second_ns / 2;
// A gateway detects a lost node by a timer, and then notifies its ranks.
constexpr std::int64_t grace_ns = 2 * second_ns;

void pass(std::int64_t time_ns) {
    const timespec time = {time_ns / second_ns, time_ns % second_ns};
    nanosleep(&time, nullptr);  // lint: sleep is the subject
}

// With one rank per host, ranks are their own gateways; with two, the agents' gateways carry
// commands.
class LinkTest : public ::testing::TestWithParam<int> {
protected:
    void SetUp() override {
        adopt_orphans();
        arm_watchdog(240, "the wire between two hosts");
        std::string why_not;
        networks_ = JoinedNetworks::create(why_not);
        if (networks_ == nullptr) {
            GTEST_SKIP() << "no networks of the test's own (it takes root): " << why_not;
        }
    }

    void TearDown() override { arm_watchdog(0, ""); }

    // Makes the networks anew, with a number of bridges before the wire's device.
    void put_bridges_before(int bridges) {
        std::string why_not;
        networks_ = JoinedNetworks::create(why_not, bridges);
        ASSERT_NE(networks_, nullptr) << why_not;
    }

    [[nodiscard]] JoinedNetworks& networks() const { return *networks_; }

    [[nodiscard]] FaultOptions options_for(Work work) const {
        const std::string slots = ":" + std::to_string(GetParam());
        FaultOptions options;
        options.work = work;
        options.ranks = 2 * GetParam();
        options.nodes = 2;
        options.victim = -1;
        options.environment = networks_->environment();
        options.environment.emplace_back(peer_timeout);
        options.hosts = {"--hosts", "left" + slots + ",right" + slots, "--ssh",
                         std::string(ACP_TEST_PROGRAM_DIR) + "/faults_enter_network"};
        return options;
    }

    static std::vector<std::uint64_t> steps_of(const FaultJob& fault) {
        std::vector<std::uint64_t> steps;
        for (int rank = 0; rank < fault.options().ranks; ++rank) {
            steps.push_back(fault.board().ranks[rank].steps.load(std::memory_order_relaxed));
        }
        return steps;
    }

    static std::string own_host() {
        std::array<char, 65> name{};
        EXPECT_EQ(gethostname(name.data(), name.size() - 1), 0);
        return name.data();
    }

    // Waits until each rank has made more steps. Returns the duration of the last one.
    static std::int64_t await_more_steps(const FaultJob& fault, std::uint64_t more) {
        const std::int64_t start = now_ns();
        const std::vector<std::uint64_t> before = steps_of(fault);
        const auto is_done = [&] {
            const std::vector<std::uint64_t> now = steps_of(fault);
            return std::ranges::equal(
                before, now, [=](std::uint64_t was, std::uint64_t is) { return is >= was + more; });
        };
        while (!is_done()) {
            if (now_ns() - start > 60 * second_ns || has_failed(fault)) {
                ADD_FAILURE() << "the ranks do not go on:\n" << fault.job_output();
                break;
            }
            pass(millisecond_ns);
        }
        return now_ns() - start;
    }

    // The longest datagram that each side's gateway for commands sends now, by acpstat.
    static std::vector<std::uint32_t> lengths_of(const FaultJob& fault) {
        JobOptions look;
        look.is_launched = false;
        look.program = {std::string(ACP_TEST_BIN_DIR) + "/acpstat", "--json",
                        std::to_string(fault.process_of(0))};
        const auto shown = nlohmann::json::parse(run_job(look).output, nullptr, false);
        std::vector<std::uint32_t> lengths(JoinedNetworks::sides);
        if (shown.is_discarded()) {
            return lengths;
        }
        for (const auto& node : shown.at("nodes")) {
            std::uint32_t& its = lengths.at(node.at("node").get<std::size_t>());
            for (const auto& peer : node.at("peers")) {
                its = std::max(its, peer.at("datagram_bytes").get<std::uint32_t>());
            }
        }
        return lengths;
    }

    static void await_lengths(const FaultJob& fault, const std::vector<std::uint32_t>& wanted) {
        const std::int64_t deadline = now_ns() + 20 * second_ns;
        std::vector<std::uint32_t> seen = lengths_of(fault);
        while (seen != wanted && now_ns() < deadline) {
            pass(50 * millisecond_ns);
            seen = lengths_of(fault);
        }
        EXPECT_EQ(seen, wanted) << "longest datagrams of the two sides";
    }

    static bool has_failed(const FaultJob& fault) {
        return std::ranges::any_of(all_ranks(fault), [&](int rank) {
            return fault.board().ranks[rank].phase.load(std::memory_order_acquire) == Phase::failed;
        });
    }

    static std::vector<int> all_ranks(const FaultJob& fault) {
        std::vector<int> ranks;
        for (int rank = 0; rank < fault.options().ranks; ++rank) {
            ranks.push_back(rank);
        }
        return ranks;
    }

    // Checks that every rank has finished without a wrong byte, and that no socket is left in
    // either network.
    void expect_good_end(FaultJob& fault) const {
        fault.board().may_end.store(1, std::memory_order_release);
        fault.expect_end(0, now_ns());
        for (const int rank : all_ranks(fault)) {
            const RankNote& note = fault.board().ranks[rank];
            EXPECT_EQ(note.phase.load(std::memory_order_acquire), Phase::finished)
                << "rank " << rank << " failed in " << note.where << ": " << note.message;
        }
        expect_no_sockets();
    }

    void expect_no_sockets() const {
        for (const std::string& socket : networks_->sockets()) {
            ADD_FAILURE() << "the job left a socket: " << socket;
        }
    }

private:
    std::unique_ptr<JoinedNetworks> networks_;
};

// One address more than a node keeps, and each of them the same on both hosts.
TEST_P(LinkTest, behind_nine_bridges_it_is_found_and_no_rail_is_a_bridge) {
    put_bridges_before(9);
    FaultJob fault(options_for(Work::exact));
    fault.await_all(Phase::working);
    await_more_steps(fault, 20);
    expect_good_end(fault);
    FaultOptions two_rails = options_for(Work::exact);
    two_rails.hosts.insert(two_rails.hosts.end(), {"--rails", "2"});
    JobOptions refused;
    refused.is_launched = false;
    refused.environment = two_rails.environment;
    refused.program = {std::string(ACP_TEST_BIN_DIR) + "/acprun"};
    refused.program.insert(refused.program.end(), two_rails.hosts.begin(), two_rails.hosts.end());
    refused.program.emplace_back("true");
    const JobResult result = run_job(refused);
    EXPECT_EQ(result.code, 69);
    EXPECT_NE(result.output.find("2 rails (acprun --rails) take as many addresses"),
              std::string::npos)
        << result.output;
    EXPECT_NE(result.output.find("fit 1"), std::string::npos) << result.output;
}

TEST_P(LinkTest, pulled_and_put_back_in_time_costs_nothing_but_that_time) {
    FaultJob fault(options_for(Work::exact));
    fault.await_all(Phase::working);
    for (int side = 0; side < JoinedNetworks::sides; ++side) {
        await_more_steps(fault, 50);
        networks().set_up(side, false);
        // For datagrams in flight.
        pass(pulled_ns / 5);
        const std::vector<std::uint64_t> before = steps_of(fault);
        pass(pulled_ns / 5 * 4);
        EXPECT_EQ(steps_of(fault), before) << "the wire was not pulled, it seems";
        networks().set_up(side, true);
        const std::int64_t back_ns = await_more_steps(fault, 1);
        std::cout << "pulled on the " << JoinedNetworks::names[static_cast<std::size_t>(side)]
                  << ": a step again after " << back_ns / millisecond_ns << " ms\n";
        await_more_steps(fault, 50);
    }
    expect_good_end(fault);
}

TEST_P(LinkTest, pulled_for_good_ends_all_waits_in_time_and_leaves_nothing) {
    for (const Work work : {Work::errands, Work::barriers, Work::exact}) {
        FaultJob fault(options_for(work));
        fault.await_all(Phase::working);
        await_more_steps(fault, 20);
        const int side = work == Work::barriers ? 1 : 0;
        const std::int64_t struck_ns = now_ns();
        networks().set_up(side, false);
        fault.expect_cut_off(all_ranks(fault), struck_ns + peer_timeout_ns + grace_ns);
        for (const int rank : all_ranks(fault)) {
            // The other side.
            const int lost = rank < GetParam() ? 1 : 0;
            const std::string message = fault.board().ranks[rank].message;
            const std::string node = "on node " + std::to_string(lost) + " (" + own_host() + ", " +
                                     JoinedNetworks::addresses[static_cast<std::size_t>(lost)] +
                                     "), which has not answered for the 3 s of ACP_PEER_TIMEOUT";
            EXPECT_NE(message.find("rank "), std::string::npos) << message;
            EXPECT_NE(message.find(node), std::string::npos) << message;
        }
        fault.expect_end(0, now_ns());
        expect_no_sockets();
        networks().set_up(side, true);
    }
}

// The MTU of both ends, and the longest datagrams that each sends with it.
struct Lengths {
    std::uint32_t mtu[JoinedNetworks::sides];
    std::uint32_t datagram_bytes[JoinedNetworks::sides];
};

// Payloads of UDP: in frames of 1400 and 1500 bytes; tried below Ethernet's; the first step; in
// frames of 1000 bytes; before any probe.
constexpr std::uint32_t of_1400 = 1372;
constexpr std::uint32_t of_1500 = 1472;
constexpr std::uint32_t tried = 1452;
constexpr std::uint32_t stepped_to = 1200;
constexpr std::uint32_t of_1000 = 972;
constexpr std::uint32_t begun = 548;

constexpr Lengths unlike[] = {
    {{1500, 1400}, {of_1400, of_1400}}, {{1400, 1500}, {of_1400, of_1400}},
    {{1500, 1300}, {stepped_to, 1272}}, {{1500, 1500}, {of_1500, of_1500}},
    {{1500, 1000}, {of_1000, of_1000}}, {{1000, 1500}, {of_1000, of_1000}},
    {{1500, 600}, {begun, begun}},      {{9000, 1500}, {tried, of_1500}},
    {{1500, 9000}, {of_1500, tried}},
};

TEST_P(LinkTest, carrying_less_than_one_end_believes_is_found_out_and_used) {
    for (const Lengths& given : unlike) {
        SCOPED_TRACE("MTU " + std::to_string(given.mtu[0]) + " and " +
                     std::to_string(given.mtu[1]));
        for (int side = 0; side < JoinedNetworks::sides; ++side) {
            networks().set_mtu(side, given.mtu[side]);
        }
        FaultJob fault(options_for(Work::exact));
        fault.await_all(Phase::working);
        await_more_steps(fault, 100);
        await_lengths(fault, {given.datagram_bytes[0], given.datagram_bytes[1]});
        await_more_steps(fault, 100);
        expect_good_end(fault);
    }
}

// Datagrams of the previous length are lost now, since this wire carries no fragments of the long
// frames that one end still assumes: all waits end in an error that names the MTU.
TEST_P(LinkTest, whose_mtu_drops_at_once_ends_the_job_with_an_error_that_names_it) {
    for (int side = 0; side < JoinedNetworks::sides; ++side) {
        networks().set_mtu(side, 9000);
    }
    FaultJob fault(options_for(Work::exact));
    fault.await_all(Phase::working);
    await_lengths(fault, {8972, 8972});
    const std::int64_t struck_ns = now_ns();
    networks().set_mtu(1, 1500);
    fault.expect_cut_off(all_ranks(fault), struck_ns + peer_timeout_ns + 2 * grace_ns);
    bool is_said = false;
    for (const int rank : all_ranks(fault)) {
        const std::string message = fault.board().ranks[rank].message;
        is_said = is_said || message.find("MTU") != std::string::npos;
    }
    EXPECT_TRUE(is_said) << "no rank's error names the MTU: " << fault.board().ranks[0].message;
    fault.expect_end(0, now_ns());
    expect_no_sockets();
}

INSTANTIATE_TEST_SUITE_P(of_two_hosts, LinkTest, ::testing::Values(1, 2), [](const auto& each) {
    return each.param == 1 ? std::string("with_a_rank_each") : std::string("with_two_ranks_each");
});

}  // namespace
}  // namespace acp::test
