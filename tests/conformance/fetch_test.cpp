// SPDX-License-Identifier: BSD-3-Clause
// The blocking atomics: every operation and width on words of every rank and kind of memory; each
// old value is returned to exactly one caller.
#include <algorithm>
#include <cstring>
#include <functional>

#include "support/arena.hpp"
#include "support/mode.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::uint64_t word_before = 0x8877'6655'ffff'fff0ULL;
constexpr std::uint64_t beside_before = 0xdddd'dddd'dddd'ddddULL;
constexpr std::uint64_t operand = 0x0123'4567'89ab'cdefULL;
constexpr std::uint64_t desired = 0xfeed'beef'cafe'f00dULL;
constexpr auto before4 = static_cast<std::uint32_t>(word_before);
constexpr auto operand4 = static_cast<std::uint32_t>(operand);
constexpr auto desired4 = static_cast<std::uint32_t>(desired);
constexpr std::uint64_t low_half = 0xffff'ffffULL;
constexpr std::size_t place = 64;

// One blocking atomic.
struct Fetch {
    const char* name;
    std::size_t width;
    std::function<std::uint64_t(acp_ga_t word)> run;
    std::function<std::uint64_t(std::uint64_t word)> change;
};

std::vector<Fetch> all_fetches() {
    return {
        {"acp_fetch_cas8", 8,
         [](acp_ga_t word) { return std::uint64_t{acp_fetch_cas8(word, word_before, desired)}; },
         [](auto) { return desired; }},
        {"acp_fetch_cas4", 4,
         [](acp_ga_t word) { return std::uint64_t{acp_fetch_cas4(word, before4, desired4)}; },
         [](auto) { return std::uint64_t{desired4}; }},
        {"acp_fetch_swap8", 8,
         [](acp_ga_t word) -> std::uint64_t {
             return std::uint64_t{acp_fetch_swap8(word, operand)};
         },
         [](auto) -> std::uint64_t { return operand; }},
        {"acp_fetch_swap4", 4,
         [](acp_ga_t word) -> std::uint64_t {
             return std::uint64_t{acp_fetch_swap4(word, operand4)};
         },
         [](auto) -> std::uint64_t { return operand4; }},
        {"acp_fetch_add8", 8,
         [](acp_ga_t word) -> std::uint64_t {
             return std::uint64_t{acp_fetch_add8(word, operand)};
         },
         [](auto word) -> std::uint64_t { return word + operand; }},
        {"acp_fetch_add4", 4,
         [](acp_ga_t word) -> std::uint64_t {
             return std::uint64_t{acp_fetch_add4(word, operand4)};
         },
         [](auto word) -> std::uint64_t { return word + operand4; }},
        {"acp_fetch_xor8", 8,
         [](acp_ga_t word) -> std::uint64_t {
             return std::uint64_t{acp_fetch_xor8(word, operand)};
         },
         [](auto word) -> std::uint64_t { return word ^ operand; }},
        {"acp_fetch_xor4", 4,
         [](acp_ga_t word) -> std::uint64_t {
             return std::uint64_t{acp_fetch_xor4(word, operand4)};
         },
         [](auto word) -> std::uint64_t { return word ^ operand4; }},
        {"acp_fetch_or8", 8,
         [](acp_ga_t word) -> std::uint64_t { return std::uint64_t{acp_fetch_or8(word, operand)}; },
         [](auto word) -> std::uint64_t { return word | operand; }},
        {"acp_fetch_or4", 4,
         [](acp_ga_t word) -> std::uint64_t {
             return std::uint64_t{acp_fetch_or4(word, operand4)};
         },
         [](auto word) -> std::uint64_t { return word | operand4; }},
        {"acp_fetch_and8", 8,
         [](acp_ga_t word) -> std::uint64_t {
             return std::uint64_t{acp_fetch_and8(word, operand)};
         },
         [](auto word) -> std::uint64_t { return word & operand; }},
        {"acp_fetch_and4", 4,
         [](acp_ga_t word) -> std::uint64_t {
             return std::uint64_t{acp_fetch_and4(word, operand4)};
         },
         [](auto word) -> std::uint64_t { return word & operand4; }},
        {"acp_fetch_min8", 8,
         [](acp_ga_t word) -> std::uint64_t {
             return static_cast<std::uint64_t>(
                 acp_fetch_min8(word, static_cast<std::int64_t>(operand)));
         },
         [](auto word) -> std::uint64_t { return word; }},
        {"acp_fetch_min4", 4,
         [](acp_ga_t word) -> std::uint64_t {
             return static_cast<std::uint32_t>(
                 acp_fetch_min4(word, static_cast<std::int32_t>(operand4)));
         },
         [](auto) -> std::uint64_t { return operand4; }},
        {"acp_fetch_max8", 8,
         [](acp_ga_t word) -> std::uint64_t {
             return static_cast<std::uint64_t>(
                 acp_fetch_max8(word, static_cast<std::int64_t>(operand)));
         },
         [](auto) -> std::uint64_t { return operand; }},
        {"acp_fetch_max4", 4,
         [](acp_ga_t word) -> std::uint64_t {
             return static_cast<std::uint32_t>(
                 acp_fetch_max4(word, static_cast<std::int32_t>(operand4)));
         },
         [](auto word) -> std::uint64_t { return word; }},
    };
}

