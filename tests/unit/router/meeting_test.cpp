// SPDX-License-Identifier: BSD-3-Clause
// Meetings of up to 33 nodes in orders that follow from a seed: no node completes a meeting before
// all have joined it, tables are complete and equal, early messages are kept, impossible ones are
// refused.
#include "router/meeting.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <set>

#include "support/random.hpp"

namespace acp::router::test {
namespace {

struct Firsts final : Meeting::Layout {
    explicit Firsts(const std::vector<std::uint32_t>& procs) : at{0} {
        for (std::uint32_t count : procs) at.push_back(at.back() + count);
    }

    [[nodiscard]] std::uint32_t first(std::uint32_t node) const noexcept override {
        return at[node];
    }

    std::vector<std::uint32_t> at;
};

struct Message {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    Meeting::Part part;
    std::vector<std::byte> values;
};

class Meetings {
public:
    Meetings(const std::vector<std::uint32_t>& procs, std::uint64_t seed)
        : firsts_(procs), random_(seed) {
        for (std::uint32_t node = 0; node < procs.size(); ++node) {
            nodes_.push_back(
                std::make_unique<Meeting>(node, static_cast<std::uint32_t>(procs.size()), firsts_));
            come_.push_back(0);
            met_.push_back(0);
        }
    }

    using Content = Meeting::Content;

    // Makes every node complete `meetings` meetings; values, if any, are a mix of meeting and
    // process.
    void run(std::uint32_t meetings, Content gathers) {
        while (*std::min_element(met_.begin(), met_.end()) < meetings) {
            const auto node = static_cast<std::uint32_t>(random_.below(nodes_.size()));
            if (random_.chance(30) && come_[node] == met_[node] && come_[node] < meetings) {
                start(node, gathers);
            }
            send(node);
            if (!under_way_.empty()) deliver(random_.below(under_way_.size()));
            for (std::uint32_t one = 0; one < nodes_.size(); ++one) take(one, gathers);
            if (testing::Test::HasFailure()) return;
        }
        EXPECT_TRUE(under_way_.empty());
    }

    std::uint64_t messages = 0;
    // pairs of nodes that exchanged a message
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;

private:
    static std::uint32_t value(std::uint32_t number, std::uint32_t process) {
        return number * 1000 + process * 7 + 1;
    }

    // Words of which each has its minimum at another node.
    static Meeting::Words words(std::uint32_t number, std::uint32_t node) {
        return {value(number, node), ~value(number, node), (node * 7 + number * 3 + 5) % 11};
    }

    void start(std::uint32_t node, Content gathers) {
        if (gathers == Content::least) {
            const std::uint32_t number = come_[node]++;
            return nodes_[node]->start_min_reduction(number, words(number, node));
        }
        std::vector<std::uint32_t> values;
        for (std::uint32_t process = firsts_.at[node];
             gathers == Content::table && process < firsts_.at[node + 1]; ++process) {
            values.push_back(value(come_[node], process));
        }
        nodes_[node]->start(come_[node]++, values);
    }

    void send(std::uint32_t node) {
        Message message;
        message.from = node;
        while (nodes_[node]->next(3, message.to, message.part)) {
            message.values.resize(std::size_t{message.part.count} * 4);
            nodes_[node]->copy_values(message.part, message.values.data());
            under_way_.push_back(message);
            pairs.insert(std::minmax(message.from, message.to));
            nodes_[node]->sent(message.part);
            ++messages;
        }
    }

    void deliver(std::size_t index) {
        const Message message = under_way_[index];
        under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(index));
        ASSERT_EQ(nodes_[message.to]->hear(message.from, message.part, message.values),
                  Fault::none);
        send(message.to);
    }

    void take(std::uint32_t node, Content gathers) {
        std::uint32_t number = 0;
        std::span<const std::uint32_t> table;
        if (!nodes_[node]->take_met(number, table)) return;
        ASSERT_EQ(number, met_[node]);
        ++met_[node];
        for (const std::uint32_t come : come_)
            ASSERT_GT(come, number) << "through before all had come";
        if (gathers == Content::least) return check_least(number, table);
        ASSERT_EQ(table.size(), gathers == Content::table ? firsts_.at.back() : 0);
        for (std::uint32_t process = 0; process < table.size(); ++process) {
            ASSERT_EQ(table[process], value(number, process));
        }
    }

    void check_least(std::uint32_t number, std::span<const std::uint32_t> least) {
        ASSERT_EQ(least.size(), Meeting::least_words);
        for (std::uint32_t word = 0; word < Meeting::least_words; ++word) {
            std::uint32_t expected = ~0U;
            for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
                expected = std::min(expected, words(number, node)[word]);
            }
            ASSERT_EQ(least[word], expected) << "word " << word;
        }
    }

