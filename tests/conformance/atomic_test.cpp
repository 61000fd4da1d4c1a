// SPDX-License-Identifier: BSD-3-Clause
// All atomics: every operation and width on words of every rank and kind of memory, results to
// every memory of the node, and counts that no contention loses.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <tuple>

#include "support/arena.hpp"
#include "support/mode.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

// One atomic operation: the call that issues it, and its effect on a word.
struct Atomic {
    const char* name;
    std::size_t width;
    std::function<acp_handle_t(acp_ga_t target, acp_ga_t source)> issue;
    std::function<std::uint64_t(std::uint64_t word)> change;
};

constexpr std::uint64_t word_before = 0x8877'6655'ffff'fff0ULL;
constexpr std::uint64_t operand = 0x0123'4567'89ab'cdefULL;
constexpr std::uint64_t desired = 0xfeed'beef'cafe'f00dULL;
constexpr std::uint32_t operand4 = static_cast<std::uint32_t>(operand);

std::vector<Atomic> wide_atomics() {
    const acp_handle_t now = ACP_HANDLE_NULL;
    return {
        {"cas8 that hits", 8,
         [=](auto target, auto source) {
             return acp_cas8(target, source, word_before, desired, now);
         },
         [](auto) { return desired; }},
        {"cas8 that misses", 8,
         [=](auto target, auto source) { return acp_cas8(target, source, operand, desired, now); },
         [](auto word) { return word; }},
        {"swap8", 8,
         [=](auto target, auto source) { return acp_swap8(target, source, operand, now); },
         [](auto) { return operand; }},
        {"add8", 8,
         [=](auto target, auto source) { return acp_add8(target, source, operand, now); },
         [](auto word) { return word + operand; }},
        {"xor8", 8,
         [=](auto target, auto source) { return acp_xor8(target, source, operand, now); },
         [](auto word) { return word ^ operand; }},
        {"or8", 8, [=](auto target, auto source) { return acp_or8(target, source, operand, now); },
         [](auto word) { return word | operand; }},
        {"and8", 8,
         [=](auto target, auto source) { return acp_and8(target, source, operand, now); },
         [](auto word) { return word & operand; }},
        {"min8 that hits", 8,
         [=](auto target, auto source) { return acp_min8(target, source, INT64_MIN, now); },
         [](auto) { return static_cast<std::uint64_t>(INT64_MIN); }},
        {"min8 that misses", 8,
         [=](auto target, auto source) { return acp_min8(target, source, INT64_C(7), now); },
         [](auto word) { return word; }},
        {"max8 that hits", 8,
         [=](auto target, auto source) { return acp_max8(target, source, INT64_C(7), now); },
         [](auto) { return static_cast<std::uint64_t>(INT64_C(7)); }},
        {"max8 that misses", 8,
         [=](auto target, auto source) { return acp_max8(target, source, INT64_MIN, now); },
         [](auto word) { return word; }},
    };
}

std::vector<Atomic> narrow_atomics() {
    const acp_handle_t now = ACP_HANDLE_NULL;
    constexpr auto before4 = static_cast<std::uint32_t>(word_before);
    constexpr auto desired4 = static_cast<std::uint32_t>(desired);
    return {
        {"cas4 that hits", 4,
         [=](auto target, auto source) { return acp_cas4(target, source, before4, desired4, now); },
         [](auto) { return desired4; }},
        {"cas4 that misses", 4,
         [=](auto target, auto source) {
             return acp_cas4(target, source, operand4, desired4, now);
         },
         [](auto word) { return word; }},
        {"swap4", 4,
         [=](auto target, auto source) { return acp_swap4(target, source, operand4, now); },
         [](auto) { return operand4; }},
        {"add4", 4,
         [=](auto target, auto source) { return acp_add4(target, source, operand4, now); },
         [](auto word) { return word + operand4; }},
        {"xor4", 4,
         [=](auto target, auto source) { return acp_xor4(target, source, operand4, now); },
         [](auto word) { return word ^ operand4; }},
        {"or4", 4, [=](auto target, auto source) { return acp_or4(target, source, operand4, now); },
         [](auto word) { return word | operand4; }},
        {"and4", 4,
         [=](auto target, auto source) { return acp_and4(target, source, operand4, now); },
         [](auto word) { return word & operand4; }},
        {"min4 that hits", 4,
         [=](auto target, auto source) { return acp_min4(target, source, -100, now); },
         [](auto) { return static_cast<std::uint64_t>(-100); }},
        {"min4 that misses", 4,
         [=](auto target, auto source) { return acp_min4(target, source, 7, now); },
         [](auto word) { return word; }},
        {"max4 that hits", 4,
         [=](auto target, auto source) { return acp_max4(target, source, 7, now); },
         [](auto) { return static_cast<std::uint64_t>(7); }},
        {"max4 that misses", 4,
         [=](auto target, auto source) { return acp_max4(target, source, -100, now); },
         [](auto word) { return word; }},
    };
}

