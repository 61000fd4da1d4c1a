// SPDX-License-Identifier: BSD-3-Clause
// The C++ owners of shared pages: what they own, what they throw, and vectors in shared pages.
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include <acp/dsm.hpp>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::size_t page = 4096;

struct Entry {
    std::uint32_t rank = 0;
    std::uint32_t number = 0;
};

struct Polymorphic {
    virtual ~Polymorphic() = default;
};

static_assert(dsm::is_shareable<double>);
static_assert(dsm::is_shareable<Entry>);
static_assert(dsm::is_shareable<int*>);
static_assert(!dsm::is_shareable<std::vector<int>>);
static_assert(!dsm::is_shareable<Polymorphic>);
static_assert(!std::is_copy_constructible_v<dsm::array<int>>);
static_assert(std::is_nothrow_move_constructible_v<dsm::array<int>>);

class DsmCxxTest : public RankedTest {
protected:
    static std::uint64_t allocations() {
        acp_stats_dsm_t stats;
        EXPECT_EQ(acp_query_stats_dsm(&stats, sizeof stats), 0) << acp_error_message();
        return stats.allocations;
    }
};

TEST_F(DsmCxxTest, an_array_has_what_all_ranks_wrote_before_a_barrier) {
    const dsm::pages shared(16 * page);
    const auto ranks = static_cast<std::size_t>(procs_);
    dsm::array<Entry> entries(ranks);
    ASSERT_EQ(entries.size(), ranks);
    entries[static_cast<std::size_t>(rank_)] = {static_cast<std::uint32_t>(rank_), 7};
    dsm::barrier();
    std::uint32_t expected = 0;
    for (const Entry& entry : std::as_const(entries)) {
        EXPECT_EQ(entry.rank, expected);
        EXPECT_EQ(entry.number, 7U);
        ++expected;
    }
    dsm::barrier();
}

TEST_F(DsmCxxTest, an_array_has_its_homes_where_the_program_says) {
    const dsm::pages shared(16 * page);
    constexpr std::size_t per_page = page / sizeof(int);
    dsm::array<int> numbers(4 * per_page, dsm::home::rank, static_cast<std::uint64_t>(procs_ - 1));
    const int last = dsm::home_of(&numbers[0]);
    for (std::size_t i = 0; i < numbers.size(); i += per_page)
        EXPECT_EQ(dsm::home_of(&numbers[i]), last);
    if (rank_ == procs_ - 1) std::iota(numbers.begin(), numbers.end(), 1);
    dsm::set_home(numbers.data(), per_page + 1, 0);
    EXPECT_EQ(dsm::home_of(&numbers[per_page]), 0);
    EXPECT_EQ(dsm::home_of(&numbers[2 * per_page]), last);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        ASSERT_EQ(std::as_const(numbers)[i], static_cast<int>(i) + 1);
    EXPECT_THROW(dsm::set_home(numbers.data(), 1, procs_), dsm::error);
    EXPECT_THROW((void)dsm::home_of(nullptr), dsm::error);
    EXPECT_THROW(dsm::array<int>(1, dsm::home::cyclic, 0), dsm::error);
    dsm::barrier();
}

TEST_F(DsmCxxTest, barriers_fetch_elements_again_as_the_program_chooses) {
    constexpr std::size_t count = 3000;
    const dsm::pages shared(16 * page);
    dsm::array<int> numbers(count);
    for (const dsm::update choice : {dsm::update::always, dsm::update::never, dsm::update::learn}) {
        dsm::set_update(numbers.data(), count, choice);
        for (int round = 1; round <= 8; ++round) {
            for (std::size_t i = 0; i < count && rank_ == 0; ++i)
                numbers[i] = round + static_cast<int>(i);
            dsm::barrier();
            for (std::size_t i = 0; i < count; ++i)
                ASSERT_EQ(numbers[i], round + static_cast<int>(i));
            dsm::barrier();
        }
    }
    dsm::set_update(numbers.data(), 0, dsm::update::always);
    EXPECT_THROW(dsm::set_update(numbers.data(), ~std::size_t{0}, dsm::update::always), dsm::error);
}

TEST_F(DsmCxxTest, set_cache_bounds_the_copies_of_a_node) {
    EXPECT_THROW(dsm::set_cache(0), dsm::error) << "no shared pages";
    const dsm::pages shared(16 * page);
    dsm::set_cache(std::size_t{1} << 20);
    dsm::set_cache(0);
}