    Firsts firsts_;
    acp::test::Random random_;
    std::vector<std::unique_ptr<Meeting>> nodes_;
    std::vector<Message> under_way_;
    std::vector<std::uint32_t> come_;
    std::vector<std::uint32_t> met_;
};

TEST(MeetingTest, releases_no_node_before_all_have_entered) {
    for (std::uint32_t nodes = 1; nodes <= 33; ++nodes) {
        Meetings(std::vector<std::uint32_t>(nodes, 1), nodes).run(5, Meeting::Content::nothing);
    }
}

TEST(MeetingTest, gathers_a_table_of_all_processes) {
    acp::test::Random random(99);
    for (std::uint32_t nodes = 1; nodes <= 20; ++nodes) {
        std::vector<std::uint32_t> procs;
        for (std::uint32_t i = 0; i < nodes; ++i)
            procs.push_back(static_cast<std::uint32_t>(random.between(1, 5)));
        Meetings(procs, nodes).run(4, Meeting::Content::table);
    }
}

TEST(MeetingTest, sends_all_nodes_the_minimum_of_each_word) {
    for (std::uint32_t nodes = 1; nodes <= 33; ++nodes) {
        Meetings(std::vector<std::uint32_t>(nodes, 3), nodes).run(5, Meeting::Content::least);
    }
}

TEST(MeetingTest, sends_one_message_per_round_whatever_the_ranks_when_it_is_for_the_least) {
    Meetings meetings(std::vector<std::uint32_t>(10, 1000), 1);
    meetings.run(1, Meeting::Content::least);
    EXPECT_EQ(meetings.messages, 10U * 4);
}

TEST(MeetingTest, sends_one_message_per_round) {
    Meetings meetings(std::vector<std::uint32_t>(10, 1), 1);
    meetings.run(1, Meeting::Content::nothing);
    EXPECT_EQ(meetings.messages, 10U * 4);
}

TEST(MeetingTest, pairs_the_nodes_where_their_number_is_a_power_of_two) {
    Meetings meetings(std::vector<std::uint32_t>(8, 2), 1);
    meetings.run(3, Meeting::Content::table);
    EXPECT_EQ(meetings.pairs.size(), 8U * 3 / 2) << "each talks with three others, both ways";
}

Meeting::Part part(std::uint32_t number, std::uint8_t round) {
    Meeting::Part made;
    made.number = number;
    made.round = round;
    return made;
}

TEST(MeetingTest, refuses_what_cannot_be) {
    const Firsts firsts({1, 1, 1, 1, 1});
    Meeting meeting(0, 5, firsts);
    EXPECT_EQ(meeting.hear(4, part(0, 0), {}), Fault::none);         // early, but valid
    EXPECT_EQ(meeting.hear(4, part(0, 0), {}), Fault::bad_meeting);  // twice
    // no node can be in round 1 yet
    EXPECT_EQ(meeting.hear(4, part(1, 0), {}), Fault::bad_meeting);
    EXPECT_EQ(meeting.hear(1, part(0, 1), {}), Fault::forged);       // not its partner
    EXPECT_EQ(meeting.hear(3, part(0, 3), {}), Fault::bad_meeting);  // there are three rounds
    meeting.start(0, {});
    EXPECT_EQ(meeting.hear(4, part(1, 0), {}), Fault::none);
    const std::vector<std::byte> four(4);
    Meeting::Part values = part(0, 1);
    values.total = 2;
    values.count = 1;
    EXPECT_EQ(meeting.hear(3, values, four), Fault::bad_meeting);  // this meeting has no table
    values = part(1, 1);
    values.total = 3;
    values.count = 1;
    // round 1 carries two nodes' values
    EXPECT_EQ(meeting.hear(3, values, four), Fault::bad_meeting);
    values.total = 2;
    EXPECT_EQ(meeting.hear(3, values, four), Fault::none);
    const std::vector<std::byte> eight(8);
    values.count = 2;
    EXPECT_EQ(meeting.hear(3, values, eight), Fault::overrun);
    const std::vector<std::byte> twelve(12);
    values = part(0, 1);
    values.offset = Meeting::offset_of_least;
    values.total = values.count = Meeting::least_words;
    // the meeting gathers no values
    EXPECT_EQ(meeting.hear(3, values, twelve), Fault::bad_meeting);
    values = part(1, 2);
    values.offset = Meeting::offset_of_least;
    values.total = values.count = 2;
    EXPECT_EQ(meeting.hear(1, values, eight), Fault::bad_meeting);
}

// namespace acp::router::test
}  // namespace
}  // namespace acp::router::test
