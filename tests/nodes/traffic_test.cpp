// SPDX-License-Identifier: BSD-3-Clause
// Traffic between nodes whose network loses, repeats and reorders datagrams (ACP_FAULT of the job):
// all ranks at once copy to, from and between other nodes and run atomics there; every byte and
// every total is exact. TEST_ROUNDS is the number of rounds, TEST_PERCENT the amount in percent,
// TEST_ROWS the number of the five ways that are used.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <tuple>

#include "support/arena.hpp"
#include "support/nodes.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::byte untouched{0xee};

int number_from(const char* variable, int otherwise) {
    const char* given = std::getenv(variable);
    return given == nullptr ? otherwise : std::atoi(given);
}

std::size_t amount(std::size_t usual) {
    const auto percent = static_cast<std::size_t>(number_from("TEST_PERCENT", 100));
    return std::max<std::size_t>(1, usual * percent / 100);
}

class TrafficTest : public RankedTest {
protected:
    static constexpr unsigned patience_seconds = 900;

    void SetUp() override {
        RankedTest::SetUp();
        allow_seconds(patience_seconds);
        ASSERT_GT(nodes_of_job(), 1) << "this test is about several nodes: acprun --nodes";
        ASSERT_EQ(procs_ % nodes_of_job(), 0) << "alike many ranks on each node, please";
    }

    // Two rounds by default, so that leftovers of one round would disturb the next.
    static int rounds() { return number_from("TEST_ROUNDS", 2); }
};

// A row of copies: pieces of one size, in one kind of memory.
struct Shape {
    const char* name;
    std::size_t bytes;
    std::size_t usual_count;
};

class CopiesTest : public TrafficTest,
                   public ::testing::WithParamInterface<std::tuple<Shape, Kind>> {
protected:
    [[nodiscard]] static std::size_t piece_bytes() { return std::get<0>(GetParam()).bytes; }

    [[nodiscard]] static std::size_t pieces() {
        return amount(std::get<0>(GetParam()).usual_count);
    }

    [[nodiscard]] static std::size_t row_bytes() { return piece_bytes() * pieces(); }

    [[nodiscard]] static Kind kind() { return std::get<1>(GetParam()); }

    // Issues every piece of a row from one rank's source to another's target.
    static void copy_row(
        const Arena& target, int to, std::size_t row, const Arena& source, int from) {
        for (std::size_t piece = 0; piece < pieces(); ++piece) {
            const std::size_t offset = piece * piece_bytes();
            acp_copy(target.at(to, row * row_bytes() + offset), source.at(from, offset),
                     piece_bytes(), ACP_HANDLE_NULL);
        }
    }

    // Checks that this rank's target has the source of that rank in that row.
    void expect_row(const Arena& target, std::size_t row, std::uint64_t round, int owner) const {
        const auto seen = target.local().subspan(row * row_bytes(), row_bytes());
        for (std::size_t offset = 0; offset < seen.size(); ++offset) {
            ASSERT_EQ(seen[offset], pattern(round, owner, offset))
                << "byte " << offset << " of " << seen.size() << " from rank " << owner << ", row "
                << row << ", round " << round;
        }
    }

    static constexpr std::size_t rows_max = 5;

    static std::size_t rows() {
        return static_cast<std::size_t>(number_from("TEST_ROWS", static_cast<int>(rows_max)));
    }

    // The ranks between which a rank copies a row.
    struct Way {
        int to;
        int from;
    };

    static Way way_of(int rank, std::size_t row, int round) {
        const Companions of = companions_of(rank, round);
        const Way ways[rows_max] = {
            {of.partner, rank},          // put
            {rank, of.partner},          // get
            {of.other, of.partner},      // third-party copy from the next node to the one after it
            {of.partner, of.other},      // and back
            {of.neighbour, of.partner},  // third-party copy within the next node
        };
        return ways[row];
    }

    // The rank whose source is copied to this rank in that row: each rank is the target of one.
    [[nodiscard]] int source_of_mine(std::size_t row, int round) const {
        for (int rank = 0; rank < procs_; ++rank) {
            const Way way = way_of(rank, row, round);
            if (way.to == rank_) {
                return way.from;
            }
        }
        return -1;
    }
};

