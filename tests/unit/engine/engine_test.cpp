// SPDX-License-Identifier: BSD-3-Clause
// Engines of several nodes over loopback, polled one by one, so that a test decides when a node
// answers: losses, completions that lie in a socket's buffer, rails, patience, and leaving a job.
#include "engine/engine.hpp"

#include <fcntl.h>
#include <functional>
#include <map>
#include <thread>
#include <unistd.h>

#include "os/clock.hpp"

#include "unit/engine/gateway_slot.hpp"

namespace acp::engine::test {
namespace {

using base::Code;
using datagram::SeverReason;
using memory::Operation;
using router::CommandEnd;

constexpr Time seconds = 1'000'000'000;

// One node of one rank.
class Node final : private router::Completions {
public:
    Node(const std::vector<std::uint32_t>& counts, NodeId node, const base::Config& config)
        : place(counts, node) {
        GatewaySettings settings;
        settings.job_id = 5;
        settings.node = node;
        settings.nodes = static_cast<NodeId>(counts.size());
        for (NodeId k = 0; k <= counts.size(); ++k) settings.first_process.push_back(k);
        settings.job_key[3] = std::byte{7};
        for (std::uint32_t rail = 0; rail < config.rails; ++rail)
            settings.bind.push_back(datagram::ipv4(127, static_cast<std::uint8_t>(rail), 1, 1, 0));
        settings.config = config;
        settings.is_outspoken = false;
        auto opened = Engine::open(
            settings, {&place.space, &place.hazards, place.attach.get(), place.port.get()}, *this);
        EXPECT_TRUE(opened.is_ok()) << opened.failure().message();
        engine = std::move(opened).value();
    }

    // One round. True if content was moved.
    bool poll() {
        const bool has_received = engine->receive(os::now_ns());
        return engine->work(os::now_ns()) || has_received;
    }

    void submit(std::uint64_t token,
                GlobalAddress target,
                GlobalAddress source,
                std::uint64_t bytes) {
        const std::uint32_t own = place.ranks[0]->space.process();
        ASSERT_TRUE(engine->router().submit(
            os::now_ns(), {own, token, {Operation::copy, 0, target, source, bytes, 0, 0}}));
    }

    [[nodiscard]] bool has_ended(std::uint64_t token) const { return ends.contains(token); }

    GatewaySlot place;
    std::unique_ptr<Engine> engine;
    std::map<std::uint64_t, CommandEnd> ends;
    std::vector<NodeId> dead;

private:
    void on_completion(const CommandEnd& end) override {
        for (std::uint32_t i = 0; i < end.count; ++i) {
            EXPECT_TRUE(ends.emplace(end.token + 2ULL * i, end).second) << "it ended twice";
        }
    }

    void on_result(const CommandEnd& /*end*/, std::span<const std::byte> /*result*/) override {}

    void on_process_dead(std::uint32_t /*process*/, const base::ProcessEnd& /*end*/) override {}

    void on_node_dead(NodeId node) override { dead.push_back(node); }

    void on_met(std::uint32_t /*number*/, std::span<const std::uint32_t> /*table*/) override {}
};

class EngineTest : public testing::Test {
protected:
    void start(NodeId nodes, const base::Config& config = {}) {
        const std::vector<std::uint32_t> counts(nodes, 1);
        std::vector<std::vector<Address>> peers;
        for (NodeId node = 0; node < nodes; ++node) {
            nodes_.push_back(std::make_unique<Node>(counts, node, config));
            const auto addresses = nodes_.back()->engine->addresses();
            peers.emplace_back(addresses.begin(), addresses.end());
        }
        for (const auto& node : nodes_) ASSERT_TRUE(node->engine->set_peers(peers).is_ok());
    }

    Node& operator[](NodeId node) { return *nodes_[node]; }

    // The shared memory of a node's rank.
    GlobalAddress memory(NodeId node, std::uint32_t color = 0) {
        return nodes_[node]->place.space.layout().colored(nodes_[node]->place.shared(0).address,
                                                          color);
    }

    void poll_until(const std::vector<NodeId>& which, const std::function<bool()>& is_done) {
        while (!is_done()) {
            for (const NodeId node : which) nodes_[node]->poll();
        }
    }

    // A copy of node 0 to another node, done.
    void meet(NodeId node, std::uint64_t token, std::uint32_t color = 0) {
        nodes_[0]->submit(token, memory(node, color), memory(0), 8);
        poll_until({0, node}, [&] { return nodes_[0]->has_ended(token); });
        ASSERT_EQ(nodes_[0]->ends[token].code, Code::ok);
    }

