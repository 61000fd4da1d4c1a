// SPDX-License-Identifier: BSD-3-Clause
// Histories of all ranks that run atomics and aligned copies on a few words at once, checked for
// linearizability. Times come from one clock of the machine; fences keep each operation inside its
// interval. The seed comes from TEST_SEED if it is set.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "linearize/history.hpp"
#include "support/arena.hpp"
#include "support/clock.hpp"
#include "support/fence.hpp"
#include "support/mode.hpp"
#include "support/random.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::size_t words = 3;
constexpr std::size_t operations_per_round = 40;  // each rank makes as many

// An operation of a rank on a word; rank 0 collects them.
struct Record {
    WordOperation operation;
    std::uint64_t word;
};

std::uint64_t shared_seed() {
    const char* given = std::getenv("TEST_SEED");
    const std::uint64_t mine = given == nullptr ? fresh_seed() : std::strtoull(given, nullptr, 0);
    return exchange(mine).front();
}

int rounds_wanted() {
    if (const char* wanted = std::getenv("TEST_ROUNDS"); wanted != nullptr) {
        return std::atoi(wanted);
    }
    return mode().is_slow() ? 6 : 100;
}

enum class Where { starter, registered, mixed };

class LinearizeTest : public RankedTest,
                      public ::testing::WithParamInterface<std::tuple<Where, int>> {
protected:
    static constexpr std::size_t result_place = 0;
    static constexpr std::size_t value_place = 64;

    // Issues one random operation and waits for it.
    static WordOperation operate(Random& random,
                                 acp_ga_t word,
                                 const Arena& own,
                                 std::uint8_t width) {
        WordOperation operation;
        operation.rank = static_cast<std::uint16_t>(acp_rank());
        operation.width = width;
        operation.verb = static_cast<WordVerb>(random.below(word_verbs));
        operation.operand = random.below(4);
        operation.expected = random.below(4);
        own.word<std::uint64_t>(result_place) = 0;
        own.word<std::uint64_t>(value_place) = operation.operand;
        test::fence();  // the operation begins after the clock is read
        operation.call_ns = now_ns();
        test::fence();
        acp_complete(issue(operation, word, own));
        test::fence();  // and is visible to all ranks before the clock is read again
        operation.return_ns = now_ns();
        operation.result = own.word<std::uint64_t>(result_place);
        return operation;
    }

    static acp_handle_t issue(const WordOperation& operation, acp_ga_t word, const Arena& own) {
        const acp_ga_t result = own.at(acp_rank(), result_place);
        const acp_ga_t value = own.at(acp_rank(), value_place);
        const auto operand4 = static_cast<std::uint32_t>(operation.operand);
        const auto expected4 = static_cast<std::uint32_t>(operation.expected);
        const bool is_wide = operation.width == 8;
        switch (operation.verb) {
            case WordVerb::read:
                return acp_copy(result, word, operation.width, ACP_HANDLE_NULL);
            case WordVerb::write:
                return acp_copy(word, value, operation.width, ACP_HANDLE_NULL);
            case WordVerb::cas:
                return is_wide ? acp_cas8(result, word, operation.expected, operation.operand,
                                          ACP_HANDLE_NULL)
                               : acp_cas4(result, word, expected4, operand4, ACP_HANDLE_NULL);
            case WordVerb::swap:
                return is_wide ? acp_swap8(result, word, operation.operand, ACP_HANDLE_NULL)
                               : acp_swap4(result, word, operand4, ACP_HANDLE_NULL);
            case WordVerb::min:
                return is_wide
                           ? acp_min8(result, word, static_cast<std::int64_t>(operation.operand),
                                      ACP_HANDLE_NULL)
                           : acp_min4(result, word, static_cast<std::int32_t>(operand4),
                                      ACP_HANDLE_NULL);
            case WordVerb::max:
                return is_wide
                           ? acp_max8(result, word, static_cast<std::int64_t>(operation.operand),
                                      ACP_HANDLE_NULL)
                           : acp_max4(result, word, static_cast<std::int32_t>(operand4),
                                      ACP_HANDLE_NULL);
            default:  // add
                break;
        }
        return is_wide ? acp_add8(result, word, operation.operand, ACP_HANDLE_NULL)
                       : acp_add4(result, word, operand4, ACP_HANDLE_NULL);
    }
};

// Rank 0 checks the records of all ranks for one word.
void judge(const Arena& records, std::size_t word, std::uint64_t final_value, std::uint64_t seed) {
    std::vector<WordOperation> history;
    for (int rank = 0; rank < acp_procs(); ++rank) {
        const std::vector<std::byte> theirs = records.fetched_from(rank);
        for (std::size_t index = 0; index < operations_per_round; ++index) {
            Record record;
            std::memcpy(&record, theirs.data() + index * sizeof record, sizeof record);
            if (record.word == word) {
                history.push_back(record.operation);
            }
        }
    }
    const Judgement judgement = check_history(history, 0, final_value);
    if (judgement.verdict == Verdict::linearizable) {
        return;
    }
    FAIL() << "final value " << final_value << ", TEST_SEED=" << seed << ", "
           << explain(history, judgement);
}

TEST_P(LinearizeTest, explains_every_history_of_all_ranks) {
    const auto [where, width] = GetParam();
    if (where != Where::starter && !mode().reaches_private_memory()) {
        GTEST_SKIP() << "this mode does not reach another rank's registered memory";
    }
    allow_seconds(170);
    const int rounds = rounds_wanted();
    const std::uint64_t seed = shared_seed();
    Random random(seed + static_cast<std::uint64_t>(rank_));
    const Arena starter(Kind::starter, 8 * words);
    const Arena registered(Kind::registered, 8 * words);
    const Arena own(Kind::starter, 128, 128);
    const Arena records(Kind::starter, operations_per_round * sizeof(Record), 512);
    // Word w lies in memory of rank w.
    const auto arena_of = [&, kinds = where](std::size_t word) -> const Arena& {
        const bool is_starter = kinds == Where::starter || (kinds == Where::mixed && word % 2 == 0);
        return is_starter ? starter : registered;
    };
    const auto owner_of = [&](std::size_t word) { return static_cast<int>(word) % procs_; };
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t word = 0; word < words; ++word) {
            starter.word<std::uint64_t>(8 * word) = registered.word<std::uint64_t>(8 * word) = 0;
        }
        sync_ranks();
        auto* mine = &records.word<Record>();
        for (std::size_t index = 0; index < operations_per_round; ++index) {
            const std::size_t word = random.below(words);
            const acp_ga_t address = arena_of(word).at(owner_of(word), 8 * word);
            mine[index] = {operate(random, address, own, static_cast<std::uint8_t>(width)), word};
        }
        sync_ranks();
        for (std::size_t word = 0; word < words; ++word) {
            const auto finals = exchange(arena_of(word).word<std::uint64_t>(8 * word));
            if (rank_ == 0) {
                judge(records, word, finals[static_cast<std::size_t>(owner_of(word))], seed);
            }
        }
    }
}

const char* name_of(Where where) {
    constexpr const char* names[] = {"starter", "registered", "mixed"};
    return names[static_cast<std::size_t>(where)];
}

INSTANTIATE_TEST_SUITE_P(
    memories,
    LinearizeTest,
    ::testing::Combine(::testing::Values(Where::starter, Where::registered, Where::mixed),
                       ::testing::Values(4, 8)),
    [](const auto& each) {
        return name_of(std::get<0>(each.param)) + std::to_string(std::get<1>(each.param));
    });

}  // namespace
}  // namespace acp::test
