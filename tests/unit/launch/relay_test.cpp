// SPDX-License-Identifier: BSD-3-Clause
// Two relays at the ends of a trunk, as on two machines; the test's one thread polls both.
#include "launch/relay.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <gtest/gtest.h>
#include <optional>
#include <string>

#include "os/pipe.hpp"

namespace acp::launch::test {
namespace {

os::Pipe pipe() {
    auto made = os::make_pipe();
    EXPECT_TRUE(made.is_ok());
    return std::move(made).value();
}

class RelayTest : public ::testing::Test {
protected:
    void SetUp() override {
        std::signal(SIGPIPE, SIG_IGN);  // like the programs that use relays
        os::Pipe out = pipe();
        os::Pipe back = pipe();
        auto here = Relay::create(std::move(back.reading), std::move(out.writing));
        auto there = Relay::create(std::move(out.reading), std::move(back.writing));
        ASSERT_TRUE(here.is_ok() && there.is_ok());
        here_.emplace(std::move(here).value());
        there_.emplace(std::move(there).value());
        source_ = pipe();
        target_ = pipe();
        ASSERT_TRUE(there_->take_from(RelayStream::output, std::move(source_.reading)).is_ok());
        ASSERT_TRUE(here_->give_to(RelayStream::output, std::move(target_.writing)).is_ok());
        ASSERT_TRUE(os::set_nonblocking(source_.writing.get()).is_ok());
        ASSERT_TRUE(os::set_nonblocking(target_.reading.get()).is_ok());
    }

    // Polls both until neither has anything to move.
    void poll_both() {
        for (int i = 0; i < 64; ++i) {
            there_->poll(0);
            here_->poll(0);
        }
    }

    // Everything that can be read now.
    std::string arrived() {
        std::string text;
        std::array<char, 4096> room{};
        for (;;) {
            const auto result = os::read_some(target_.reading.get(), room);
            is_at_end_ = result.outcome == os::ReadOutcome::end;
            if (result.outcome != os::ReadOutcome::some) return text;
            text.append(room.data(), result.bytes);
        }
    }

