// SPDX-License-Identifier: BSD-3-Clause
// <acp/error.h> and the version: the phrase of every code, what acp_errno and acp_error_message say
// after failures and successes, in each thread, and how a message that is too long is cut.
#include <cstdint>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/last_error.hpp"
#include "base/status.hpp"

#include <acp.h>

#include "unit/api/one_rank_job.hpp"

namespace acp::api::test {
namespace {

// The codes as programs have them: they are never renumbered (include/acp/error.h).
constexpr std::pair<int, const char*> codes[] = {
    {ACP_OK, "success"},
    {ACP_ERR_ARGUMENT, "argument"},
    {ACP_ERR_ADDRESS, "address"},
    {ACP_ERR_STALE, "gone"},
    {ACP_ERR_ALIGNMENT, "aligned"},
    {ACP_ERR_ORDER, "ordered after"},
    {ACP_ERR_PEER, "dead"},
    {ACP_ERR_TIMEOUT, "timed out"},
    {ACP_ERR_INTERRUPTED, "signal"},
    {ACP_ERR_MEMORY, "memory"},
    {ACP_ERR_LIMIT, "limit"},
    {ACP_ERR_STATE, "state"},
    {ACP_ERR_FORKED, "forked"},
    {ACP_ERR_CONFIG, "configuration"},
    {ACP_ERR_SYSTEM, "system call"},
    {ACP_ERR_MISMATCH, "different"},
    {ACP_ERR_UNSUPPORTED, "not supported"},
    {ACP_ERR_TRUNCATED, "longer than its buffer"},
    {ACP_ERR_CANCELLED, "cancelled"},
    {ACP_ERR_EXCEPTION, "fault or an exception"},
};

TEST(ErrorCodes, have_numbers_that_never_change_and_a_phrase_each) {
    std::set<std::string> phrases;
    int number = 0;
    for (const auto& [code, part] : codes) {
        EXPECT_EQ(code, number++);
        EXPECT_NE(std::string(acp_strerror(code)).find(part), std::string::npos)
            << acp_strerror(code);
        EXPECT_EQ(acp_strerror(code), acp_strerror(code)) << "static text";
        phrases.insert(acp_strerror(code));
    }
    EXPECT_EQ(number, base::code_count);
    EXPECT_EQ(phrases.size(), static_cast<std::size_t>(base::code_count))
        << "two codes share a phrase";
}

TEST(ErrorCodes, numbers_that_are_no_code_are_unknown_errors) {
    for (const int number : {-1, -2, base::code_count, base::code_count + 1, 255, 4096,
                             std::numeric_limits<int>::min(), std::numeric_limits<int>::max()})
        EXPECT_STREQ(acp_strerror(number), "unknown error") << number;
}

TEST(LastErrorTest, keeps_the_code_and_the_message_of_the_last_failure) {
    LastError error;
    EXPECT_EQ(error.code(), 0);
    EXPECT_STREQ(error.text(), "");
    for (const auto& [code, part] : codes) {
        error.set(base::Status(static_cast<base::Code>(code), part));
        EXPECT_EQ(error.code(), code);
        EXPECT_STREQ(error.text(), code == ACP_OK ? error.text() : part);
        error.set(static_cast<base::Code>(code), "acp_call", part);
        EXPECT_EQ(error.code(), code);
        EXPECT_EQ(error.text(), "acp_call: " + std::string(part));
    }
    error.clear();
    EXPECT_EQ(error.code(), 0);
    EXPECT_STREQ(error.text(), "");
}

TEST(LastErrorTest, cuts_a_message_after_511_bytes) {
    for (const std::size_t bytes : Sizes{0, 1, 510, 511, 512, 513, 5000}) {
        LastError error;
        const std::string text(bytes, 'x');
        error.set(base::Code::system, text);
        EXPECT_EQ(error.text(), text.substr(0, 511)) << bytes;
        error.set(base::Code::memory, "acp_call", text.c_str());
        EXPECT_EQ(error.text(), ("acp_call: " + text).substr(0, 511)) << bytes;
        error.set(base::Code::system, "short");
        EXPECT_STREQ(error.text(), "short") << "nothing of the longer one stays";
    }
}

TEST(LastErrorTest, a_message_may_have_signs_that_formats_interpret) {
    LastError error;
    error.set(base::Code::argument, "%s%n%d", "%s %n 100%");
    EXPECT_STREQ(error.text(), "%s%n%d: %s %n 100%");
    error.set(base::Code::argument, "%s %n 100%");
    EXPECT_STREQ(error.text(), "%s %n 100%");
}

class LastFailure : public OneRankJob {};

TEST_F(LastFailure, stays_after_successes_until_the_next_failure_or_until_it_is_cleared) {
    acp_clear_errno();
    EXPECT_EQ(acp_errno(), ACP_OK);
    EXPECT_STREQ(acp_error_message(), "");
    EXPECT_EQ(acp_query_starter_ga(1), ACP_GA_NULL);
    EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT);
    const std::string message = acp_error_message();
    EXPECT_EQ(acp_rank(), 0);
    EXPECT_EQ(acp_complete(acp_copy(starter_, starter_, 8, ACP_HANDLE_NULL)), 0);
    EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT) << "a success changes nothing";
    EXPECT_EQ(acp_error_message(), message);
    EXPECT_EQ(acp_query_rank(ACP_GA_NULL), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS);
    EXPECT_NE(acp_error_message(), message);
    acp_clear_errno();
    EXPECT_EQ(acp_errno(), ACP_OK);
    EXPECT_STREQ(acp_error_message(), "");
}

