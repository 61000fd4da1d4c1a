// SPDX-License-Identifier: BSD-3-Clause
// What every kind of link keeps to. A kind is instantiated with a bed, the link and all that stands behind it,
// by INSTANTIATE_TYPED_TEST_SUITE_P(name, LinkConformance, Bed).
// One thread.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <map>
#include <vector>

#include "remote/link.hpp"

#include "support/refuse_memory.hpp"

namespace acp::remote::test {

// What the suite needs of a bed, which is made by its default constructor:
//   Link& link()
//   memory::Command good()       a command that ends well; the same may be under way many times
//   memory::Command bad()        one whose source is no memory
//   std::uint32_t bad_process()  whose memory that would be
//   void work()                  what is behind the link goes on a little
template <typename Bed>
class LinkConformance : public testing::Test {
protected:
    static constexpr int turns_max = 100'000;

    Link& link() { return bed_.link(); }

    // Turns until so many commands have ended.
    void await(std::size_t count) {
        for (int i = 0; i < turns_max && codes_.size() < count; ++i) {
            bed_.work();
            std::vector<Ended> ended;
            const bool has_moved = link().turn(ended);
            EXPECT_TRUE(has_moved || ended.empty());
            for (const Ended& one : ended) {
                for (std::uint32_t k = 0; k < one.count; ++k) {
                    EXPECT_TRUE(codes_.emplace(one.token + 2 * std::uint64_t{k}, one).second)
                        << "token " << one.token << " ended twice";
                }
            }
        }
        ASSERT_EQ(codes_.size(), count);
    }

    Bed bed_;
    std::map<std::uint64_t, Ended> codes_;  // by token
};

TYPED_TEST_SUITE_P(LinkConformance);

TYPED_TEST_P(LinkConformance, every_command_ends_once_under_its_token) {
    constexpr std::uint64_t commands = 300;
    for (std::uint64_t i = 1; i <= commands; ++i) {
        ASSERT_TRUE(this->link().submit(2 * i, this->bed_.good()));
        if (i % 7 == 0) this->link().flush();
    }
    this->link().flush();
    this->await(commands);
    for (std::uint64_t i = 1; i <= commands; ++i) {
        ASSERT_TRUE(this->codes_.contains(2 * i));
        EXPECT_EQ(this->codes_[2 * i].code, base::Code::ok);
    }
}

TYPED_TEST_P(LinkConformance, a_failure_names_its_end_and_process_and_spoils_no_other_command) {
    ASSERT_TRUE(this->link().submit(2, this->bed_.good()));
    ASSERT_TRUE(this->link().submit(4, this->bed_.bad()));
    ASSERT_TRUE(this->link().submit(6, this->bed_.good()));
    this->link().flush();
    this->await(3);
    EXPECT_EQ(this->codes_[2].code, base::Code::ok);
    EXPECT_EQ(this->codes_[4].code, base::Code::address);
    EXPECT_EQ(this->codes_[4].end, FailedEnd::source);
    EXPECT_EQ(this->codes_[4].process, this->bed_.bad_process());
    EXPECT_EQ(this->codes_[6].code, base::Code::ok);
}

TYPED_TEST_P(LinkConformance, a_full_link_refuses_and_has_room_again_when_commands_have_ended) {
    constexpr std::uint64_t bound = 1 << 20;
    std::uint64_t count = 0;
    while (count < bound && this->link().submit(2 * (count + 1), this->bed_.good())) ++count;
    ASSERT_LT(count, bound) << "it has a limit";
    ASSERT_GE(count, 64U);
    EXPECT_FALSE(this->link().submit(2 * (count + 1), this->bed_.good()));
    this->link().flush();
    this->await(count);
    EXPECT_TRUE(this->link().submit(2 * (count + 1), this->bed_.good()));
    this->link().flush();
    this->await(count + 1);
    EXPECT_FALSE(this->codes_.contains(2 * (count + 2)));
}

TYPED_TEST_P(LinkConformance, loses_no_end_when_no_memory_is_left_for_it) {
    constexpr std::uint64_t commands = 200;
    std::uint64_t taken = 0;
    while (taken < commands && this->link().submit(2 * (taken + 1), this->bed_.bad())) ++taken;
    this->link().flush();
    std::vector<Ended> ended;
    ended.reserve(3);
    std::uint64_t seen = 0;
    for (int i = 0; i < 100'000 && seen < taken; ++i) {
        this->bed_.work();
        const acp::test::Refusal refusal(1, acp::test::all_from_there);
        (void)this->link().turn(ended);
        ASSERT_LE(ended.size(), 3U);
        for (const Ended& one : ended) {
            EXPECT_EQ(one.token, 2 * ++seen);
            EXPECT_EQ(one.code, base::Code::address);
        }
        ended.clear();
    }
    EXPECT_EQ(seen, taken);
}

TYPED_TEST_P(LinkConformance, has_no_news_when_nothing_is_under_way) {
    std::vector<Ended> ended;
    ASSERT_TRUE(this->link().submit(2, this->bed_.good()));
    this->link().flush();
    this->await(1);
    for (int i = 0; i < 10; ++i) {
        this->bed_.work();
        (void)this->link().turn(ended);
    }
    EXPECT_FALSE(this->link().has_news());
    EXPECT_TRUE(ended.empty());
}

REGISTER_TYPED_TEST_SUITE_P(LinkConformance,
                            every_command_ends_once_under_its_token,
                            a_failure_names_its_end_and_process_and_spoils_no_other_command,
                            a_full_link_refuses_and_has_room_again_when_commands_have_ended,
                            loses_no_end_when_no_memory_is_left_for_it,
                            has_no_news_when_nothing_is_under_way);

}  // namespace acp::remote::test