std::vector<Atomic> all_atomics() {
    std::vector<Atomic> all = wide_atomics();
    std::ranges::move(narrow_atomics(), std::back_inserter(all));
    return all;
}

// The word after an operation: the narrow ones change its low half only.
std::uint64_t changed(const Atomic& atomic, std::uint64_t word) {
    if (atomic.width == 8) {
        return atomic.change(word);
    }
    const std::uint64_t low = atomic.change(static_cast<std::uint32_t>(word)) & 0xffff'ffffULL;
    return (word & 0xffff'ffff'0000'0000ULL) | low;
}

constexpr std::size_t place = 64;  // word and result in their arenas
constexpr std::uint64_t result_before = 0xdddd'dddd'dddd'ddddULL;

using Kinds = std::tuple<Kind, Kind>;

class AtomicTest : public RankedTest, public ::testing::WithParamInterface<Kinds> {
protected:
    bool reaches(Kind kind, int owner) const {
        return kind == Kind::starter || owner == 0 || mode().reaches_private_memory();
    }

    // Rank 0 issues the atomic; the owners of word and result check their memory.
    void run(const Atomic& atomic,
             const Arena& words,
             const Arena& results,
             int word_owner,
             int result_owner) {
        words.word<std::uint64_t>(place) = word_before;
        words.word<std::uint64_t>(place - 8) = words.word<std::uint64_t>(place + 8) = result_before;
        results.word<std::uint64_t>(place) = result_before;
        results.word<std::uint64_t>(place + 8) = result_before;
        sync_ranks();
        if (rank_ == 0) {
            expect_done(atomic.issue(results.at(result_owner, place), words.at(word_owner, place)));
        }
        sync_ranks();
        const bool is_word_mine = rank_ == word_owner;
        EXPECT_EQ(words.word<std::uint64_t>(place),
                  is_word_mine ? changed(atomic, word_before) : word_before);
        EXPECT_EQ(words.word<std::uint64_t>(place - 8), result_before);
        EXPECT_EQ(words.word<std::uint64_t>(place + 8), result_before);
        std::uint64_t result = result_before;
        if (rank_ == result_owner) {
            result = atomic.width == 8 ? word_before
                                       : (result_before & 0xffff'ffff'0000'0000ULL) |
                                             (word_before & 0xffff'ffffULL);
        }
        EXPECT_EQ(results.word<std::uint64_t>(place), result);
        EXPECT_EQ(results.word<std::uint64_t>(place + 8), result_before);
        sync_ranks();
    }
};

TEST_P(AtomicTest, changes_the_word_and_returns_the_old_value) {
    const auto [word_kind, result_kind] = GetParam();
    const Arena words(word_kind, 256);
    const Arena results(result_kind, 256, 256);
    const int ranks = std::min(procs_, 3);
    for (const Atomic& atomic : all_atomics()) {
        for (int pair = 0; pair < ranks * ranks; ++pair) {
            const int word_owner = pair / ranks;
            const int result_owner = pair % ranks;
            if (!reaches(word_kind, word_owner) || !reaches(result_kind, result_owner)) {
                continue;
            }
            SCOPED_TRACE(std::string(atomic.name) + " on " + name_of(word_kind) + " of rank " +
                         std::to_string(word_owner) + ", result to " + name_of(result_kind) +
                         " of rank " + std::to_string(result_owner));
            run(atomic, words, results, word_owner, result_owner);
        }
    }
}

TEST_P(AtomicTest, changes_the_word_alone_where_no_old_value_is_wanted) {
    const auto [word_kind, result_kind] = GetParam();
    if (result_kind != Kind::starter) {
        GTEST_SKIP() << "there is no result";
    }
    const Arena words(word_kind, 256);
    const Arena seen(Kind::starter, 64, 256);
    for (const Atomic& atomic : all_atomics()) {
        for (int owner = 0; owner < std::min(procs_, 3); ++owner) {
            if (!reaches(word_kind, owner)) {
                continue;
            }
            SCOPED_TRACE(std::string(atomic.name) + " on " + name_of(word_kind) + " of rank " +
                         std::to_string(owner));
            words.word<std::uint64_t>(place) = word_before;
            words.word<std::uint64_t>(place - 8) = words.word<std::uint64_t>(place + 8) =
                result_before;
            sync_ranks();
            if (rank_ == 0) {
                const acp_handle_t changes = atomic.issue(ACP_GA_NULL, words.at(owner, place));
                expect_done(acp_copy(seen.at(0), words.at(owner, place), 8, changes));
                EXPECT_EQ(seen.word<std::uint64_t>(), changed(atomic, word_before));
            }
            sync_ranks();
            EXPECT_EQ(words.word<std::uint64_t>(place),
                      rank_ == owner ? changed(atomic, word_before) : word_before);
            EXPECT_EQ(words.word<std::uint64_t>(place - 8), result_before);
            EXPECT_EQ(words.word<std::uint64_t>(place + 8), result_before);
            sync_ranks();
        }
    }
}

TEST_P(AtomicTest, refuses_a_word_that_is_not_aligned_where_no_old_value_is_wanted) {
    const auto [word_kind, result_kind] = GetParam();
    const Arena words(word_kind, 256);
    words.word<std::uint64_t>(place) = word_before;
    expect_failure(acp_add8(ACP_GA_NULL, words.at(rank_, place + 4), operand, ACP_HANDLE_NULL),
                   ACP_ERR_ALIGNMENT, {"acp_add8", "the source is"});
    EXPECT_EQ(words.word<std::uint64_t>(place), word_before);
}

TEST_P(AtomicTest, leaves_the_word_alone_when_the_result_would_go_beyond_starter_memory) {
    const auto [word_kind, result_kind] = GetParam();
    if (result_kind != Kind::starter) {
        GTEST_SKIP() << "only the node of its owner knows a registration";
    }
    const Arena words(word_kind, 256);
    words.word<std::uint64_t>(place) = word_before;
    for (int rank = 0; rank < procs_; ++rank) {
        const acp_ga_t beyond = acp_query_starter_ga(rank) + acp_starter_size();
        expect_failure(acp_swap8(beyond, words.at(rank_, place), operand, ACP_HANDLE_NULL),
                       ACP_ERR_ADDRESS, {"rank " + std::to_string(rank)});
        EXPECT_EQ(words.word<std::uint64_t>(place), word_before);
    }
}

INSTANTIATE_TEST_SUITE_P(kinds,
                         AtomicTest,
                         ::testing::Combine(::testing::Values(Kind::starter, Kind::registered),
                                            ::testing::Values(Kind::starter, Kind::registered)),
                         [](const ::testing::TestParamInfo<Kinds>& each) {
                             return std::string(name_of(std::get<0>(each.param))) + "_word_" +
                                    name_of(std::get<1>(each.param)) + "_result";
                         });

class ContentionTest : public RankedTest, public ::testing::WithParamInterface<Kind> {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        if (GetParam() == Kind::registered && !mode().reaches_private_memory()) {
            GTEST_SKIP() << "this mode does not reach another rank's registered memory";
        }
    }
};

TEST_P(ContentionTest, loses_no_addition_and_gives_no_old_value_twice) {
    const std::size_t adds = mode().is_slow() ? 200 : 5000;
    const Arena counter(GetParam(), 64);
    const Arena olds(Kind::starter, 8 * adds, 64);
    counter.word<std::uint64_t>() = 0;
    sync_ranks();
    for (std::size_t index = 0; index < adds; ++index) {
        acp_add8(olds.at(rank_, 8 * index), counter.at(0), 1, ACP_HANDLE_NULL);
    }
    expect_done(ACP_HANDLE_ALL);
    sync_ranks();
    if (rank_ == 0) {
        const auto ranks = static_cast<std::size_t>(procs_);
        EXPECT_EQ(counter.word<std::uint64_t>(), adds * ranks);
        std::vector<std::uint64_t> all;
        for (int rank = 0; rank < procs_; ++rank) {
            const std::vector<std::byte> theirs = olds.fetched_from(rank);
            all.resize(all.size() + adds);
            std::memcpy(&all[all.size() - adds], theirs.data(), theirs.size());
        }
        std::ranges::sort(all);
        EXPECT_EQ(std::ranges::adjacent_find(all), all.end()) << "an old value was given twice";
        EXPECT_EQ(all.back(), adds * ranks - 1);
    }
    sync_ranks();
}

TEST_P(ContentionTest, loses_no_addition_without_a_target_for_the_old_value) {
    const std::size_t adds = mode().is_slow() ? 200 : 5000;
    const Arena counter(GetParam(), 64);
    counter.word<std::uint64_t>() = 0;
    sync_ranks();
    for (std::size_t index = 0; index < adds; ++index) {
        acp_add8(ACP_GA_NULL, counter.at(0), 1, ACP_HANDLE_NULL);
    }
    expect_done(ACP_HANDLE_ALL);
    sync_ranks();
    if (rank_ == 0) {
        EXPECT_EQ(counter.word<std::uint64_t>(), adds * static_cast<std::size_t>(procs_));
    }
    sync_ranks();
}

TEST_P(ContentionTest, adds_modulo_the_width_without_touching_the_neighbour) {
    const Arena words(GetParam(), 64);
    const Arena result(Kind::starter, 64, 64);
    words.word<std::uint32_t>(0) = 0xffff'ffffU;
    words.word<std::uint32_t>(4) = 7;
    words.word<std::uint64_t>(8) = ~0ULL;
    sync_ranks();
    if (rank_ == 0) {
        const int owner = procs_ - 1;
        expect_done(acp_add4(result.at(0), words.at(owner), 1, ACP_HANDLE_NULL));
        expect_done(acp_add8(result.at(0, 8), words.at(owner, 8), 2, ACP_HANDLE_NULL));
        EXPECT_EQ(result.word<std::uint32_t>(), 0xffff'ffffU);
        EXPECT_EQ(result.word<std::uint64_t>(8), ~0ULL);
    }
    sync_ranks();
    if (rank_ == procs_ - 1) {
        EXPECT_EQ(words.word<std::uint32_t>(0), 0U);
        EXPECT_EQ(words.word<std::uint32_t>(4), 7U);
        EXPECT_EQ(words.word<std::uint64_t>(8), 1U);
    }
    sync_ranks();
}

// Atomics on one word are atomic on all paths: the owner adds through another registration of the
// same memory and by the processor's own instruction, the other ranks through their paths.
TEST_P(ContentionTest, is_atomic_among_all_ways_to_the_same_word) {
    const std::size_t adds = mode().is_slow() ? 200 : 3000;
    const Arena counter(GetParam(), 64);
    const Arena olds(Kind::starter, 64, 64);
    counter.word<std::uint64_t>() = 0;
    acp_atkey_t second_key = ACP_ATKEY_NULL;
    acp_ga_t word = counter.at(0);
    if (rank_ == 0) {
        second_key = acp_register_memory(&counter.word<std::uint64_t>(), 8, 0);
        ASSERT_NE(second_key, ACP_ATKEY_NULL) << acp_error_message();
        word = acp_query_ga(second_key, &counter.word<std::uint64_t>());
    }
    sync_ranks();
    for (std::size_t index = 0; index < adds; ++index) {
        if (rank_ == 0 && index % 2 == 0) {
            std::atomic_ref(counter.word<std::uint64_t>()).fetch_add(1, std::memory_order_acq_rel);
        } else {
            acp_add8(olds.at(rank_), word, 1, ACP_HANDLE_NULL);
        }
    }
    expect_done(ACP_HANDLE_ALL);
    sync_ranks();
    if (rank_ == 0) {
        EXPECT_EQ(counter.word<std::uint64_t>(), adds * static_cast<std::size_t>(procs_));
        EXPECT_EQ(acp_unregister_memory(second_key), 0) << acp_error_message();
    }
}

INSTANTIATE_TEST_SUITE_P(kinds,
                         ContentionTest,
                         ::testing::Values(Kind::starter, Kind::registered),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace acp::test
