// SPDX-License-Identifier: BSD-3-Clause
// Global addresses of a job of one rank: starter memory, registrations, keys, colours, and the
// pointers, ranks and colours of addresses, at the first and the last byte of each and beside them.
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <set>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "unit/api/called.hpp"
#include "unit/api/one_rank_job.hpp"

namespace acp::api::test {
namespace {

constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();

class Memory : public OneRankJob {
protected:
    // Whether a byte of a range is reached by its address, by a pointer and by commands.
    static void expect_reachable(acp_ga_t address, std::uint8_t* byte) {
        EXPECT_EQ(acp_query_address(address), byte) << acp_error_message();
        EXPECT_EQ(acp_query_rank(address), 0);
        *byte = 0x3C;
        std::uint8_t got = 0;
        EXPECT_EQ(acp_complete(acp_get(&got, address, 1, ACP_HANDLE_NULL)), 0)
            << acp_error_message();
        EXPECT_EQ(got, 0x3C);
    }

    static void expect_gone(acp_ga_t address, int code) {
        acp_clear_errno();
        EXPECT_EQ(acp_query_address(address), nullptr);
        EXPECT_EQ(acp_errno(), code) << acp_error_message();
        std::uint8_t got = 0;
        EXPECT_EQ(acp_wait(acp_get(&got, address, 1, ACP_HANDLE_NULL), -1), code)
            << acp_error_message();
    }
};

TEST_F(Memory, starter_memory_is_reached_from_its_first_to_its_last_byte) {
    const std::size_t bytes = acp_starter_size();
    EXPECT_EQ(bytes, 65536U) << "the default of ACP_STARTER_SIZE";
    auto* const first = reinterpret_cast<std::uint8_t*>(words_);
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4096}, bytes - 1})
        expect_reachable(starter_ + at, first + at);
    expect_gone(starter_ + bytes, ACP_ERR_ADDRESS);
    EXPECT_EQ(acp_query_color(starter_), 0);
    EXPECT_EQ(acp_query_starter_ga(0), starter_) << "each time the same";
    words_[0] = 0;  // as SetUp has made it
}

TEST_F(Memory, a_registration_of_any_size_is_reached_from_its_first_to_its_last_byte) {
    for (const std::size_t bytes : Sizes{1, 7, 8, 9, 4095, 4096, 4097, 65536, 1 << 20}) {
        std::vector<std::uint8_t> memory(bytes + 2);
        for (const std::size_t skipped : Sizes{0, 1}) {
            SCOPED_TRACE(std::to_string(bytes) + " bytes, " + std::to_string(skipped));
            std::uint8_t* const first = memory.data() + skipped;
            const acp_atkey_t key = acp_register_memory(first, bytes, 0);
            ASSERT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
            const acp_ga_t address = acp_query_ga(key, first);
            ASSERT_NE(address, ACP_GA_NULL) << acp_error_message();
            expect_reachable(address, first);
            expect_reachable(address + bytes / 2, first + bytes / 2);
            expect_reachable(address + bytes - 1, first + bytes - 1);
            EXPECT_EQ(acp_query_ga(key, first + bytes - 1), address + bytes - 1);
            expect_refused(ACP_REFUSED_BY_0(acp_query_ga, ACP_ERR_ADDRESS, "", key, first + bytes));
            expect_refused(ACP_REFUSED_BY_0(acp_query_ga, ACP_ERR_ADDRESS, "", key, first - 1));
            expect_refused(ACP_REFUSED_BY_0(acp_query_ga, ACP_ERR_ADDRESS, "", key, nullptr));
            expect_gone(address + bytes, ACP_ERR_ADDRESS);
            EXPECT_NE(acp_query_address(address - 1), first - 1);
            ASSERT_EQ(acp_unregister_memory(key), 0) << acp_error_message();
            for (const std::size_t at : {std::size_t{0}, bytes - 1})
                expect_gone(address + at, ACP_ERR_STALE);
            expect_refused(ACP_REFUSED_BY_0(acp_query_ga, ACP_ERR_STALE, "", key, first));
            expect_refused(ACP_REFUSED(acp_unregister_memory, ACP_ERR_STALE, "", key));
        }
    }
}

TEST_F(Memory, overlapping_registrations_have_keys_and_ends_of_their_own) {
    std::vector<std::uint8_t> memory(4096);
    const acp_atkey_t whole = acp_register_memory(memory.data(), 4096, 0);
    const acp_atkey_t again = acp_register_memory(memory.data(), 4096, 0);
    const acp_atkey_t part = acp_register_memory(memory.data() + 1000, 100, 0);
    EXPECT_EQ((std::set<acp_atkey_t>{whole, again, part, ACP_ATKEY_NULL}.size()), 4U);
    std::uint8_t* const byte = memory.data() + 1050;
    const acp_ga_t by_whole = acp_query_ga(whole, byte);
    const acp_ga_t by_again = acp_query_ga(again, byte);
    const acp_ga_t by_part = acp_query_ga(part, byte);
    EXPECT_EQ((std::set<acp_ga_t>{by_whole, by_again, by_part}.size()), 3U);
    ASSERT_EQ(acp_unregister_memory(whole), 0);
    expect_gone(by_whole, ACP_ERR_STALE);
    expect_reachable(by_again, byte);
    expect_reachable(by_part, byte);
    ASSERT_EQ(acp_unregister_memory(part), 0);
    expect_gone(by_part, ACP_ERR_STALE);
    expect_reachable(by_again, byte);
    ASSERT_EQ(acp_unregister_memory(again), 0);
    expect_gone(by_again, ACP_ERR_STALE);
}