    // A copy from node 0 to node 1, whose completion has arrived at node 0's socket.
    void answer_unseen(std::uint64_t token, std::uint32_t color = 0) {
        const std::uint64_t before = nodes_[1]->engine->delivered();
        nodes_[0]->submit(token, memory(1, color), memory(0), 8);
        nodes_[0]->engine->work(os::now_ns());
        poll_until({1}, [&] {
            if (nodes_[1]->engine->delivered() > before) return true;
            nodes_[0]->engine->work(os::now_ns());  // a datagram that had to wait is sent later
            return false;
        });
        while (nodes_[1]->poll()) {
        }
        ASSERT_FALSE(nodes_[0]->has_ended(token));
    }

    acp::test::ScopedWatchdog watchdog_{"an engine test"};
    std::vector<std::unique_ptr<Node>> nodes_;
};

TEST_F(EngineTest, a_lost_node_ends_the_commands_that_need_it_and_no_others) {
    start(3);
    meet(1, 2);
    meet(2, 4);
    auto& own = *nodes_[0];
    own.submit(6, memory(1), memory(0), 8);
    own.submit(8, memory(2), memory(0), 100'000);
    own.engine->sever(2);
    poll_until({0, 1}, [&] { return own.has_ended(6) && own.has_ended(8); });
    EXPECT_EQ(own.ends[6].code, Code::ok);
    EXPECT_EQ(own.ends[8].code, Code::peer);
    EXPECT_EQ(own.ends[8].process, 2U);
    EXPECT_EQ(own.dead, (std::vector<NodeId>{2}));
    EXPECT_EQ(own.engine->reason_of(2), SeverReason::told);
    own.engine->sever(2, SeverReason::silent);
    own.submit(10, memory(2), memory(0), 8);
    poll_until({0}, [&] { return own.has_ended(10); });
    EXPECT_EQ(own.ends[10].code, Code::peer);
    EXPECT_EQ(own.engine->reason_of(2), SeverReason::told) << "the first reason stands";
    EXPECT_EQ(own.dead.size(), 1U);
}

TEST_F(EngineTest, a_completion_in_the_sockets_buffer_counts_before_the_loss) {
    start(2);
    meet(1, 2);
    answer_unseen(4);
    nodes_[0]->engine->receive_all(os::now_ns());
    nodes_[0]->engine->sever(1);
    poll_until({0}, [&] { return !nodes_[0]->dead.empty(); });
    ASSERT_TRUE(nodes_[0]->has_ended(4));
    EXPECT_EQ(nodes_[0]->ends[4].code, Code::ok);
}

TEST_F(EngineTest, a_node_severed_on_one_rail_is_lost_on_all_after_all_rails_were_read) {
    base::Config config;
    config.rails = 2;
    start(2, config);
    auto& own = *nodes_[0];
    meet(1, 2, 0);
    meet(1, 4, 1);
    answer_unseen(6, 0);
    own.submit(8, memory(1, 0), memory(0), 8);  // no answer to this one arrives
    own.engine->rails()[1]->endpoint().sever(1, SeverReason::silent);
    own.engine->rails()[1]->run_timers(os::now_ns() + seconds);
    EXPECT_EQ(own.engine->deadline(), 0U) << "the other rail has not been severed yet";
    own.engine->work(os::now_ns());
    poll_until({0}, [&] { return own.has_ended(6) && own.has_ended(8); });
    EXPECT_EQ(own.ends[6].code, Code::ok) << "its completion had arrived on rail 0";
    EXPECT_EQ(own.ends[8].code, Code::peer);
    EXPECT_EQ(own.engine->severed(1).rail, 1U);
    EXPECT_EQ(own.engine->reason_of(1), SeverReason::silent);
    EXPECT_EQ(own.dead, (std::vector<NodeId>{1}));
    nodes_[1]->submit(10, memory(0, 0), memory(1), 8);
    poll_until({0, 1}, [&] { return nodes_[1]->has_ended(10); });
    EXPECT_EQ(nodes_[1]->ends[10].code, Code::peer) << "rail 0 still takes its datagrams";
}

TEST_F(EngineTest, a_table_of_peers_has_one_address_for_each_rail) {
    base::Config config;
    config.rails = 2;
    start(2, config);
    const Address one = nodes_[0]->engine->addresses()[0];
    const base::Status status = nodes_[0]->engine->set_peers({{one, one}, {one}});
    EXPECT_EQ(status.code(), Code::argument);
    EXPECT_NE(status.message().find("node 1 has 1 addresses for 2 rails"), std::string_view::npos)
        << status.message();
}

TEST_F(EngineTest, a_sleeper_is_woken_by_each_rail_and_by_another_thread) {
    base::Config config;
    config.rails = 2;
    start(2, config);
    meet(1, 2, 0);
    meet(1, 4, 1);
    poll_until({0, 1}, [&] { return !nodes_[0]->poll() && !nodes_[1]->poll(); });
    for (const std::uint32_t color : {0U, 1U}) {
        nodes_[0]->submit(6 + 2 * color, memory(1, color), memory(0), 8);
        nodes_[0]->engine->work(os::now_ns());
        nodes_[1]->engine->wait(-1);  // the watchdog ends a wait that misses the datagram
        EXPECT_TRUE(nodes_[1]->engine->receive(os::now_ns()));
    }
    std::thread other([&] { nodes_[1]->engine->wake(); });
    nodes_[1]->engine->wait(-1);
    other.join();
    nodes_[1]->engine->drain();
}

// Node 1 is not polled, as if its machine were stopped.
TEST_F(EngineTest, a_silent_node_is_kept_as_long_as_its_owner_wants) {
    base::Config config;
    config.peer_timeout_ns = 30'000'000;
    start(2, config);
    auto& own = *nodes_[0];
    std::uint32_t asked = 0;
    bool may_wait = true;
    own.engine->set_patience([&](NodeId node) {
        EXPECT_EQ(node, 1U);
        ++asked;
        return may_wait;
    });
    nodes_[1]->engine->set_patience([](NodeId) { return true; });
    meet(1, 2);
    own.submit(4, memory(1), memory(0), 8);
    poll_until({0}, [&] { return asked >= 3; });
    EXPECT_FALSE(own.has_ended(4));
    poll_until({0, 1}, [&] { return own.has_ended(4); });
    EXPECT_EQ(own.ends[4].code, Code::ok);
    may_wait = false;
    own.submit(6, memory(1), memory(0), 8);
    poll_until({0}, [&] { return own.has_ended(6); });
    EXPECT_EQ(own.ends[6].code, Code::peer);
    EXPECT_EQ(own.engine->reason_of(1), SeverReason::silent);
}

TEST_F(EngineTest, leaving_waits_for_what_a_peer_still_reads) {
    start(2);
    meet(1, 2);
    auto& peer = *nodes_[1];
    const std::vector<std::byte> bytes = pattern(100'000, 4);
    std::memcpy(nodes_[0]->place.shared(0).bytes, bytes.data(), bytes.size());
    const std::uint64_t before = nodes_[0]->engine->delivered();
    peer.submit(4, memory(1), memory(0), bytes.size());
    poll_until({0, 1}, [&] { return nodes_[0]->engine->delivered() > before; });
    ASSERT_FALSE(peer.has_ended(4));
    std::thread leaving(
        [&] { nodes_[0]->engine->leave(3600 * static_cast<std::int64_t>(seconds)); });
    while (!peer.has_ended(4) || peer.dead.empty()) {
        if (!peer.poll()) peer.engine->wait(1'000'000);  // both threads may share a processor
    }
    leaving.join();
    EXPECT_EQ(peer.ends[4].code, Code::ok);
    EXPECT_EQ(bytes_at(peer.place.shared(0).bytes, bytes.size()), bytes);
    EXPECT_EQ(peer.engine->reason_of(0), SeverReason::left);
}

TEST_F(EngineTest, leaving_ends_at_its_time_though_a_peer_is_silent) {
    start(2);
    meet(1, 2);
    nodes_[0]->submit(4, memory(1), memory(0), 8);
    const Time began = os::now_ns();
    nodes_[0]->engine->leave(20'000'000);
    EXPECT_GE(os::now_ns() - began, 20'000'000U);
    EXPECT_FALSE(nodes_[0]->engine->receive(os::now_ns())) << "its sockets are closed";
}

TEST_F(EngineTest, a_socket_closed_by_the_program_is_noticed) {
    start(2);
    meet(1, 2);
    EXPECT_FALSE(nodes_[0]->engine->is_closed_by_others());
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ASSERT_GE(null, 0);
    for (const int fd : nodes_[0]->engine->wait_fds().subspan(1)) ASSERT_EQ(::dup2(null, fd), fd);
    ::close(null);
    nodes_[0]->submit(4, memory(1), memory(0), 8);
    poll_until({0}, [&] { return nodes_[0]->engine->is_closed_by_others(); });
    EXPECT_FALSE(nodes_[1]->engine->is_closed_by_others());
}

}  // namespace
}  // namespace acp::engine::test
