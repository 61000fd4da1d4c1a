// SPDX-License-Identifier: BSD-3-Clause
// Words for the sender of a ring on another node: which of them are sent, in which order, and that
// none is lost if an allocation fails. The test plays gateways and network, or a thread does.
#include "message/far_credits.hpp"

#include <atomic>
#include <memory>
#include <new>

#include "operations/library_operations.hpp"
#include "support/refuse_memory.hpp"
#include "support/scoped_watchdog.hpp"
#include "unit/gma/test_network.hpp"

namespace acp::message::test {
namespace {

constexpr RingShape ring{4096};
constexpr std::uint64_t credit = ring.credit_offset(1);  // the credit word that is sent
constexpr std::uint64_t request = ring.request_offset();
constexpr std::uint32_t sender = 2;  // a process on the other node

class FarCreditsTest : public testing::Test {
protected:
    FarCreditsTest() { begin_with(sender); }

    // Delivers the puts in flight, because the destructor of the credits waits for them.
    ~FarCreditsTest() override {
        if (!is_started_) network_.start();
    }

    void start() {
        network_.start();
        is_started_ = true;
    }

    // Delivers `words` words. Waits for words that another thread of the process is still
    // submitting.
    void bring(std::uint32_t words) {
        for (std::uint32_t brought = 0; brought < words; brought += network_.poll()) {
            std::this_thread::yield();
        }
    }

    // Makes progress until the waiting word is sent, after the test has delivered the word before
    // it.
    void carry_on() {
        while (credits_.has_waiting()) {
            credits_.carry_on();
            std::this_thread::yield();
        }
    }

    void wait_until_idle() {
        while (!credits_.is_idle()) std::this_thread::yield();
    }

    void begin_with(std::uint32_t process) {
        credits_.begin({process, rank_.starter(process), ring.credit_offset(0)});
    }

    // The value that has arrived at the place of a word.
    [[nodiscard]] std::uint64_t seen(std::uint64_t offset, std::uint32_t process = sender) const {
        char* const place = network_.starter(process) + (offset - ring.credit_offset(0));
        return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(place))
            .load(std::memory_order_acquire);
    }

    gma::test::Network network_{base::IntraNode::automatic, base::MailboxKind::mpsc,
                                operations::library_operations()};
    gma::test::RemoteRank rank_{network_.segment(0), 0,
                                [] {
                                    base::Config config;
                                    config.starter_bytes = gma::test::starter_bytes;
                                    return config;
                                }(),
                                std::make_unique<remote::RingLink>(network_.segment(0), 0),
                                operations::library_operations()};
    FarCredits credits_{*rank_.gma};
    bool is_started_ = false;
    acp::test::ScopedWatchdog watchdog_{"a word was lost"};
};

TEST_F(FarCreditsTest, a_word_waits_for_the_one_before_and_only_the_last_of_those_that_wait_goes) {
    for (std::uint64_t word = 1; word <= 5; ++word) credits_.carry(credit, word);
    EXPECT_TRUE(credits_.has_waiting());
    EXPECT_EQ(seen(credit), 0U);
    bring(1);
    EXPECT_EQ(seen(credit), 1U);
    carry_on();
    bring(1);
    EXPECT_EQ(seen(credit), 5U);
    wait_until_idle();
    EXPECT_EQ(network_.poll(), 0U) << "a word was sent twice";
}

TEST_F(FarCreditsTest, a_credit_and_a_request_go_side_by_side) {
    credits_.carry(credit, 3);
    credits_.carry(request, 4);
    EXPECT_FALSE(credits_.has_waiting());
    bring(2);
    EXPECT_EQ(seen(credit), 3U);
    EXPECT_EQ(seen(request), 4U);
    wait_until_idle();
    EXPECT_EQ(network_.poll(), 0U);
}

TEST_F(FarCreditsTest, of_two_credits_one_goes) {
    credits_.carry(ring.credit_offset(0), 3);
    EXPECT_FALSE(credits_.has_waiting());
    EXPECT_TRUE(credits_.is_idle());
    EXPECT_EQ(network_.poll(), 0U);
}

TEST_F(FarCreditsTest, another_sender_gets_nothing_of_what_waited_for_the_one_before) {
    credits_.carry(credit, 1);
    credits_.carry(credit, 2);
    begin_with(sender + 1);
    EXPECT_FALSE(credits_.has_waiting());
    credits_.carry(credit, 7);
    bring(1);
    EXPECT_EQ(seen(credit), 1U) << "the put in flight still arrives";
    carry_on();
    bring(1);
    EXPECT_EQ(seen(credit, sender + 1), 7U);
    EXPECT_EQ(seen(credit), 1U);
    wait_until_idle();
    EXPECT_EQ(network_.poll(), 0U);
}

TEST_F(FarCreditsTest, a_sender_that_does_not_answer_is_waited_for_once) {
    credits_.carry(credit, 1);
    EXPECT_FALSE(credits_.is_idle_soon());
    EXPECT_FALSE(credits_.is_idle_soon());
    bring(1);
    wait_until_idle();
    EXPECT_TRUE(credits_.is_idle_soon());
    EXPECT_FALSE(credits_.is_cut_off());
}

TEST_F(FarCreditsTest, words_come_in_order_and_the_last_one_comes) {
    start();
    constexpr std::uint64_t words = 2000;
    std::uint64_t before = 0;
    for (std::uint64_t word = 1; word <= words; ++word) {
        credits_.carry(credit, word);
        if (word % 100 == 0) credits_.carry(request, word);
        const std::uint64_t now = seen(credit);
        ASSERT_GE(now, before);
        ASSERT_LE(now, word);
        before = now;
    }
    credits_.wait_until_sent(credit);
    credits_.wait_until_sent(request);
    EXPECT_FALSE(credits_.has_waiting());
    credits_.settle();
    EXPECT_EQ(seen(credit), words);
    EXPECT_EQ(seen(request), words);
}

TEST_F(FarCreditsTest, no_word_is_lost_where_memory_is_refused) {
    {
        const acp::test::Refusal refusal(1, acp::test::all_from_there);
        credits_.carry(credit, 1);
        credits_.carry(credit, 2);
        credits_.carry(request, 3);
    }
    start();
    credits_.wait_until_sent(credit);
    credits_.settle();
    EXPECT_EQ(seen(credit), 2U);
    EXPECT_EQ(seen(request), 3U);
    wait_until_idle();
}

TEST(FarCreditsMemoryTest, is_not_made_where_memory_for_what_it_sends_is_refused) {
    const gma::test::Network network(base::IntraNode::automatic, base::MailboxKind::mpsc,
                                     operations::library_operations());
    base::Config config;
    config.starter_bytes = gma::test::starter_bytes;
    const gma::test::RemoteRank rank(network.segment(0), 0, config,
                                     std::make_unique<remote::RingLink>(network.segment(0), 0),
                                     operations::library_operations());
    bool is_refused = false;
    {
        const acp::test::Refusal refusal(1, acp::test::all_from_there);
        try {
            const FarCredits credits(*rank.gma);
        } catch (const std::bad_alloc&) {
            is_refused = true;
        }
    }
    EXPECT_TRUE(is_refused);
}

}  // namespace
}  // namespace acp::message::test