TEST_F(LastFailure, is_that_of_the_calling_thread) {
    EXPECT_EQ(acp_query_starter_ga(1), ACP_GA_NULL);
    const char* const here = acp_error_message();
    std::thread([&] {
        EXPECT_EQ(acp_errno(), ACP_OK);
        EXPECT_STREQ(acp_error_message(), "");
        EXPECT_EQ(acp_query_rank(ACP_GA_NULL), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS);
        EXPECT_NE(acp_error_message(), here) << "each thread has a buffer of its own";
        acp_clear_errno();
    }).join();
    EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT);
    EXPECT_NE(std::string(acp_error_message()).find("rank 1 "), std::string::npos)
        << acp_error_message();
}

TEST_F(LastFailure, names_the_call_the_rank_and_the_host_once) {
    const auto count = [](const std::string& text, const std::string& part) {
        std::size_t times = 0;
        for (std::size_t at = text.find(part); at != std::string::npos;
             at = text.find(part, at + 1))
            ++times;
        return times;
    };
    std::uint64_t word = 0;
    acp_handle_t failed = ACP_HANDLE_NULL;
    const std::vector<std::pair<const char*, std::function<void()>>> failures{
        {"acp_query_starter_ga", [] { (void)acp_query_starter_ga(9); }},
        {"acp_register_memory", [&] { (void)acp_register_memory(&word, 0, 0); }},
        {"acp_unregister_memory", [] { (void)acp_unregister_memory(77); }},
        {"acp_query_ga", [&] { (void)acp_query_ga(77, &word); }},
        {"acp_query_address", [] { (void)acp_query_address(7); }},
        {"acp_query_rank", [] { (void)acp_query_rank(7); }},
        {"acp_malloc", [] { (void)acp_malloc(8, 9); }},
        {"acp_free", [&] { (void)acp_free(starter_); }},
        {"acp_heap_check", [] { (void)acp_heap_check(9); }},
        {"acp_create_lock", [] { (void)acp_create_lock(9); }},
        {"acp_unlock", [] { (void)acp_unlock({ACP_GA_NULL}); }},
        {"acp_wait_word", [&] { (void)acp_wait_word(&word, 3, ACP_WORD_EQUAL, 0, 0); }},
        {"acp_fetch_add8", [&] { (void)acp_fetch_add8(starter_end_, 1); }},
        {"acp_copy",
         [&] {
             failed = acp_copy(starter_, starter_end_, 8, ACP_HANDLE_NULL);
             (void)acp_wait(failed, 0);
         }},
        {"acp_put", [&] { (void)acp_wait(acp_put(starter_end_, &word, 8, ACP_HANDLE_NULL), 0); }},
        {"acp_cas4", [&] { (void)acp_complete(acp_cas4(0, starter_ + 1, 0, 0, ACP_HANDLE_NULL)); }},
        {"acp_reset", [] { (void)acp_reset(1); }},
        {"acp_init", [] { (void)acp_init(nullptr, nullptr); }},
    };
    for (const auto& [call, fail] : failures) {
        acp_clear_errno();
        fail();
        const std::string message = acp_error_message();
        EXPECT_NE(acp_errno(), ACP_OK) << call;
        EXPECT_TRUE(message.starts_with(call)) << message;
        EXPECT_LE(count(message, std::string(call) + " by "), 1U) << message;
        EXPECT_EQ(count(message, " by rank 0 on "), 1U) << message;
        EXPECT_GT(message.size(), std::strlen(call) + 20) << message;
    }
}

TEST(Version, of_the_library_is_that_of_the_headers) {
    EXPECT_EQ(acp_version(), std::to_string(ACP_VERSION_MAJOR) + "." +
                                 std::to_string(ACP_VERSION_MINOR) + "." +
                                 std::to_string(ACP_VERSION_PATCH));
    EXPECT_EQ(acp_version(), acp_version()) << "static text";
    EXPECT_EQ(ACP_VERSION / 10000, ACP_VERSION_MAJOR);
    EXPECT_EQ(ACP_VERSION / 100 % 100, ACP_VERSION_MINOR);
    EXPECT_EQ(ACP_VERSION % 100, ACP_VERSION_PATCH);
}

}  // namespace
}  // namespace acp::api::test
