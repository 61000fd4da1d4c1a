// SPDX-License-Identifier: BSD-3-Clause
// The internal codes are the public ones, and a Status keeps its message. One thread.
#include "base/status.hpp"

#include <array>
#include <gtest/gtest.h>
#include <string>
#include <utility>

#include <acp/error.h>

#include "support/refuse_memory.hpp"

namespace acp::base {
namespace {

TEST(Status, internal_codes_have_the_public_codes_values) {
    const std::array<std::pair<Code, int>, code_count> pairs = {{
        {Code::ok, ACP_OK},
        {Code::argument, ACP_ERR_ARGUMENT},
        {Code::address, ACP_ERR_ADDRESS},
        {Code::stale, ACP_ERR_STALE},
        {Code::alignment, ACP_ERR_ALIGNMENT},
        {Code::order, ACP_ERR_ORDER},
        {Code::peer, ACP_ERR_PEER},
        {Code::timeout, ACP_ERR_TIMEOUT},
        {Code::interrupted, ACP_ERR_INTERRUPTED},
        {Code::memory, ACP_ERR_MEMORY},
        {Code::limit, ACP_ERR_LIMIT},
        {Code::state, ACP_ERR_STATE},
        {Code::forked, ACP_ERR_FORKED},
        {Code::config, ACP_ERR_CONFIG},
        {Code::system, ACP_ERR_SYSTEM},
        {Code::mismatch, ACP_ERR_MISMATCH},
        {Code::unsupported, ACP_ERR_UNSUPPORTED},
        {Code::truncated, ACP_ERR_TRUNCATED},
        {Code::cancelled, ACP_ERR_CANCELLED},
        {Code::exception, ACP_ERR_EXCEPTION},
    }};
    for (int value = 0; value < code_count; ++value) {
        const auto& [internal, external] = pairs[static_cast<std::size_t>(value)];
        EXPECT_EQ(static_cast<int>(internal), value);
        EXPECT_EQ(external, value);
    }
}

TEST(Status, every_code_has_its_own_phrase) {
    for (int value = 0; value < code_count; ++value) {
        const std::string phrase_of_value = phrase(static_cast<Code>(value));
        EXPECT_NE(phrase_of_value, "unknown error") << "code " << value;
        for (int other = 0; other < value; ++other) {
            EXPECT_NE(phrase_of_value, phrase(static_cast<Code>(other)))
                << value << " and " << other;
        }
    }
}

TEST(Status, values_outside_the_list_have_the_phrase_unknown_error) {
    EXPECT_STREQ(phrase(static_cast<Code>(code_count)), "unknown error");
    EXPECT_STREQ(phrase(static_cast<Code>(-1)), "unknown error");
}

TEST(Status, a_caller_adds_its_phrase_before_the_discoverers_message) {
    Status status = Status(Code::peer, "rank 3 exited").within("waiting for the barrier");
    EXPECT_EQ(status.code(), Code::peer);
    EXPECT_EQ(status.message(), "waiting for the barrier: rank 3 exited");
}

TEST(Status, ok_stays_ok_when_a_caller_adds_a_phrase) {
    const Status status = Status().within("opening");
    EXPECT_TRUE(status.is_ok());
    EXPECT_EQ(status.code(), Code::ok);
    EXPECT_EQ(status.message(), "");
}

TEST(Result, gives_the_value_or_the_failure) {
    const Result<std::string> good = std::string("value");
    ASSERT_TRUE(good.is_ok());
    EXPECT_EQ(good.value(), "value");

    const Result<std::string> bad = Status(Code::limit, "4097 registrations, at most 4096");
    ASSERT_FALSE(bad.is_ok());
    EXPECT_EQ(bad.failure().code(), Code::limit);
    EXPECT_EQ(bad.failure().message(), "4097 registrations, at most 4096");
}

TEST(Status, without_memory_keeps_its_code_and_has_a_fixed_message) {
    const std::string long_words(1000, 'x');
    std::array<Status, 4> made;
    {
        const acp::test::Refusal refusal(1, acp::test::all_from_there);
        made[0] = Status::worded(Code::peer, [&] { return long_words + long_words; });
        made[1] = Status::bare(Code::memory);
        made[2] = Status(Code::address, std::string());
        made[3] =
            Status::bare(Code::order).within("a phrase that is too long for no memory at all");
    }
    const std::array<Code, 4> codes = {Code::peer, Code::memory, Code::address, Code::order};
    for (std::size_t i = 0; i < made.size(); ++i) {
        EXPECT_FALSE(made[i].is_ok());
        EXPECT_EQ(made[i].code(), codes[i]);
        EXPECT_FALSE(made[i].message().empty());
    }
}

TEST(Status, with_memory_keeps_the_words_whole) {
    const Status status =
        Status::worded(Code::peer, [] { return std::string("rank 3 exited"); }).within("waiting");
    EXPECT_EQ(status.message(), "waiting: rank 3 exited");
    EXPECT_EQ(Status::bare(Code::order).within("waiting").message(),
              "waiting: not run: a command it was ordered after failed");
}

}  // namespace
}  // namespace acp::base
