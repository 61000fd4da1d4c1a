// SPDX-License-Identifier: BSD-3-Clause
// acp_wait_word: each comparison at each width, on both sides of the value where its answer
// changes; words in memory of every kind; and waits that a command or a plain store of another
// thread ends.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <acp.h>

#include "unit/api/places.hpp"

namespace acp::api::test {
namespace {

class WaitForWord : public Places {
protected:
    static int poll(const void* word,
                    std::size_t bytes,
                    acp_word_comparison_t comparison,
                    std::uint64_t value) {
        acp_clear_errno();
        const int code = acp_wait_word(word, bytes, comparison, value, 0);
        EXPECT_EQ(code, acp_errno());
        return code;
    }
};

TEST_F(WaitForWord, compares_unsigned_at_each_width) {
    struct Row {
        acp_word_comparison_t comparison;
        bool is_met_below;  // the word is less than the value
        bool is_met_at;
        bool is_met_above;
    };

    const std::vector<Row> rows{
        {ACP_WORD_EQUAL, false, true, false},   {ACP_WORD_NOT_EQUAL, true, false, true},
        {ACP_WORD_LESS, true, false, false},    {ACP_WORD_LESS_EQUAL, true, true, false},
        {ACP_WORD_GREATER, false, false, true}, {ACP_WORD_GREATER_EQUAL, false, true, true},
    };
    for (const std::size_t bytes : Sizes{1, 2, 4, 8}) {
        const std::uint64_t most = ~std::uint64_t{0} >> (64 - 8 * bytes);
        const std::uint64_t half = most / 2 + 1;  // as a signed number it is negative
        for (const auto& [word, value] :
             std::vector<std::pair<std::uint64_t, std::uint64_t>>{{0, 0},
                                                                  {0, 1},
                                                                  {1, 0},
                                                                  {0, most},
                                                                  {most, 0},
                                                                  {most, most},
                                                                  {most, most - 1},
                                                                  {half, half - 1},
                                                                  {half - 1, half},
                                                                  {half, half},
                                                                  {1, half},
                                                                  {half, 1}}) {
            std::uint8_t* const place = places_[0].bytes + 4096;
            std::memset(place - 8, 0xFF, 24);  // bytes beside the word count for nothing
            std::memcpy(place, &word, bytes);
            for (const Row& row : rows) {
                const bool is_met = word < value    ? row.is_met_below
                                    : word == value ? row.is_met_at
                                                    : row.is_met_above;
                EXPECT_EQ(poll(place, bytes, row.comparison, value),
                          is_met ? ACP_OK : ACP_ERR_TIMEOUT)
                    << word << " and " << value << " of " << bytes << " bytes, comparison "
                    << row.comparison;
            }
        }
    }
}

TEST_F(WaitForWord, takes_memory_of_every_kind_up_to_its_last_byte) {
    static std::uint64_t global = 7;
    std::uint64_t local = 7;
    std::vector<const void*> words{&global, &local};
    for (const Place& place : places_) {
        for (const std::size_t at : {std::size_t{0}, place_bytes - 8}) {
            const std::uint64_t seven = 7;
            std::memcpy(place.bytes + at, &seven, 8);
            words.push_back(place.bytes + at);
        }
    }
    for (const void* word : words) {
        EXPECT_EQ(poll(word, 8, ACP_WORD_EQUAL, 7), ACP_OK) << acp_error_message();
        EXPECT_EQ(poll(word, 8, ACP_WORD_NOT_EQUAL, 7), ACP_ERR_TIMEOUT);
        EXPECT_EQ(poll(static_cast<const char*>(word) + 7, 1, ACP_WORD_EQUAL, 0), ACP_OK);
    }
}

TEST_F(WaitForWord, says_in_a_timeout_what_it_has_waited_for_and_what_it_has_seen) {
    std::uint64_t word = 1234;
    EXPECT_EQ(acp_wait_word(&word, 8, ACP_WORD_GREATER_EQUAL, 5678, 1), ACP_ERR_TIMEOUT);
    const std::string message = acp_error_message();
    for (const char* part : {"acp_wait_word", "8 bytes", "at least 5678", "1234", "by rank 0 on "})
        EXPECT_NE(message.find(part), std::string::npos) << part << ": " << message;
}

TEST_F(WaitForWord, is_ended_by_each_way_in_which_another_thread_writes_the_word) {
    auto* const word = reinterpret_cast<std::uint64_t*>(places_[2].bytes);
    const acp_ga_t address = places_[2].address;
    const std::uint64_t one = 1;
    std::memcpy(places_[0].bytes, &one, sizeof one);
    const acp_ga_t a_one = places_[0].address;
    const std::vector<std::pair<const char*, std::function<void()>>> writers{
        {"a store",
         [&] { std::atomic_ref<std::uint64_t>(*word).store(1, std::memory_order_release); }},
        {"acp_put", [&] { (void)acp_put(address, &one, 8, ACP_HANDLE_NULL); }},
        {"acp_copy", [&] { (void)acp_copy(address, a_one, 8, ACP_HANDLE_NULL); }},
        {"acp_add8", [&] { (void)acp_add8(ACP_GA_NULL, address, 1, ACP_HANDLE_NULL); }},
        {"acp_fetch_swap8", [&] { (void)acp_fetch_swap8(address, 1); }},
        {"acp_put_signal",
         [&] { (void)acp_put_signal(places_[1].address, &one, 8, address, 1, ACP_HANDLE_NULL); }},
    };
    for (const auto& [name, write] : writers) {
        SCOPED_TRACE(name);
        *word = 0;
        std::atomic<bool> is_waiting{false};
        int code = -1;
        std::thread waiter([&] {
            is_waiting = true;
            code = acp_wait_word(word, 8, ACP_WORD_EQUAL, 1, -1);
        });
        while (!is_waiting) std::this_thread::yield();
        write();
        waiter.join();
        EXPECT_EQ(code, ACP_OK);
    }
}

TEST_F(WaitForWord, sees_what_was_written_before_the_signal) {
    auto* const word = reinterpret_cast<std::uint64_t*>(places_[2].bytes + place_bytes - 8);
    for (std::uint64_t turn = 1; turn <= 200; ++turn) {
        *word = turn - 1;
        const std::vector<std::uint8_t> data(512, static_cast<std::uint8_t>(turn));
        std::thread writer([&] {
            (void)acp_put_signal(places_[1].address, data.data(), data.size(),
                                 places_[2].address + place_bytes - 8, 1, ACP_HANDLE_NULL);
        });
        ASSERT_EQ(acp_wait_word(word, 8, ACP_WORD_EQUAL, turn, -1), ACP_OK);
        ASSERT_TRUE(std::equal(data.begin(), data.end(), places_[1].bytes)) << turn;
        writer.join();
    }
}

}  // namespace
}  // namespace acp::api::test