// The word after an operation: the narrow ones change its low half only.
std::uint64_t changed(const Fetch& fetch) {
    if (fetch.width == 8) {
        return fetch.change(word_before);
    }
    return (word_before & ~low_half) | (fetch.change(word_before & low_half) & low_half);
}

class FetchTest : public RankedTest, public ::testing::WithParamInterface<Kind> {
protected:
    [[nodiscard]] bool reaches(int owner) const {
        return GetParam() == Kind::starter || owner == 0 || mode().reaches_private_memory();
    }
};

TEST_P(FetchTest, changes_the_word_and_returns_what_it_was) {
    const Arena words(GetParam(), 256);
    for (const Fetch& fetch : all_fetches()) {
        for (int owner = 0; owner < std::min(procs_, 3); ++owner) {
            if (!reaches(owner)) {
                continue;
            }
            SCOPED_TRACE(std::string(fetch.name) + " on " + name_of(GetParam()) + " of rank " +
                         std::to_string(owner));
            words.word<std::uint64_t>(place) = word_before;
            words.word<std::uint64_t>(place - 8) = beside_before;
            words.word<std::uint64_t>(place + 8) = beside_before;
            sync_ranks();
            if (rank_ == 0) {
                EXPECT_EQ(fetch.run(words.at(owner, place)),
                          fetch.width == 8 ? word_before : word_before & low_half);
            }
            sync_ranks();
            EXPECT_EQ(words.word<std::uint64_t>(place),
                      rank_ == owner ? changed(fetch) : word_before);
            EXPECT_EQ(words.word<std::uint64_t>(place - 8), beside_before);
            EXPECT_EQ(words.word<std::uint64_t>(place + 8), beside_before);
            sync_ranks();
        }
    }
}

TEST_P(FetchTest, gives_no_old_value_twice) {
    if (!reaches(procs_)) {
        GTEST_SKIP() << "this mode does not reach another rank's registered memory";
    }
    const std::size_t adds = mode().is_slow() ? 50 : 500;
    const Arena counter(GetParam(), 64);
    const Arena olds(Kind::starter, 8 * adds, 64);
    counter.word<std::uint64_t>() = 0;
    sync_ranks();
    for (std::size_t index = 0; index < adds; ++index) {
        olds.word<std::uint64_t>(8 * index) = acp_fetch_add8(counter.at(0), 1);
    }
    sync_ranks();
    if (rank_ == 0) {
        std::vector<std::uint64_t> all;
        for (int rank = 0; rank < procs_; ++rank) {
            const std::vector<std::byte> theirs = olds.fetched_from(rank);
            all.resize(all.size() + adds);
            std::memcpy(&all[all.size() - adds], theirs.data(), theirs.size());
        }
        std::ranges::sort(all);
        for (std::size_t index = 0; index < all.size(); ++index) {
            ASSERT_EQ(all[index], index);
        }
    }
    sync_ranks();
}

INSTANTIATE_TEST_SUITE_P(kinds,
                         FetchTest,
                         ::testing::Values(Kind::starter, Kind::registered),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace acp::test
