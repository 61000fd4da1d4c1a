// SPDX-License-Identifier: BSD-3-Clause
// The rounds of a plan between two nodes, on the routes that a compiler would make: the ranks are
// of one node in this process, and exchange parcels and words by their addresses alone, as between
// nodes. Each parcel arrives in its round; no landing area is written before it was consumed; a
// failure of one member reaches the other with its reason.
#include "execution/rounds.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "local/shared_memory.hpp"
#include "team/telling.hpp"

#include "operations/put_signal.hpp"
#include "support/rank_node.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::execution {
namespace {

using base::Code;
using base::Status;

constexpr std::uint64_t outbox_at = sizeof(BlockHead) + sizeof(OutgoingLine);

// Rank 0 sends messages to rank 1, each as a parcel of its own.
class FarRoundsTest : public testing::Test {
protected:
    struct Member {
        GlobalAddress block = 0;
        char* memory = nullptr;  // `block` as mapped here
        PlanRoutes routes;
    };

    // Makes the plan.
    //   is_in_place  the sender's bytes lie in its heap and are not copied
    void make(const std::vector<std::uint64_t>& bytes, bool is_in_place = false) {
        std::uint64_t all = 0;
        for (const std::uint64_t each : bytes) all += each;
        sent_bytes_ = all;
        Member sender = member(0, outbox_at + 2 * all);
        Member receiver = member(1, sizeof(BlockHead));
        const std::uint64_t words = bytes.size() * sizeof(ByParity<RoundWord>);
        const Member landing = memory_of(1, words + 2 * all);
        source_ = memory_of(0, all).memory;
        target_.assign(all, '.');
        auto* const line = reinterpret_cast<OutgoingLine*>(sender.memory + sizeof(BlockHead));
        const GlobalAddress consumed =
            sender.block + sizeof(BlockHead) + offsetof(OutgoingLine, consumed);
        sender.routes.outgoing.push_back({1, line, false});
        IncomingRoute incoming;
        incoming.rank = incoming.process = 0;
        incoming.consumed_address = {consumed, consumed + sizeof(RoundWord)};
        incoming.arrived = reinterpret_cast<const ByParity<RoundWord>*>(landing.memory);
        incoming.parcels = static_cast<std::uint32_t>(bytes.size());
        std::uint64_t offset = 0;
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            RoutedParcel parcel;
            parcel.process = 1;
            parcel.bytes = bytes[i];
            parcel.is_in_place = is_in_place;
            TakenMessage taken;
            PackedMessage packed{source_ + offset, {}, bytes[i], nullptr};
            for (std::uint64_t parity = 0; parity < 2; ++parity) {
                const std::uint64_t in_outbox = outbox_at + parity * all + offset;
                const std::uint64_t in_landing = words + parity * all + offset;
                packed.to[parity] = sender.memory + in_outbox;
                parcel.memory[parity] = is_in_place ? source_ + offset : packed.to[parity];
                parcel.from[parity] =
                    is_in_place
                        ? local::shared_address(ranks_[0].gma->space(), source_ + offset, bytes[i])
                        : sender.block + in_outbox;
                parcel.to[parity] = landing.block + in_landing;
                parcel.arrived[parity] =
                    landing.block + i * sizeof(ByParity<RoundWord>) + parity * sizeof(RoundWord);
                taken.from[parity] = landing.memory + in_landing;
            }
            taken.target = target_.data() + offset;
            taken.bytes = bytes[i];
            if (!is_in_place) sender.routes.packed.push_back(packed);
            sender.routes.parcels.push_back(parcel);
            incoming.messages.push_back(taken);
            offset += bytes[i];
        }
        receiver.routes.incoming.push_back(incoming);
        sender.routes.partners.push_back({1, 1, receiver.block, nullptr, nullptr, {}, {}});
        receiver.routes.partners.push_back({0, 0, sender.block, nullptr, nullptr, {}, {}});
        landing_ = landing;
        sender_.emplace(*ranks_[0].gma, tellings_[0], change_(std::move(sender.routes)));
        receiver_.emplace(*ranks_[1].gma, tellings_[1], std::move(receiver.routes));
    }

