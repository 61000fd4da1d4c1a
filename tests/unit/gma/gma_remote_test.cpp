// SPDX-License-Identifier: BSD-3-Clause
// Commands with an address on another node: their effects, order, failures and completions, in all
// modes of waiting. Another thread plays gateways and network.
#include <pthread.h>
#include <thread>

#include "gma/meeting_helper.hpp"
#include "node/death.hpp"

#include "support/watchdog.hpp"
#include "unit/gma/test_network.hpp"

namespace acp::gma::test {
namespace {

using base::Code;
using memory::Operation;

Command copy(GlobalAddress target, GlobalAddress source, std::uint64_t bytes) {
    return {.target = target, .source = source, .bytes = bytes};
}

Command add(GlobalAddress result, GlobalAddress word, std::uint64_t value) {
    return {.operation = Operation::add,
            .width = 8,
            .target = result,
            .source = word,
            .bytes = 8,
            .operand = value};
}

std::atomic_ref<std::uint64_t> word_at(char* place) {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(place));
}

struct Mode {
    const char* name;
    base::IntraNode intranode = base::IntraNode::automatic;
    base::MailboxKind mailbox = base::MailboxKind::mpsc;
    bool is_bypass_on = true;
};

class GmaRemoteTest : public testing::TestWithParam<Mode> {
protected:
    GmaRemoteTest() {
        config_.starter_bytes = starter_bytes;
        config_.intranode = GetParam().intranode;
        config_.mailbox = GetParam().mailbox;
        config_.is_bypass_on = GetParam().is_bypass_on;
        for (std::uint32_t slot = 0; slot < procs_per_node; ++slot) {
            const node::Segment& segment = network_.segment(0);
            ranks_.push_back(std::make_unique<RemoteRank>(
                segment, slot, config_, std::make_unique<remote::RingLink>(segment, slot)));
        }
    }

    RemoteRank& rank() { return *ranks_[0]; }

    Gma& gma() { return *ranks_[0]->gma; }

    base::Status wait(Handle handle) { return gma().wait(handle, node::for_ever, false); }

    [[nodiscard]] static std::string text(const base::Status& status) {
        return std::string(status.message());
    }

