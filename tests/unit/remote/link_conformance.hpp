// SPDX-License-Identifier: BSD-3-Clause
// The contract of every kind of link. A kind is instantiated with a bed, which has the link and its
// gateway, by INSTANTIATE_TYPED_TEST_SUITE_P(name, LinkConformance, Bed).
// One thread.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <vector>

#include "remote/link.hpp"

#include "support/refuse_memory.hpp"
#include "unit/remote/test_call.hpp"

namespace acp::remote::test {

// The members that the suite needs of a bed, which is made by its default constructor:
//   Link& link()
//   memory::Command good()       a command that succeeds; may be in flight several times
//   memory::Command bad()        a command whose source is no memory
//   std::uint32_t bad_process()  the process that bad()'s source names
//   TestCall echo(std::span<const std::byte> bytes)   an invoke whose result are these bytes
//   TestCall unknown()           an invoke of an unknown operation
//   void work()                  makes the gateway make some progress
template <typename Bed>
class LinkConformance : public testing::Test {
protected:
    static constexpr int turns_max = 100'000;

    Link& link() { return bed_.link(); }

    // Polls until `count` commands have completed.
    void await(std::size_t count) {
        await_at_least(count);
        ASSERT_EQ(codes_.size(), count);
    }

    void await_at_least(std::size_t count) {
        for (int i = 0; i < turns_max && codes_.size() < count; ++i) poll();
        ASSERT_GE(codes_.size(), count);
    }

    void poll() {
        bed_.work();
        std::vector<Ended> ended;
        const bool has_moved = link().poll(ended);
        EXPECT_TRUE(has_moved || ended.empty());
        for (const Ended& one : ended) {
            if (const auto call = places_.extract(one.token)) free_places_.push_back(call.mapped());
            for (std::uint32_t k = 0; k < one.count; ++k) {
                EXPECT_TRUE(codes_.emplace(one.token + 2 * std::uint64_t{k}, one).second)
                    << "token " << one.token << " ended twice";
            }
            if (one.result != nullptr) {
                results_[one.token] = {one.result, one.result + one.result_bytes};
            }
        }
    }

    // Submits an invoke; waits until there is room.
    void invoke(std::uint64_t token, const TestCall& call) {
        while (free_places_.empty()) {
            link().flush();
            await_at_least(codes_.size() + 1);
        }
        const std::uint32_t place = free_places_.back();
        while (!test::invoke(link(), token, call, place)) {
            link().flush();
            await_at_least(codes_.size() + 1);
        }
        free_places_.pop_back();
        places_.emplace(token, place);
    }

    [[nodiscard]] static std::vector<std::uint32_t> all_places() {
        std::vector<std::uint32_t> all(invokes_max);
        std::iota(all.begin(), all.end(), 0U);
        return all;
    }

    // The arguments of a token: `bytes` bytes that differ from those of other tokens.
    [[nodiscard]] static std::vector<std::byte> arguments_of(std::uint64_t token,
                                                             std::size_t bytes) {
        std::vector<std::byte> arguments(bytes);
        for (std::size_t i = 0; i < bytes; ++i) {
            arguments[i] = static_cast<std::byte>(token * 31 + i * (token % 7 + 1));
        }
        return arguments;
    }

    Bed bed_;
    std::map<std::uint64_t, Ended> codes_;                     // the key is the token
    std::map<std::uint64_t, std::vector<std::byte>> results_;  // results of invokes, by token
    std::vector<std::uint32_t> free_places_ = all_places();
    std::map<std::uint64_t, std::uint32_t> places_;  // places of invokes in flight, by token
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
    EXPECT_EQ(this->codes_[4].blamed, BlamedAddress::source);
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
        (void)this->link().poll(ended);
        ASSERT_LE(ended.size(), 3U);
        for (const Ended& one : ended) {
            EXPECT_EQ(one.token, 2 * ++seen);
            EXPECT_EQ(one.code, base::Code::address);
        }
        ended.clear();
    }
    EXPECT_EQ(seen, taken);
}