    ~FarRoundsTest() override {
        for (auto* const rounds : {&sender_, &receiver_}) {
            if (rounds->has_value()) (*rounds)->settle();
        }
        for (team::Telling& telling : tellings_) telling.settle();
    }

    void write(char letter) { std::memset(source_, letter, sent_bytes_); }

    static bool has_ended(Rounds& rounds) {
        auto ended = rounds.test();
        EXPECT_TRUE(ended.is_ok()) << ended.failure().message();
        return !ended.is_ok() || ended.value();
    }

    static void finish(Rounds& rounds) {
        while (!has_ended(rounds)) {
        }
    }

    // The failure of a round, which must fail.
    static Status failure_of(Rounds& rounds) {
        for (;;) {
            auto ended = rounds.test();
            if (!ended.is_ok()) return std::move(ended).failure();
            EXPECT_FALSE(ended.value()) << "the round has succeeded";
            if (ended.value()) return {};
        }
    }

    [[nodiscard]] Member memory_of(std::uint32_t rank, std::uint64_t bytes) {
        auto made = ranks_[rank].allocator->allocate(rank, bytes, 64);
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        Member all;
        all.block = made.value();
        all.memory = local::shared_pointer(ranks_[rank].gma->space(), rank, all.block);
        std::memset(all.memory, 0, bytes);
        return all;
    }

    [[nodiscard]] Member member(std::uint32_t rank, std::uint64_t bytes) {
        Member all = memory_of(rank, bytes);
        all.routes.number = 7;
        all.routes.head = reinterpret_cast<BlockHead*>(all.memory);
        all.routes.processes = {0, 1};
        return all;
    }

    acp::test::ScopedWatchdog watchdog_{"rounds between two nodes"};
    acp::test::RankNode ranks_{2};
    team::Telling tellings_[2]{team::Telling(*ranks_[0].gma), team::Telling(*ranks_[1].gma)};
    std::function<PlanRoutes(PlanRoutes)> change_ = [](PlanRoutes routes) { return routes; };
    std::uint64_t sent_bytes_ = 0;
    char* source_ = nullptr;
    std::vector<char> target_;
    Member landing_;
    std::optional<Rounds> sender_, receiver_;
};