    base::Config config_;
    Network network_{GetParam().intranode, GetParam().mailbox};
    std::vector<std::unique_ptr<RemoteRank>> ranks_;
};

TEST_P(GmaRemoteTest, copies_to_from_and_between_other_ranks_and_atomics_there) {
    network_.start();
    std::memcpy(network_.starter(0), "hello", 6);
    EXPECT_TRUE(wait(gma().issue(copy(rank().starter(3, 100), rank().starter(0), 6), 0)).is_ok());
    EXPECT_STREQ(network_.starter(3) + 100, "hello");
    EXPECT_TRUE(wait(gma().issue(copy(rank().starter(2), rank().starter(3, 100), 6), 0)).is_ok());
    EXPECT_STREQ(network_.starter(2), "hello");
    EXPECT_TRUE(wait(gma().issue(copy(rank().starter(1, 50), rank().starter(2), 6), 0)).is_ok());
    EXPECT_STREQ(network_.starter(1) + 50, "hello");
    word_at(network_.starter(2) + 64).store(40, std::memory_order_relaxed);
    EXPECT_TRUE(wait(gma().issue(add(rank().starter(0, 8), rank().starter(2, 64), 2), 0)).is_ok());
    EXPECT_EQ(word_at(network_.starter(0) + 8).load(std::memory_order_relaxed), 40U);
    EXPECT_EQ(word_at(network_.starter(2) + 64).load(std::memory_order_relaxed), 42U);
    const Traffic traffic = gma().traffic();
    EXPECT_EQ(traffic.remote_commands, 4U);
    EXPECT_EQ(traffic.remote_bytes, 26U);
}

// A counter goes to the other node and back: each step reads the result of the step before.
TEST_P(GmaRemoteTest, a_chain_of_far_and_near_commands_runs_in_order_with_no_further_call) {
    network_.start();
    word_at(network_.starter(0)).store(7, std::memory_order_relaxed);
    Handle last = handle_null;
    for (std::uint64_t i = 0; i < 20; ++i) {
        const std::uint64_t at = 8 * i;
        last = gma().issue(copy(rank().starter(2, at), rank().starter(0, at), 8),
                           i == 0 ? handle_null : last);
        last = gma().issue(copy(rank().starter(1, at), rank().starter(2, at), 8), last);
        last = gma().issue(copy(rank().starter(0, at + 8), rank().starter(1, at), 8),
                           i % 2 == 0 ? last : handle_cont);
    }
    while (word_at(network_.starter(0) + 160).load(std::memory_order_acquire) != 7) {
        std::this_thread::yield();
    }
    EXPECT_TRUE(wait(last).is_ok());
}

TEST_P(GmaRemoteTest, more_commands_than_the_link_holds_all_end) {
    network_.start();
    constexpr std::uint64_t commands = 5000;
    for (std::uint64_t i = 0; i < commands; ++i) {
        const GlobalAddress word = rank().starter(2, 8 * (i % 10));
        EXPECT_NE(gma().issue(add(rank().starter(0, 128), word, 1), handle_null), handle_null);
    }
    EXPECT_TRUE(wait(handle_all).is_ok());
    for (std::uint64_t i = 0; i < 10; ++i) {
        EXPECT_EQ(word_at(network_.starter(2) + 8 * i).load(std::memory_order_relaxed),
                  commands / 10);
    }
}

TEST_P(GmaRemoteTest, memory_that_is_none_fails_there_and_names_rank_node_and_reason) {
    network_.start();
    const GlobalAddress wild = gma().space().layout().segment_start(3, 77, 1);
    const base::Status status = wait(gma().issue(copy(wild, rank().starter(0), 8), handle_null));
    EXPECT_EQ(status.code(), Code::address);
    EXPECT_NE(text(status).find("acp_copy by rank 0 on "), std::string::npos) << text(status);
    EXPECT_NE(text(status).find("the target is 8 bytes at global address 0x"), std::string::npos)
        << text(status);
    EXPECT_NE(
        text(status).find(": no registered memory of rank 3 on node 1 (10.0.0.1) holds all of "
                          "it (it is not registered, longer than what is, or unmapped)"),
        std::string::npos)
        << text(status);
    EXPECT_EQ(text(status).find("another node"), std::string::npos) << text(status);
    EXPECT_EQ(text(status).find("node 1"), text(status).rfind("node 1")) << text(status);
    EXPECT_EQ(wait(gma().issue(add(rank().starter(0), wild, 8), handle_null)).code(),
              Code::address);
    EXPECT_TRUE(wait(gma().issue(copy(rank().starter(3), rank().starter(0), 8), 0)).is_ok());
}

TEST_P(GmaRemoteTest, what_cannot_be_an_address_is_refused_here) {
    const memory::GaLayout& layout = gma().space().layout();
    const std::uint64_t room = layout.granule_bytes() * memory::granules_per_process;
    const GlobalAddress start = rank().starter(3);

    struct Case {
        GlobalAddress target;
        std::uint64_t bytes;
    };

    for (const Case& one : {Case{layout.segment_start(3, 0, 0), 8}, Case{start, room + 1},
                            Case{start + room - 7, 8}, Case{start, ~0ULL}}) {
        const base::Status status =
            wait(gma().issue(copy(one.target, rank().starter(0), one.bytes), handle_null));
        EXPECT_EQ(status.code(), Code::address) << one.bytes;
        EXPECT_NE(text(status).find(" rank 3 on node 1 (10.0.0.1)"), std::string::npos)
            << text(status);
    }
    EXPECT_NE(
        text(wait(gma().issue(copy(start + starter_bytes - 4, rank().starter(0), 8), handle_null)))
            .find("offset 65532 of a segment of 65536 bytes on rank 3 on node 1"),
        std::string::npos);
    EXPECT_EQ(network_.poll(), 0U) << "nothing was sent";
    EXPECT_EQ(wait(gma().issue(copy(start, rank().starter(0, starter_bytes), 8), 0)).code(),
              Code::address)
        << "the near end is looked at here";
}

TEST_P(GmaRemoteTest, describes_a_remote_path_with_its_reason) {
    for (const auto& [target, source] : {std::pair(rank().starter(2), rank().starter(0)),
                                         {rank().starter(1), rank().starter(2)}}) {
        const Path path = gma().path(target, source);
        EXPECT_EQ(path.route, Route::remote);
        EXPECT_STREQ(path.name, "remote");
        EXPECT_FALSE(path.must_owner_help);
        EXPECT_EQ(path.reason, "rank 2 is on node 1 (10.0.0.1)");
    }
    EXPECT_EQ(gma().path(rank().starter(2), rank().starter(0, starter_bytes)).route, Route::none);
}

TEST_P(GmaRemoteTest, the_end_of_the_gateway_ends_all_commands_in_flight_and_all_later_ones) {
    const Handle first = gma().issue(copy(rank().starter(2), rank().starter(0), 8), handle_null);
    const Handle second = gma().issue(copy(rank().starter(1), rank().starter(2), 8), first);
    std::thread death([&] { network_.port(0).close(9); });
    const base::Status status = wait(first);
    EXPECT_EQ(status.code(), Code::peer);
    EXPECT_NE(
        text(status).find(" by rank 0 on " + os::host_name() + ": the gateway of node 0 (process "),
        std::string::npos)
        << text(status);
    EXPECT_NE(text(status).find("was killed by signal 9"), std::string::npos) << text(status);
    EXPECT_EQ(wait(second).code(), Code::order);
    death.join();
    const Handle later = gma().issue(copy(rank().starter(3), rank().starter(0), 8), handle_null);
    EXPECT_EQ(wait(later).code(), Code::peer);
    const Handle near = gma().issue(copy(rank().starter(1), rank().starter(0), 8), handle_null);
    EXPECT_TRUE(wait(near).is_ok()) << "the node's own memory is still there";
}

// In this test the death itself rings no bell: a sleeper may have woken for it and slept again,
// because the thread that notes the death was the driver.
TEST_P(GmaRemoteTest, the_thread_that_detects_the_gateways_end_wakes_its_waiters) {
    acp::test::arm_watchdog(240, "unit_gma");
    const node::Segment& segment = network_.segment(0);
    node::Door& door = segment.slot(0).door;
    const Handle handle = gma().issue(copy(rank().starter(2), rank().starter(0), 8), handle_null);
    door.attendants.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t asleep = door.waiter_bell.announce();
    segment.slot(segment.gateway_slot())
        .state.store(static_cast<std::uint32_t>(node::SlotState::dead), std::memory_order_release);
    segment.control().deaths.fetch_add(1, std::memory_order_seq_cst);
    while (!gma().is_complete(handle)) std::this_thread::yield();
    while (door.waiter_bell.word().load(std::memory_order_seq_cst) == asleep) {
        std::this_thread::yield();
    }
    door.attendants.fetch_sub(1, std::memory_order_seq_cst);
    EXPECT_EQ(wait(handle).code(), Code::peer);
    acp::test::arm_watchdog(0, "");
}

const Mode modes[] = {
    {.name = "automatic"},
    {.name = "no_bypass", .is_bypass_on = false},
    {.name = "pairs", .mailbox = base::MailboxKind::pairs},
    {.name = "udp", .intranode = base::IntraNode::udp},
};

std::string name_of_mode(const testing::TestParamInfo<Mode>& info) {
    return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(modes, GmaRemoteTest, testing::ValuesIn(modes), name_of_mode);

// A link whose gateway is in this process, without network: it completes its commands when its
// descriptor is signalled.
class OwnLink final : public remote::Link {
public:
    bool submit(std::uint64_t token, const Command&) override {
        given_.push_back(token);
        return true;
    }

    [[nodiscard]] std::byte* arguments_at(std::uint32_t place) noexcept override {
        return arguments_[place].data();
    }

    bool invoke(std::uint64_t token, const remote::LinkInvocation& invocation) override {
        given_.push_back(token);
        invoked_bytes_ += invocation.argument_bytes;
        return true;
    }

    void flush() override {
        flushes_.fetch_add(1, std::memory_order_relaxed);
        if (due_after_ns_ != 0)
            due_at_ns_.store(os::now_ns() + due_after_ns_, std::memory_order_relaxed);
        if (!is_long_.load(std::memory_order_relaxed)) return;
        is_at_it_.store(true, std::memory_order_release);
        while (is_long_.load(std::memory_order_acquire)) std::this_thread::yield();
    }

    bool poll(std::vector<remote::Ended>& ended) override {
        polls_.fetch_add(1, std::memory_order_relaxed);
        if (!event_.drain()) return false;
        for (const std::uint64_t token : given_) {
            ended.push_back({.token = token, .code = code_, .process = process_});
        }
        given_.clear();
        due_at_ns_.store(never, std::memory_order_relaxed);
        return true;
    }

    [[nodiscard]] bool has_news() const noexcept override { return false; }

    [[nodiscard]] remote::LinkTraits traits() const noexcept override {
        return {.is_polled_here = true,
                .is_peer_served = true,
                .look_cost = node::LookCost::dear,
                .wait_fds = {&event_fd_, 1}};
    }

    [[nodiscard]] std::uint64_t deadline_ns() const noexcept override {
        looks_.fetch_add(1, std::memory_order_relaxed);
        return due_at_ns_.load(std::memory_order_relaxed);
    }

    void set_service_wanted(bool) noexcept override {}

    // With true, a flush() lasts until this is called with false.
    void make_flushes_long(bool is_long) { is_long_.store(is_long, std::memory_order_release); }

    [[nodiscard]] bool is_in_long_flush() const {
        return is_at_it_.load(std::memory_order_acquire);
    }

    // The number of calls of deadline_ns().
    [[nodiscard]] std::uint64_t looks() const { return looks_.load(std::memory_order_relaxed); }

    // Plays the arrival of a datagram.
    void arrive() { event_.signal(); }

    [[nodiscard]] std::uint64_t flushes() const { return flushes_.load(std::memory_order_relaxed); }

    // Guarded by gma's driver flag.
    [[nodiscard]] std::uint64_t invoked_bytes() const { return invoked_bytes_; }

    [[nodiscard]] std::uint64_t polls() const { return polls_.load(std::memory_order_relaxed); }

    std::uint64_t due_after_ns_ = 0;  // after each flush; 0: it is not due
    Code code_ = Code::ok;
    std::uint32_t process_ = 0;

private:
    static constexpr std::uint64_t never = ~0ULL;

    os::Event event_ = std::move(os::Event::create()).value();
    int event_fd_ = event_.fd();
    std::vector<std::uint64_t> given_;  // guarded by gma's driver flag
    std::atomic<std::uint64_t> due_at_ns_{never};
    std::array<std::array<std::byte, memory::invoke_bytes_max>, remote::invokes_max> arguments_{};
    std::uint64_t invoked_bytes_ = 0;
    std::atomic<std::uint64_t> flushes_{0};
    std::atomic<std::uint64_t> polls_{0};
    std::atomic<bool> is_long_{false};
    std::atomic<bool> is_at_it_{false};
    mutable std::atomic<std::uint64_t> looks_{0};
};

class GmaOwnLinkTest : public testing::Test {
protected:
    GmaOwnLinkTest() : segment_(make_node_of_two(0)) {
        config_.starter_bytes = starter_bytes;
        auto link = std::make_unique<OwnLink>();
        link_ = link.get();
        rank_ = std::make_unique<RemoteRank>(segment_, 0, config_, std::move(link));
    }

    Handle issue() {
        return rank_->gma->issue(copy(rank_->starter(2), rank_->starter(0), 8), handle_null);
    }

    base::Config config_;
    node::Segment segment_;
    std::unique_ptr<RemoteRank> rank_;
    OwnLink* link_ = nullptr;
};

// A single invoke is flushed at once. Invokes issued during that flush are flushed together, as one
// datagram.
TEST_F(GmaOwnLinkTest, a_batch_of_invokes_leaves_with_one_flush) {
    const acp::test::Append asked{rank_->starter(2), 1};
    acp::test::AddedBelow result;
    const auto invoke = [&] {
        return rank_->gma->issue_invoke(
            {2, acp::test::append_number, acp::test::bytes_of(asked), acp::test::room_in(result)},
            handle_null);
    };
    // Waits until the new service thread sleeps and polls no longer, because its first polls would
    // split the batch.
    for (std::uint64_t before = ~0ULL; before != link_->polls();) {
        before = link_->polls();
        const std::uint64_t end_ns = os::now_ns() + 20'000'000;
        while (os::now_ns() < end_ns) std::this_thread::yield();
    }
    Handle last = invoke();
    // If the service thread is in a poll, it makes this flush, because it notices that the issuer
    // found the role taken.
    while (link_->flushes() == 0) std::this_thread::yield();
    EXPECT_EQ(link_->flushes(), 1U);
    for (int i = 0; i < 63; ++i) last = invoke();
    link_->arrive();
    link_->arrive();
    while (!rank_->gma->is_complete(last)) link_->arrive();
    EXPECT_TRUE(rank_->gma->wait(last, node::for_ever, false).is_ok());
    EXPECT_LE(link_->flushes(), 3U);
    EXPECT_EQ(link_->invoked_bytes(), 64 * sizeof asked);
}

TEST_F(GmaOwnLinkTest, what_arrives_ends_the_wait) {
    for (int round = 0; round < 20; ++round) {
        const Handle handle = issue();
        std::thread network([&] { link_->arrive(); });
        EXPECT_TRUE(rank_->gma->wait(handle, node::for_ever, false).is_ok());
        network.join();
    }
}

TEST_F(GmaOwnLinkTest, arriving_work_is_served_without_calls) {
    const Handle first = issue();
    const Handle near = rank_->gma->issue(copy(rank_->starter(0, 64), rank_->starter(0), 8), first);
    word_at(segment_.starter(0)).store(5, std::memory_order_relaxed);
    link_->arrive();
    while (word_at(segment_.starter(0) + 64).load(std::memory_order_acquire) != 5) {
        std::this_thread::yield();
    }
    EXPECT_TRUE(rank_->gma->wait(near, node::for_ever, false).is_ok());
}

TEST_F(GmaOwnLinkTest, the_gateway_is_polled_again_when_it_is_due_though_nothing_arrives) {
    link_->due_after_ns_ = 1'000'000;
    const Handle handle = issue();  // flushed: due
    const std::uint64_t before = link_->polls();
    while (link_->polls() < before + 3) std::this_thread::yield();
    link_->arrive();
    EXPECT_TRUE(rank_->gma->wait(handle, node::for_ever, false).is_ok());
}

TEST_F(GmaOwnLinkTest, the_service_thread_does_not_spin_while_another_is_long_in_the_gateway) {
    constexpr std::uint64_t watched_ns = 30'000'000;
    constexpr std::uint64_t looks_max = 200;  // a spinning thread looks 1000 times in a millisecond
    link_->make_flushes_long(true);
    Handle handle = handle_null;
    std::thread issuer([&] { handle = issue(); });
    while (!link_->is_in_long_flush()) std::this_thread::yield();
    link_->arrive();  // no other thread can poll the gateway now
    const std::uint64_t before = link_->looks();
    const std::uint64_t end_ns = os::now_ns() + watched_ns;
    while (os::now_ns() < end_ns) std::this_thread::yield();
    EXPECT_LT(link_->looks() - before, looks_max);
    link_->make_flushes_long(false);
    issuer.join();
    EXPECT_TRUE(rank_->gma->wait(handle, node::for_ever, false).is_ok());
}

// Threads of the program are cancelled at a system call, which must not be one of the library's: it
// could not be unwound.
TEST_F(GmaOwnLinkTest, a_cancellation_waits_while_a_far_copy_is_issued) {
    constexpr int copies = 20000;  // many are sent during a long flush, and wake the service thread
    link_->make_flushes_long(true);
    std::thread issuer([&] { (void)issue(); });
    while (!link_->is_in_long_flush()) std::this_thread::yield();
    std::thread cancelled([&] {
        pthread_cancel(pthread_self());
        for (int i = 0; i < copies; ++i) {
            (void)issue();
            std::this_thread::yield();
        }
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    });
    cancelled.join();
    link_->make_flushes_long(false);
    issuer.join();
    while (!rank_->gma->is_complete(handle_all)) link_->arrive();
    EXPECT_TRUE(rank_->gma->wait(handle_all, node::for_ever, false).is_ok());
}

TEST_F(GmaOwnLinkTest, a_failure_between_nodes_names_ranks_and_nodes) {
    link_->code_ = Code::memory;
    const Handle handle = issue();
    link_->arrive();
    const base::Status status = rank_->gma->wait(handle, node::for_ever, false);
    EXPECT_EQ(status.code(), Code::memory);
    const std::string text(status.message());
    EXPECT_NE(text.find(" of rank 2 on node 1 (10.0.0.1), the source 8 bytes at global address "),
              std::string::npos)
        << text;
}

TEST_F(GmaOwnLinkTest, a_peer_that_died_is_named_with_its_fate) {
    node::GatewayPort(segment_).publish_death(2, {9});
    link_->code_ = Code::peer;
    link_->process_ = 2;
    const Handle handle = issue();
    link_->arrive();
    const base::Status status = rank_->gma->wait(handle, node::for_ever, false);
    EXPECT_EQ(status.code(), Code::peer);
    const std::string text(status.message());
    EXPECT_NE(text.find("rank 2 on node 1 (10.0.0.1) was killed by signal 9 (SIGKILL)"),
              std::string::npos)
        << text;
}

TEST_F(GmaOwnLinkTest, a_helper_polls_the_gateway_while_there_is_a_gma) {
    MeetingHelper helper;
    EXPECT_FALSE(helper.poll());
    helper.set_gma(rank_->gma.get(), true);
    const Handle handle = issue();
    link_->arrive();
    while (!rank_->gma->is_complete(handle)) helper.poll();
    helper.set_gma(nullptr);
    EXPECT_FALSE(helper.poll());
}

}  // namespace
}  // namespace acp::gma::test
