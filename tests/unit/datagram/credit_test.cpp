// SPDX-License-Identifier: BSD-3-Clause
// Credit on both sides: the bytes that all senders may have in flight always fit the receiver's
// buffer, no sender starves, and a silent sender's credit is returned. One thread.
#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include "base/random.hpp"
#include "datagram/credit_budget.hpp"
#include "datagram/duplicate_window.hpp"
#include "datagram/send_credit.hpp"

namespace acp::datagram {
namespace {

constexpr std::uint64_t buffer = 8U << 20;
constexpr std::uint32_t small = 1472;
constexpr Time ms = 1'000'000;

TEST(CreditBudget, reckons_with_what_a_datagram_occupies) {
    EXPECT_EQ(true_bytes(64), 2304U);
    EXPECT_EQ(true_bytes(1472), 2304U);
    EXPECT_EQ(true_bytes(8972), 16384U + 256);
    EXPECT_GE(true_bytes(65507), 65507U);
}

TEST(CreditBudget, allows_every_sender_2_to_16_datagrams_unasked) {
    EXPECT_EQ(unscheduled_datagrams(buffer, 1, small), 16U);
    EXPECT_EQ(unscheduled_datagrams(buffer, 35, small), 16U);
    EXPECT_EQ(unscheduled_datagrams(buffer, 62, small), 9U);
    EXPECT_EQ(unscheduled_datagrams(buffer, 100'000, small), 2U);
    EXPECT_EQ(unscheduled_datagrams(buffer, 0, small), 16U);
}

// WIRE-78
TEST(CreditBudget, has_room_for_the_longest_datagrams_that_fit_into_half_of_it) {
    EXPECT_EQ(CreditBudget(buffer, 1, 1200, 8972).longest(), 8972U);
    EXPECT_EQ(CreditBudget(buffer, 100, 1200, 8972).longest(), 4058U);
    EXPECT_EQ(CreditBudget(buffer, 200, 1200, 8972).longest(), 1452U);
    EXPECT_EQ(CreditBudget(buffer, 200, 1200, 1372).longest(), 1372U);
    EXPECT_EQ(CreditBudget(buffer, 100'000, 1200, 1472).longest(), 1472U)
        << "takes no more room than what all begin with";
    EXPECT_EQ(CreditBudget(buffer, 1, 1472, 1472).longest(), 1472U);
}

// Sends until the share counts as active.
void talk(CreditBudget& budget, CreditShare& share) {
    for (std::uint32_t i = 0; i < CreditBudget::talker_datagrams; ++i) budget.on_received(share);
}

TEST(CreditBudget, lets_a_single_sender_have_a_megabyte_on_the_way) {
    CreditBudget budget(buffer, 1, small, small);
    CreditShare share;
    EXPECT_EQ(budget.grant(0, share, small), budget.unscheduled() + CreditBudget::talker_datagrams)
        << "a newcomer has little at first";
    talk(budget, share);
    EXPECT_GE(std::uint64_t{budget.grant(0, share, small)} * small, 1U << 20);
}

TEST(CreditBudget, divides_equally_once_the_first_has_used_what_it_was_promised) {
    CreditBudget budget(buffer, 15, small, small);
    std::vector<std::unique_ptr<CreditShare>> shares;
    shares.push_back(std::make_unique<CreditShare>());
    talk(budget, *shares[0]);
    const std::uint32_t alone = budget.grant(0, *shares[0], small);
    for (int i = 1; i < 15; ++i) {
        shares.push_back(std::make_unique<CreditShare>());
        talk(budget, *shares.back());
        EXPECT_EQ(budget.grant(0, *shares.back(), small), budget.unscheduled())
            << "all but the allowance is promised already";
    }
    for (std::uint32_t i = 0; i < alone; ++i) {
        budget.on_received(*shares[0]);
        for (const auto& share : shares) (void)budget.grant(0, *share, small);
    }
    const std::uint64_t part = budget.shared_bytes() / 15 / true_bytes(small);
    for (const auto& share : shares) EXPECT_EQ(share->promised(), part);
}

TEST(CreditBudget, gives_free_credit_to_active_senders_in_jobs_of_any_size) {
    constexpr std::uint64_t stock = 425'984;  // the default of Linux
    for (const std::uint64_t receive_bytes : {stock, buffer}) {
        CreditBudget pair(receive_bytes, 1, small, small);
        CreditShare alone;
        talk(pair, alone);
        const std::uint32_t most = pair.grant(0, alone, small);
        for (const std::uint32_t senders : {31U, 59U, 999U, 9'999U}) {
            CreditBudget budget(receive_bytes, senders, small, small);
            CreditShare stream;
            talk(budget, stream);
            EXPECT_GE(budget.grant(0, stream, small), most / 4 * 3) << senders;
        }
    }
}

TEST(CreditBudget, a_rare_sender_takes_no_credit_from_an_active_one) {
    CreditBudget budget(buffer, 999, small, small);
    CreditShare stream;
    std::vector<std::unique_ptr<CreditShare>> others;
    for (int i = 0; i < 50; ++i) others.push_back(std::make_unique<CreditShare>());
    talk(budget, stream);
    const std::uint32_t alone = budget.grant(0, stream, small);
    std::uint32_t beside = 0;
    for (Time now = 0; now < 2'000 * ms; now += 10 * ms) {
        for (std::uint32_t i = 0; i < alone; ++i) budget.on_received(stream);
        beside = budget.grant(now, stream, small);
        if (now % (200 * ms) != 0) continue;
        for (const auto& other : others) {
            budget.on_received(*other);
            EXPECT_LE(budget.grant(now, *other, small),
                      budget.unscheduled() + CreditBudget::talker_datagrams);
        }
    }
    EXPECT_EQ(budget.talkers(), 1U);
    EXPECT_GE(beside, alone / 2);
}

TEST(CreditBudget, a_sender_that_stops_is_inactive_after_two_slices) {
    CreditBudget budget(buffer, 9, small, small);
    CreditShare share;
    talk(budget, share);
    (void)budget.grant(0, share, small);
    EXPECT_EQ(budget.talkers(), 1U);
    (void)budget.grant(CreditBudget::slice_ns, share, small);
    EXPECT_EQ(budget.talkers(), 1U);
    (void)budget.grant(2 * CreditBudget::slice_ns, share, small);
    EXPECT_EQ(budget.talkers(), 0U);
}

TEST(CreditBudget, a_thousand_senders_that_begin_at_once_get_no_more_than_the_buffer) {
    constexpr std::uint32_t nodes = 1000;
    CreditBudget budget(buffer, nodes, small, small);
    std::vector<std::unique_ptr<CreditShare>> shares;
    for (std::uint32_t i = 0; i < nodes; ++i) {
        shares.push_back(std::make_unique<CreditShare>());
        const std::uint32_t first = budget.grant(0, *shares.back(), small);
        EXPECT_LE(first, budget.unscheduled() + CreditBudget::talker_datagrams);
        ASSERT_LE(budget.promised_bytes() +
                      std::uint64_t{i + 1} * budget.unscheduled() * true_bytes(small),
                  usable_bytes(buffer));
    }
}

TEST(CreditBudget, silence_and_leaving_give_back_what_was_promised) {
    CreditBudget budget(buffer, 3, small, small);
    CreditShare quiet;
    CreditShare other;
    talk(budget, quiet);
    talk(budget, other);
    (void)budget.grant(0, quiet, small);
    EXPECT_EQ(budget.grant(CreditBudget::lease_ns - 1, other, small), budget.unscheduled());
    EXPECT_EQ(budget.active(), 2U);
    talk(budget, other);
    EXPECT_GT(budget.grant(CreditBudget::lease_ns, other, small), 1000U);
    EXPECT_EQ(budget.active(), 1U);
    EXPECT_EQ(quiet.promised(), 0U);
    budget.leave(other);
    EXPECT_EQ(budget.promised_bytes(), 0U);
    {
        CreditShare gone;
        (void)budget.grant(CreditBudget::lease_ns, gone, small);
        EXPECT_NE(budget.promised_bytes(), 0U);
    }
    EXPECT_EQ(budget.promised_bytes(), 0U);
}

TEST(SendCredit, has_the_allowance_at_first_and_what_was_promised_later) {
    SendCredit credit(1000, 8);
    EXPECT_EQ(credit.left(0, 1000), 8U);
    EXPECT_EQ(credit.left(0, 1006), 2U);
    EXPECT_EQ(credit.left(0, 1008), 0U);
    EXPECT_TRUE(credit.on_ack(0, 1008, 100, 1008));
    EXPECT_EQ(credit.left(0, 1008), 100U);
    EXPECT_TRUE(credit.on_ack(0, 1004, 200, 1008)) << "an old one, overtaken";
    EXPECT_EQ(credit.left(0, 1008), 100U);
    EXPECT_TRUE(credit.on_ack(0, 1008, 50, 1008)) << "promises do not shrink";
    EXPECT_EQ(credit.left(0, 1008), 100U);
}

TEST(SendCredit, refuses_what_was_never_sent) {
    SendCredit credit(5, 8);
    EXPECT_FALSE(credit.on_ack(0, 8, 100, 7));
    EXPECT_EQ(credit.cumulative(), 5U);
    EXPECT_EQ(credit.left(0, 7), 6U);
}

TEST(SendCredit, falls_back_to_the_allowance_after_a_silence) {
    SendCredit credit(0, 8);
    EXPECT_TRUE(credit.on_ack(0, 0, 100, 0));
    EXPECT_EQ(credit.left(SendCredit::lease_ns, 0), 100U);
    EXPECT_EQ(credit.left(SendCredit::lease_ns + 1, 0), 8U);
    EXPECT_TRUE(credit.on_ack(SendCredit::lease_ns + 1, 0, 30, 0)) << "a new, smaller promise";
    EXPECT_EQ(credit.left(SendCredit::lease_ns + 1, 0), 30U);
}

TEST(SendCredit, counts_across_the_wrap) {
    SendCredit credit(0U - 10U, 16);
    EXPECT_EQ(credit.left(0, 0U - 4U), 10U);
    EXPECT_TRUE(credit.on_ack(0, 0U - 4U, 100, 3));
    EXPECT_EQ(credit.left(0, 3), 93U);
}

// Senders that always have data, some at first silent, on a network that loses, delays and drops
// acknowledgements. The receiver reads in bursts, so that its buffer fills.
class CreditIncastTest : public testing::TestWithParam<std::uint32_t> {
protected:
    struct Sender {
        SendCredit credit{0, 0};
        Dsn next = 0;
        CreditShare share;
        DuplicateWindow window;
        std::uint64_t arrived = 0;
        std::deque<Dsn> to_resend;
    };

    struct Letter {
        std::uint32_t sender;
        Dsn dsn;
    };

    void send_all(Time now, base::Random& random, bool is_active_half_only) {
        for (std::uint32_t i = 0; i < senders_.size(); ++i) {
            if (is_active_half_only && i % 2 == 1) continue;
            Sender& sender = *senders_[i];
            while (!sender.to_resend.empty()) {
                put(i, sender.to_resend.front(), random);
                sender.to_resend.pop_front();
            }
            for (std::uint32_t left = sender.credit.left(now, sender.next); left != 0; --left) {
                put(i, sender.next++, random);
            }
        }
    }

    void put(std::uint32_t index, Dsn dsn, base::Random& random) {
        if (random.below(50) == 0) {
            senders_[index]->to_resend.push_back(dsn);
        } else {
            queue_.push_back({index, dsn});
        }
    }

    static void acknowledge(Time now, Sender& sender, CreditBudget& budget, bool is_lost) {
        if (sender.next == 0) return;
        const std::uint32_t more = budget.grant(now, sender.share, small);
        const std::uint32_t credit = std::min(more + sender.window.beyond(), DuplicateWindow::span);
        if (is_lost) return;
        ASSERT_TRUE(sender.credit.on_ack(now, sender.window.base(), credit, sender.next));
    }

    std::vector<std::unique_ptr<Sender>> senders_;
    std::deque<Letter> queue_;
};

TEST_P(CreditIncastTest, the_sum_on_the_way_never_exceeds_the_buffer_and_all_get_the_same) {
    const std::uint32_t count = GetParam();
    const std::uint64_t seed = 1000 + count;
    base::Random random(seed);
    CreditBudget budget(buffer, count, small, small);
    for (std::uint32_t i = 0; i < count; ++i) {
        senders_.push_back(std::make_unique<Sender>());
        senders_.back()->credit = SendCredit(0, budget.unscheduled());
    }
    std::uint64_t queued_max = 0;
    for (Time now = 0; now < 3'000 * ms; now += ms) {
        send_all(now, random, now < 1'000 * ms);
        queued_max = std::max<std::uint64_t>(queued_max, queue_.size());
        ASSERT_LE(queue_.size() * true_bytes(small), usable_bytes(buffer))
            << "seed " << seed << ", " << now;
        ASSERT_LE(budget.promised_bytes(), budget.shared_bytes());
        for (std::uint64_t reads = random.below(2 * queue_.size() + 2); reads != 0; --reads) {
            if (queue_.empty()) break;
            const Letter letter = queue_.front();
            queue_.pop_front();
            Sender& sender = *senders_[letter.sender];
            ASSERT_EQ(sender.window.insert(letter.dsn), DuplicateWindow::Seen::fresh);
            ++sender.arrived;
            budget.on_received(sender.share);
            if (random.below(4) == 0) acknowledge(now, sender, budget, random.below(10) == 0);
        }
        for (const auto& sender : senders_) {  // whose probe was answered
            if (random.below(10) == 0) acknowledge(now, *sender, budget, false);
        }
        if (now == 1'500 * ms) {
            for (const auto& sender : senders_) sender->arrived = 0;
        }
    }
    EXPECT_GE(queued_max * true_bytes(small), buffer / 4) << "the buffer is put to use";
    double sum = 0;
    double squares = 0;
    for (const auto& sender : senders_) {
        const auto arrived = static_cast<double>(sender->arrived);
        sum += arrived;
        squares += arrived * arrived;
    }
    EXPECT_GE(sum * sum / (squares * count), 0.9);
}

INSTANTIATE_TEST_SUITE_P(Senders, CreditIncastTest, testing::Values(16, 40, 100));

}  // namespace
}  // namespace acp::datagram