const std::vector<std::uint64_t> parcel_bytes{1, operations::put_signal_bytes_max,
                                              operations::put_signal_bytes_max + 1, 100'000};

TEST_F(FarRoundsTest, each_parcel_arrives_in_its_round) {
    make(parcel_bytes);
    for (char letter = 'a'; letter <= 'i'; ++letter) {
        write(letter);
        ASSERT_TRUE(receiver_->start().is_ok());
        EXPECT_FALSE(has_ended(*receiver_)) << "nothing was sent in this round";
        ASSERT_TRUE(sender_->start().is_ok());
        finish(*receiver_);
        finish(*sender_);
        EXPECT_EQ(target_, std::vector<char>(sent_bytes_, letter));
    }
}

TEST_F(FarRoundsTest, a_sender_is_two_rounds_ahead_and_no_more) {
    make(parcel_bytes);
    for (const char letter : {'a', 'b'}) {
        write(letter);
        ASSERT_TRUE(sender_->start().is_ok());
        finish(*sender_);
    }
    write('c');
    ASSERT_TRUE(sender_->start().is_ok());
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(has_ended(*sender_));
    for (const char letter : {'a', 'b', 'c'}) {
        ASSERT_TRUE(receiver_->start().is_ok());
        finish(*receiver_);
        EXPECT_EQ(target_, std::vector<char>(sent_bytes_, letter));
        if (letter == 'a') finish(*sender_);
    }
}

TEST_F(FarRoundsTest, a_round_that_is_sent_in_place_ends_after_its_copies) {
    make({100'000, 5000}, true);
    for (char letter = 'a'; letter <= 'e'; ++letter) {
        write(letter);
        ASSERT_TRUE(sender_->start().is_ok());
        finish(*sender_);
        write('!');  // the sender's buffer is its own again
        ASSERT_TRUE(receiver_->start().is_ok());
        finish(*receiver_);
        EXPECT_EQ(target_, std::vector<char>(sent_bytes_, letter));
    }
}

TEST_F(FarRoundsTest, other_waits_make_the_progress_of_a_started_round) {
    make(parcel_bytes);
    write('a');
    EXPECT_FALSE(receiver_->is_under_way());
    receiver_->go_on();  // nothing was started
    ASSERT_TRUE(receiver_->start().is_ok());
    EXPECT_TRUE(receiver_->is_under_way());
    ASSERT_TRUE(sender_->start().is_ok());
    while (receiver_->is_under_way()) receiver_->go_on();
    EXPECT_EQ(target_, std::vector<char>(sent_bytes_, 'a'));
    EXPECT_TRUE(receiver_->is_started()) << "no call has returned the end yet";
    EXPECT_EQ(receiver_->start().code(), Code::state);
    EXPECT_TRUE(receiver_->wait(1, false).is_ok());
    EXPECT_FALSE(receiver_->is_started());
    EXPECT_TRUE(sender_->wait(1, false).is_ok());
}

TEST_F(FarRoundsTest, a_failure_of_one_member_reaches_the_other_with_its_reason) {
    make(parcel_bytes);
    ASSERT_TRUE(receiver_->start().is_ok());
    sender_->fail({Code::memory, "no room for 77 bytes"});
    EXPECT_TRUE(sender_->is_broken());
    const Status why = failure_of(*receiver_);
    EXPECT_EQ(why.code(), Code::memory);
    EXPECT_NE(std::string(why.message()).find("no room for 77 bytes"), std::string::npos)
        << why.message();
    // The first reason stays, in every later call.
    sender_->fail({Code::system, "another reason"});
    EXPECT_EQ(sender_->start().code(), Code::memory);
    EXPECT_EQ(sender_->wait(1, false).code(), Code::memory);
    EXPECT_EQ(sender_->test().failure().code(), Code::memory);
    EXPECT_EQ(receiver_->start().code(), Code::memory);
}

TEST_F(FarRoundsTest, a_death_breaks_the_plan_before_its_round_ends) {
    make(parcel_bytes);
    ASSERT_TRUE(receiver_->start().is_ok());
    EXPECT_FALSE(receiver_->has_broken());
    ranks_.die(0);
    EXPECT_TRUE(receiver_->has_broken());
    EXPECT_EQ(receiver_->wait(1, false).code(), Code::peer);
    EXPECT_EQ(receiver_->start().code(), Code::peer);
}

TEST_F(FarRoundsTest, a_parcel_to_memory_that_is_none_breaks_the_plan_on_both) {
    for (const bool is_long : {false, true}) {
        change_ = [](PlanRoutes routes) {
            routes.parcels.front().to = {1, 1};
            return routes;
        };
        sender_.reset();
        receiver_.reset();
        make({is_long ? std::uint64_t{100'000} : 8});
        ASSERT_TRUE(receiver_->start().is_ok());
        const Status started = sender_->start();
        // A parcel travels from the outbox, so the sender's round may have ended before it failed.
        if (started.is_ok()) (void)sender_->wait(1, false);
        sender_->settle();
        EXPECT_TRUE(sender_->is_broken());
        EXPECT_EQ(sender_->start().code(), Code::address) << sender_->start().message();
        EXPECT_EQ(failure_of(*receiver_).code(), Code::address);
        EXPECT_EQ(target_, std::vector<char>(sent_bytes_, '.'));
    }
}

TEST_F(FarRoundsTest, a_word_without_all_parcels_is_no_round) {
    make({8, 8, 8});
    ASSERT_TRUE(receiver_->start().is_ok());
    auto* const words = reinterpret_cast<ByParity<RoundWord>*>(landing_.memory);
    for (const std::size_t first : {2U, 0U}) {
        words[first][1].store(1);
        EXPECT_FALSE(has_ended(*receiver_));
    }
    words[1][0].store(9);  // the word that even rounds use
    EXPECT_FALSE(has_ended(*receiver_));
    words[1][1].store(1);
    EXPECT_TRUE(has_ended(*receiver_));
}

}  // namespace
}  // namespace acp::execution