TYPED_TEST_P(LinkConformance, has_no_completions_when_nothing_is_in_flight) {
    std::vector<Ended> ended;
    ASSERT_TRUE(this->link().submit(2, this->bed_.good()));
    this->link().flush();
    this->await(1);
    for (int i = 0; i < 10; ++i) {
        this->bed_.work();
        (void)this->link().poll(ended);
    }
    EXPECT_FALSE(this->link().has_news());
    EXPECT_TRUE(ended.empty());
}

TYPED_TEST_P(LinkConformance, every_invoke_brings_its_own_result_and_leaves_commands_alone) {
    constexpr std::uint64_t commands = 600;
    for (std::uint64_t i = 1; i <= commands; ++i) {
        const std::uint64_t token = 2 * i;
        if (i % 3 == 0) {
            ASSERT_TRUE(this->link().submit(token, this->bed_.good()));
        } else {
            const auto arguments = this->arguments_of(token, i % 5 == 0 ? 1 : 16);
            this->invoke(token, this->bed_.echo(arguments));
        }
        if (i % 40 == 0) this->link().flush();
    }
    this->link().flush();
    this->await(commands);
    for (std::uint64_t i = 1; i <= commands; ++i) {
        const std::uint64_t token = 2 * i;
        EXPECT_EQ(this->codes_[token].code, base::Code::ok);
        EXPECT_EQ(this->results_.contains(token), i % 3 != 0) << token;
        if (i % 3 == 0) continue;
        EXPECT_EQ(this->results_[token], this->arguments_of(token, i % 5 == 0 ? 1 : 16)) << token;
    }
}

TYPED_TEST_P(LinkConformance, carries_arguments_and_results_of_every_length_to_the_longest) {
    std::uint64_t token = 0;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{1023},
                                    std::size_t{memory::invoke_bytes_max}}) {
        token += 2;
        this->invoke(token, this->bed_.echo(this->arguments_of(token, bytes)));
        this->link().flush();
        this->await(token / 2);
        EXPECT_EQ(this->codes_[token].code, base::Code::ok);
        EXPECT_EQ(this->results_[token], this->arguments_of(token, bytes));
    }
}

TYPED_TEST_P(LinkConformance, an_invoke_that_fails_brings_its_code_and_no_result) {
    const auto arguments = this->arguments_of(2, 8);
    this->invoke(2, this->bed_.echo(arguments));
    this->invoke(4, this->bed_.unknown());
    this->invoke(6, this->bed_.echo(arguments));
    this->link().flush();
    this->await(3);
    EXPECT_EQ(this->codes_[2].code, base::Code::ok);
    EXPECT_EQ(this->codes_[4].code, base::Code::unsupported);
    EXPECT_EQ(this->codes_[4].process, this->bed_.bad_process());
    EXPECT_FALSE(this->results_.contains(4));
    EXPECT_EQ(this->codes_[6].code, base::Code::ok);
    EXPECT_EQ(this->results_[6], arguments);
}

TYPED_TEST_P(LinkConformance, takes_as_many_invokes_at_once_as_there_are_places) {
    const auto arguments = this->arguments_of(2, 8);
    for (std::uint64_t i = 1; i <= invokes_max; ++i) {
        const auto place = static_cast<std::uint32_t>(i - 1);
        ASSERT_TRUE(test::invoke(this->link(), 2 * i, this->bed_.echo(arguments), place)) << i;
    }
    this->link().flush();
    this->await(invokes_max);
    for (const auto& [token, result] : this->results_) EXPECT_EQ(result, arguments) << token;
    EXPECT_EQ(this->results_.size(), invokes_max);
}

REGISTER_TYPED_TEST_SUITE_P(LinkConformance,
                            every_invoke_brings_its_own_result_and_leaves_commands_alone,
                            carries_arguments_and_results_of_every_length_to_the_longest,
                            an_invoke_that_fails_brings_its_code_and_no_result,
                            takes_as_many_invokes_at_once_as_there_are_places,
                            every_command_ends_once_under_its_token,
                            a_failure_names_its_end_and_process_and_spoils_no_other_command,
                            a_full_link_refuses_and_has_room_again_when_commands_have_ended,
                            loses_no_end_when_no_memory_is_left_for_it,
                            has_no_completions_when_nothing_is_in_flight);

}  // namespace acp::remote::test