TEST_F(Memory, at_least_4096_registrations_may_be_live) {
    constexpr std::size_t count = 4096;
    std::vector<std::uint64_t> words(count);
    std::vector<acp_atkey_t> keys;
    std::set<acp_ga_t> addresses;
    for (std::uint64_t& word : words) {
        keys.push_back(acp_register_memory(&word, sizeof word, 0));
        ASSERT_NE(keys.back(), ACP_ATKEY_NULL) << acp_error_message();
        addresses.insert(acp_query_ga(keys.back(), &word));
    }
    EXPECT_EQ(addresses.size(), count);
    for (const acp_ga_t address : addresses)
        EXPECT_EQ(acp_complete(acp_add8(ACP_GA_NULL, address, 3, ACP_HANDLE_NULL)), 0);
    for (const std::uint64_t word : words) ASSERT_EQ(word, 3U);
    for (const acp_atkey_t key : keys) ASSERT_EQ(acp_unregister_memory(key), 0);
}

TEST_F(Memory, that_is_not_mapped_readable_and_writable_is_refused) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    auto* const pages = static_cast<char*>(
        ::mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(pages, MAP_FAILED);
    ASSERT_EQ(::mprotect(pages + page, page, PROT_READ), 0);
    ASSERT_EQ(::munmap(pages + 2 * page, page), 0);
    const acp_atkey_t key = acp_register_memory(pages, page, 0);
    EXPECT_NE(key, ACP_ATKEY_NULL) << "up to the page before: " << acp_error_message();
    EXPECT_EQ(acp_unregister_memory(key), 0);
    for (const RefusedCall& row : {
             ACP_REFUSED_BY_0(acp_register_memory, ACP_ERR_ARGUMENT, "", pages, page + 1, 0),
             ACP_REFUSED_BY_0(acp_register_memory, ACP_ERR_ARGUMENT, "", pages + page, 1, 0),
             ACP_REFUSED_BY_0(acp_register_memory, ACP_ERR_ARGUMENT, "", pages + 2 * page, 1, 0),
             ACP_REFUSED_BY_0(acp_register_memory, ACP_ERR_ARGUMENT, "", pages + 2 * page - 1, 2,
                              0),
         })
        expect_refused(row);
    EXPECT_EQ(::munmap(pages, 2 * page), 0);
    expect_unchanged();
}

// Whether two addresses of one memory differ in their colours alone, which name no other memory.
bool is_other_color(acp_ga_t first, acp_ga_t second) {
    return acp_query_address(first) == acp_query_address(second) &&
           acp_query_color(first) != acp_query_color(second);
}

TEST_F(Memory, a_number_that_differs_from_a_key_by_one_bit_is_no_key) {
    std::uint64_t word = 0;
    const acp_atkey_t key = acp_register_memory(&word, sizeof word, 0);
    ASSERT_NE(key, ACP_ATKEY_NULL);
    int refused = 0;
    for (int bit = 0; bit < 64; ++bit) {
        const acp_atkey_t other = key ^ std::uint64_t{1} << bit;
        if (is_other_color(other, key)) continue;
        acp_clear_errno();
        EXPECT_EQ(acp_query_ga(other, &word), ACP_GA_NULL) << "bit " << bit;
        EXPECT_TRUE(acp_errno() == ACP_ERR_ARGUMENT || acp_errno() == ACP_ERR_STALE)
            << acp_error_message();
        EXPECT_EQ(acp_unregister_memory(other), -1) << "bit " << bit;
        ++refused;
    }
    EXPECT_GE(refused, 62) << "a colour has two bits";
    EXPECT_NE(acp_query_ga(key, &word), ACP_GA_NULL) << acp_error_message();
    EXPECT_EQ(acp_unregister_memory(key), 0);
}

TEST_F(Memory, an_address_that_differs_by_one_bit_names_none_of_the_same_memory) {
    std::vector<std::uint64_t> memory(8);
    const acp_atkey_t key = acp_register_memory(memory.data(), 64, 0);
    const acp_ga_t address = acp_query_ga(key, memory.data());
    for (int bit = 6; bit < 64; ++bit) {
        const acp_ga_t other = address ^ std::uint64_t{1} << bit;
        if (is_other_color(other, address)) continue;
        const void* const named = acp_query_address(other);
        EXPECT_TRUE(named < memory.data() || named >= memory.data() + 8) << "bit " << bit;
    }
    EXPECT_EQ(acp_unregister_memory(key), 0);
}