TEST_P(CopiesTest, arrive_with_every_byte) {
    const Arena target(kind(), rows_max * row_bytes());
    const Arena source(kind(), row_bytes(), (rows_max * row_bytes() + 63) / 64 * 64);
    for (int round = 0; round < rounds(); ++round) {
        allow_seconds(patience_seconds);
        const auto seed = static_cast<std::uint64_t>(round) + 1;
        fill_pattern(source.local(), seed, rank_);
        std::ranges::fill(target.local(), untouched);
        sync_ranks();
        const Companions mine = companions_of(rank_, round);
        ASSERT_STREQ(acp_path(target.at(mine.partner), source.at(rank_)).name, "remote");
        for (std::size_t row = 0; row < rows(); ++row) {
            const Way way = way_of(rank_, row, round);
            copy_row(target, way.to, row, source, way.from);
        }
        expect_done(ACP_HANDLE_ALL);
        sync_ranks();
        for (std::size_t row = 0; row < rows(); ++row) {
            expect_row(target, row, seed, source_of_mine(row, round));
        }
        sync_ranks();
    }
}

constexpr Shape shapes[] = {
    {"words", 8, 400}, {"kibibytes", 1024, 100}, {"mebibytes", 1024UL * 1024, 1}};

INSTANTIATE_TEST_SUITE_P(shapes,
                         CopiesTest,
                         ::testing::Combine(::testing::ValuesIn(shapes),
                                            ::testing::Values(Kind::starter, Kind::registered)),
                         [](const ::testing::TestParamInfo<std::tuple<Shape, Kind>>& each) {
                             return std::string(std::get<0>(each.param).name) + "_in_" +
                                    name_of(std::get<1>(each.param)) + "_memory";
                         });

class AtomicsTest : public TrafficTest, public ::testing::WithParamInterface<Kind> {
protected:
    static std::uint64_t sum(const std::vector<std::uint64_t>& values) {
        std::uint64_t total = 0;
        for (const std::uint64_t value : values) {
            total += value;
        }
        return total;
    }
};

// Each old value is returned once: the sum of all old values of a counter that reaches n is n (n -
// 1) / 2.
TEST_P(AtomicsTest, are_done_exactly_once) {
    const std::size_t adds = amount(300);
    const auto each = static_cast<std::size_t>(ranks_per_node());
    const Arena counter(GetParam(), 64);
    const Arena olds(Kind::starter, 8 * adds * each, 64);
    for (int round = 0; round < rounds(); ++round) {
        allow_seconds(patience_seconds);
        counter.word<std::uint64_t>() = 0;
        std::ranges::fill(olds.local(), untouched);
        sync_ranks();
        for (std::size_t index = 0; index < adds * each; ++index) {
            const int owner = companions_of(rank_, static_cast<int>(index % each)).partner;
            acp_add8(olds.at(rank_, 8 * index), counter.at(owner), 1, ACP_HANDLE_NULL);
        }
        expect_done(ACP_HANDLE_ALL);
        std::uint64_t own_olds = 0;
        for (std::size_t index = 0; index < adds * each; ++index) {
            own_olds += olds.word<std::uint64_t>(8 * index);
        }
        // Additions to each counter.
        const std::uint64_t counted = adds * each;
        EXPECT_EQ(sum(exchange(own_olds)),
                  static_cast<std::uint64_t>(procs_) * (counted * (counted - 1) / 2));
        EXPECT_EQ(counter.word<std::uint64_t>(), counted);
        sync_ranks();
    }
}

// A compare-and-swap that ran twice would fail the second time and report a failure to its
// initiator.
TEST_P(AtomicsTest, succeed_as_often_as_reported_to_their_initiators) {
    const std::size_t tries = amount(60);
    const Arena word(GetParam(), 64);
    const Arena old(Kind::starter, 64, 64);
    word.word<std::uint64_t>() = 0;
    sync_ranks();
    std::uint64_t won = 0;
    std::uint64_t guess = 0;
    const int owner = companions_of(rank_, 0).partner;
    for (std::size_t count = 0; count < tries; ++count) {
        expect_done(acp_cas8(old.at(rank_), word.at(owner), guess, guess + 1, ACP_HANDLE_NULL));
        const std::uint64_t seen = old.word<std::uint64_t>();
        won += seen == guess ? 1 : 0;
        guess = seen == guess ? guess + 1 : seen;
    }
    const std::uint64_t all_won = sum(exchange(won));
    EXPECT_EQ(sum(exchange(word.word<std::uint64_t>())), all_won);
    EXPECT_EQ(word.word<std::uint64_t>(), tries) << "no other rank changes this word";
}

INSTANTIATE_TEST_SUITE_P(kinds,
                         AtomicsTest,
                         ::testing::Values(Kind::starter, Kind::registered),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace acp::test