TEST_F(DsmCxxTest, prefetched_elements_are_those_that_were_written) {
    constexpr std::size_t count = 4 * page / sizeof(int);
    const dsm::pages shared(16 * page);
    dsm::array<int> numbers(count);
    if (rank_ == 0) std::iota(numbers.begin(), numbers.end(), 1);
    dsm::barrier();
    dsm::prefetch(numbers.data() + 1, count - 1);
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(std::as_const(numbers)[i], static_cast<int>(i) + 1);
    dsm::prefetch(numbers.data(), 0);
    for (const std::size_t wrong : {17 * page, std::numeric_limits<std::size_t>::max() / 2}) {
        try {
            dsm::prefetch(numbers.data(), wrong);
            ADD_FAILURE() << wrong << " elements were prefetched";
        } catch (const dsm::error& failure) {
            EXPECT_EQ(failure.code(), ACP_ERR_ARGUMENT) << failure.what();
        }
    }
    dsm::barrier();
}

TEST_F(DsmCxxTest, an_array_frees_its_elements_once_also_when_it_was_moved) {
    const dsm::pages shared(16 * page);
    {
        dsm::array<int> first(1000);
        int* const elements = first.data();
        dsm::array<int> second(std::move(first));
        EXPECT_EQ(second.data(), elements);
        EXPECT_TRUE(first.empty());  // NOLINT(bugprone-use-after-move): stated for a moved array
        dsm::array<int> third(10);
        EXPECT_EQ(allocations(), 2U);
        third = std::move(second);
        EXPECT_EQ(third.data(), elements);
        EXPECT_EQ(third.size(), 1000U);
        EXPECT_EQ(allocations(), 1U);
    }
    EXPECT_EQ(allocations(), 0U);
}

TEST_F(DsmCxxTest, failures_are_thrown_with_their_code) {
    const dsm::pages shared(4 * page);
    try {
        const dsm::array<char> large(5 * page);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const dsm::error& error) {
        EXPECT_EQ(error.code(), ACP_ERR_LIMIT);
        EXPECT_NE(std::string(error.what()).find("acp_alloc_dsm"), std::string::npos)
            << error.what();
    }
    EXPECT_THROW(dsm::array<double>(std::numeric_limits<std::size_t>::max() / 4),
                 std::bad_array_new_length);
    EXPECT_THROW(dsm::pages(4 * page), dsm::error);
    std::vector<char, dsm::allocator<char>> vector;
    EXPECT_THROW(vector.reserve(5 * page), std::bad_alloc);
    EXPECT_EQ(acp_errno(), ACP_ERR_LIMIT);
}

TEST_F(DsmCxxTest, without_pages_each_call_throws) {
    EXPECT_THROW(dsm::barrier(), dsm::error);
    EXPECT_THROW(dsm::array<int>(1), dsm::error);
    EXPECT_THROW(dsm::pages(0), dsm::error);
}

TEST_F(DsmCxxTest, a_vector_has_its_elements_in_shared_pages) {
    const dsm::pages shared(16 * page);
    const auto ranks = static_cast<std::size_t>(procs_);
    {
        std::vector<std::uint64_t, dsm::allocator<std::uint64_t>> numbers(ranks * 100);
        for (std::size_t i = 0; i < 100; ++i) {
            std::uint64_t& own = numbers[static_cast<std::size_t>(rank_) * 100 + i];
            EXPECT_EQ(own, 0U);
            own = i;
        }
        dsm::barrier();
        EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0}), ranks * 4950);
        dsm::barrier();
        numbers.resize(2 * numbers.size());
        dsm::barrier();
        EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0}), ranks * 4950);
        EXPECT_EQ(allocations(), 1U);
    }
    EXPECT_EQ(allocations(), 0U);
}

TEST_F(DsmCxxTest, elements_that_are_bound_to_a_lock_are_those_of_the_last_holder) {
    const dsm::pages shared(16 * page);
    dsm::array<std::uint64_t> sums(4);
    acp_lock_t lock{ACP_GA_NULL};
    if (rank_ == 0) lock = acp_create_lock(0);
    lock.ga = exchange(lock.ga)[0];
    {
        const dsm::bound_lock bound(lock, sums.data(), sums.size());
        EXPECT_THROW(dsm::bound_lock(lock, sums.data(), 16 * page), dsm::error);
        for (int i = 0; i < 5; ++i) {
            const dsm::holding held(bound);
            EXPECT_FALSE(held.has_died());
            EXPECT_EQ(sums[3], 2 * sums[0]);
            ++sums[0];
            sums[3] += 2;
        }
        dsm::barrier();
        EXPECT_EQ(sums[0], static_cast<std::uint64_t>(procs_) * 5);
    }
    if (rank_ == 0) {
        EXPECT_EQ(acp_free_lock(lock), 0) << acp_error_message();
    }
}

}  // namespace
}  // namespace acp::test