TEST_F(Memory, rank_and_colour_are_asked_of_addresses_that_name_no_memory_any_more) {
    std::uint64_t word = 0;
    const acp_atkey_t key = acp_register_memory(&word, sizeof word, acp_colors() - 1);
    const acp_ga_t address = acp_query_ga(key, &word);
    ASSERT_EQ(acp_unregister_memory(key), 0);
    EXPECT_EQ(acp_query_rank(address), 0) << acp_error_message();
    EXPECT_EQ(acp_query_color(address), acp_colors() - 1) << acp_error_message();
    EXPECT_EQ(acp_query_address(address), nullptr);
    for (const RefusedCall& row : {
             ACP_REFUSED(acp_query_rank, ACP_ERR_ADDRESS, "0x1", acp_ga_t{1}),
             ACP_REFUSED(acp_query_color, ACP_ERR_ADDRESS, "0xffff", all),
             ACP_REFUSED(acp_query_rank, ACP_ERR_ADDRESS, "null", ACP_GA_NULL),
         })
        expect_refused(row);
}

// A job with four colours, of which each address of a registration has the one of its key.
class Colours : public Memory {
protected:
    static void SetUpTestSuite() {
        ASSERT_EQ(::setenv("ACP_COLORS", "4", 1), 0);
        OneRankJob::SetUpTestSuite();
    }

    static void TearDownTestSuite() {
        OneRankJob::TearDownTestSuite();
        ASSERT_EQ(::unsetenv("ACP_COLORS"), 0);
    }
};

TEST_F(Colours, are_kept_in_the_addresses_of_a_key_and_move_the_same_bytes) {
    ASSERT_EQ(acp_colors(), 4);
    std::set<acp_ga_t> addresses;
    for (int color = 0; color < 4; ++color) {
        std::uint64_t word = 0;
        const acp_atkey_t key = acp_register_memory(&word, sizeof word, color);
        ASSERT_NE(key, ACP_ATKEY_NULL) << acp_error_message();
        const acp_ga_t address = acp_query_ga(key, &word);
        addresses.insert(address);
        EXPECT_EQ(acp_query_color(address), color);
        EXPECT_EQ(acp_query_color(address + 7), color);
        EXPECT_EQ(acp_query_rank(address), 0);
        EXPECT_EQ(acp_query_address(address), &word);
        EXPECT_EQ(acp_complete(acp_swap8(ACP_GA_NULL, address, 77, ACP_HANDLE_NULL)), 0);
        EXPECT_EQ(word, 77U);
        EXPECT_EQ(acp_unregister_memory(key), 0);
    }
    EXPECT_EQ(addresses.size(), 4U);
    std::uint64_t word = 0;
    for (const RefusedCall& row : {
             ACP_REFUSED_BY_0(acp_register_memory, ACP_ERR_ARGUMENT, "colour 4", &word, 8, 4),
             ACP_REFUSED_BY_0(acp_register_memory, ACP_ERR_ARGUMENT, "0 to 3", &word, 8, -1),
             ACP_REFUSED_BY_0(acp_register_memory, ACP_ERR_ARGUMENT, "colour -2147483648", &word, 8,
                              std::numeric_limits<int>::min()),
         })
        expect_refused(row);
}

TEST_F(Memory, registered_by_all_ranks_is_that_of_the_one) {
    std::vector<std::uint64_t> memory(16, 1);
    acp_ga_t address = 7;
    acp_atkey_t key = 7;
    ASSERT_EQ(acp_register_all(memory.data(), 128, 0, &address, &key), 0) << acp_error_message();
    EXPECT_EQ(address, acp_query_ga(key, memory.data()));
    expect_reachable(address + 127, reinterpret_cast<std::uint8_t*>(memory.data()) + 127);
    EXPECT_EQ(acp_unregister_memory(key), 0);
    EXPECT_EQ(acp_register_all(nullptr, 0, -1, &address, &key), 0)
        << "a rank without a part: " << acp_error_message();
    EXPECT_EQ(address, ACP_GA_NULL);
    EXPECT_EQ(key, ACP_ATKEY_NULL);
    address = key = 7;
    for (const RefusedCall& row : {
             ACP_REFUSED(acp_register_all, ACP_ERR_ARGUMENT, "colour 9", memory.data(), 8, 9,
                         &address, &key),
             ACP_REFUSED(acp_register_all, ACP_ERR_ARGUMENT, "NULL", nullptr, 8, 0, &address, &key),
         })
        expect_refused(row);
    EXPECT_EQ(address, 7U) << "a failed call writes no address";
    EXPECT_EQ(key, 7U);
}

}  // namespace
}  // namespace acp::api::test