    std::optional<Relay> here_;
    std::optional<Relay> there_;
    os::Pipe source_;
    os::Pipe target_;
    bool is_at_end_ = false;
};

TEST_F(RelayTest, bytes_arrive_as_they_were_written_and_so_does_the_end) {
    std::string sent;
    for (int i = 0; i < 200'000; ++i) sent += static_cast<char>(i * 31 >> 3);
    std::string received;
    for (std::size_t at = 0; at < sent.size();) {
        at += static_cast<std::size_t>(
            os::write_some(source_.writing.get(), std::string_view(sent).substr(at)));
        poll_both();
        received += arrived();
    }
    EXPECT_FALSE(is_at_end_);
    source_.writing.close();
    poll_both();
    received += arrived();
    EXPECT_EQ(received, sent);
    EXPECT_TRUE(is_at_end_);
    EXPECT_TRUE(there_->has_sent_all());
    EXPECT_TRUE(here_->has_given_all());
    EXPECT_TRUE(here_->has_ended(RelayStream::output));
}

TEST_F(RelayTest, an_own_line_goes_between_the_lines_that_arrive_and_costs_no_credit) {
    const std::string block(1000, 'b');
    const auto arrive = [&](const std::string& text) {
        EXPECT_EQ(os::write_some(source_.writing.get(), text), static_cast<int>(text.size()));
        poll_both();
        return arrived();
    };
    here_->insert_line(RelayStream::output, "first");
    EXPECT_EQ(arrived(), "first\n");
    EXPECT_EQ(arrive("beg"), "beg");
    here_->insert_line(RelayStream::output, "own");
    poll_both();
    EXPECT_EQ(arrived(), "");
    EXPECT_EQ(arrive("in"), "in");
    EXPECT_EQ(arrive("\n"), "\nown\n");
    EXPECT_EQ(arrive("next\n"), "next\n");
    // A credit for the own lines would exceed the window, which ends the trunk.
    EXPECT_FALSE(there_->is_cut());
    for (std::size_t sent = 0; sent < 2 * relay_window_bytes; sent += block.size() + 5) {
        here_->insert_line(RelayStream::output, "more");
        EXPECT_EQ(arrived() + arrive(block + "\n"), "more\n" + block + "\n");
    }
    EXPECT_FALSE(there_->is_cut());
}

TEST_F(RelayTest, an_own_line_arrives_at_once_where_nothing_is_unread) {
    os::Pipe wake = pipe();
    ASSERT_TRUE(here_->wake_for(wake.reading.get()).is_ok());
    ASSERT_EQ(os::write_some(wake.writing.get(), "x"), 1);
    here_->poll();  // ends, though no bytes can be moved
    here_->insert_line(RelayStream::output, "own");
    EXPECT_EQ(arrived(), "own\n");
}

TEST_F(RelayTest, an_unread_stream_stops_and_the_others_continue) {
    os::Pipe talk = pipe();
    os::Pipe heard = pipe();
    ASSERT_TRUE(there_->take_from(RelayStream::channel, std::move(talk.reading)).is_ok());
    ASSERT_TRUE(here_->give_to(RelayStream::channel, std::move(heard.writing)).is_ok());
    const std::string block(65536, 'b');
    std::size_t taken = 0;
    for (int i = 0; i < 32; ++i) {
        taken += static_cast<std::size_t>(os::write_some(source_.writing.get(), block));
        poll_both();
    }
    // At most the bytes of two pipes and a window are in flight, not the two megabytes that were
    // offered.
    EXPECT_LE(taken, 2 * 65536 + relay_window_bytes);
    ASSERT_EQ(os::write_all(talk.writing.get(), "failed 3"), 0);
    poll_both();
    std::array<char, 64> room{};
    const auto result = os::read_some(heard.reading.get(), room);
    EXPECT_EQ(std::string(room.data(), result.bytes), "failed 3");
    EXPECT_EQ(arrived().size(), 65536U);
    poll_both();
    EXPECT_GT(arrived().size(), 0U);
}

TEST_F(RelayTest, a_writer_is_notified_when_its_reader_is_gone) {
    target_.reading.close();
    ASSERT_EQ(os::write_all(source_.writing.get(), "x"), 0);
    poll_both();
    EXPECT_EQ(os::write_all(source_.writing.get(), "y"), EPIPE);
}

TEST_F(RelayTest, a_lost_trunk_ends_every_stream) {
    ASSERT_EQ(os::write_all(source_.writing.get(), "last"), 0);
    poll_both();
    there_.reset();
    here_->poll(0);
    EXPECT_EQ(arrived(), "last");
    EXPECT_TRUE(is_at_end_);
    EXPECT_TRUE(here_->is_cut());
    EXPECT_TRUE(here_->has_given_all());
    EXPECT_FALSE(here_->has_ended(RelayStream::output));
}

// A sender may end before its last bytes are read, while credit for them is still to be returned.
TEST_F(RelayTest, all_that_was_sent_arrives_though_the_sender_is_gone) {
    const std::string sent(40'000, 's');
    ASSERT_EQ(os::write_all(source_.writing.get(), sent), 0);
    source_.writing.close();
    while (!there_->has_sent_all()) there_->poll(0);
    there_.reset();
    std::string received;
    for (int i = 0; i < 16; ++i) {
        here_->poll(0);
        received += arrived();
    }
    EXPECT_EQ(received.size(), sent.size());
    EXPECT_TRUE(received == sent);
    EXPECT_TRUE(is_at_end_);
    EXPECT_TRUE(here_->has_ended(RelayStream::output));
}

TEST_F(RelayTest, what_is_taken_without_a_trunk_is_dropped) {
    here_.reset();
    const std::string block(65536, 'b');
    for (int i = 0; i < 32; ++i) {
        EXPECT_EQ(os::write_some(source_.writing.get(), block), 65536);
        for (int round = 0; round < 16; ++round) there_->poll(0);
    }
    source_.writing.close();
    there_->poll(0);
    EXPECT_TRUE(there_->has_sent_all());
}

TEST_F(RelayTest, only_the_last_words_of_the_side_are_kept) {
    os::Pipe side = pipe();
    ASSERT_TRUE(here_->listen_to(std::move(side.reading)).is_ok());
    ASSERT_EQ(os::write_all(side.writing.get(), std::string(10'000, 'x') + "closed"), 0);
    poll_both();
    EXPECT_EQ(here_->words().size(), 4096U);
    EXPECT_EQ(here_->words().substr(4090), "closed");
}

// A relay receives bytes that no relay sends.
TEST(RelayTrunkTest, whatever_comes_that_is_no_frame_cuts_the_trunk) {
    const std::string window_and_one("\0\0\0\0\x01\0\1\0", 8);
    for (const std::string& bytes :
         {std::string("\4\0\0\0\0\0\0\0", 8), std::string("\0\4\0\0\0\0\0\0", 8), window_and_one,
          std::string("\2\1\0\0\1\0\0\0", 8)}) {  // credit that was never used
        os::Pipe out = pipe();
        os::Pipe back = pipe();
        auto relay = Relay::create(std::move(back.reading), std::move(out.writing));
        ASSERT_TRUE(relay.is_ok());
        ASSERT_EQ(os::write_all(back.writing.get(), bytes), 0);
        relay.value().poll(0);
        EXPECT_TRUE(relay.value().is_cut());
    }
}

TEST(RelayTrunkTest, a_frame_may_come_in_pieces) {
    os::Pipe out = pipe();
    os::Pipe back = pipe();
    os::Pipe target = pipe();
    auto relay = Relay::create(std::move(back.reading), std::move(out.writing));
    ASSERT_TRUE(relay.is_ok());
    ASSERT_TRUE(relay.value().give_to(RelayStream::error, std::move(target.writing)).is_ok());
    const std::string frame("\3\0\0\0\2\0\0\0hi", 10);
    for (const char byte : frame) {
        ASSERT_EQ(os::write_all(back.writing.get(), {&byte, 1}), 0);
        relay.value().poll(0);
    }
    std::array<char, 8> room{};
    const auto result = os::read_some(target.reading.get(), room);
    EXPECT_EQ(std::string(room.data(), result.bytes), "hi");
}

}  // namespace
}  // namespace acp::launch::test
