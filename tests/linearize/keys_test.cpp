// SPDX-License-Identifier: BSD-3-Clause
// Histories of all ranks that work on a few keys of one map at once, checked for linearizability,
// while other keys make its tables grow. Values are numbers of 8 bytes, which change in place, or
// texts in records of their own. Times come from one clock of the machine. TEST_ROUNDS is the
// number of maps; each gives a history for every key. The seed comes from TEST_SEED if it is set.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sched.h>
#include <string>

#include "linearize/history.hpp"
#include "support/arena.hpp"
#include "support/clock.hpp"
#include "support/effort.hpp"
#include "support/fence.hpp"
#include "support/random.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::size_t keys = 4;
constexpr std::size_t operations_per_round = 100;  // each rank makes as many

// The values of a key.
enum class Values { numbers, texts, long_texts };

constexpr Values values_of(std::size_t key) {
    if (key < 2) return Values::numbers;
    return key == 2 ? Values::texts : Values::long_texts;
}

// An operation of a rank on a key; rank 0 collects them.
struct Record {
    WordOperation operation;
    std::uint64_t key;
};

// Converts a word to a value and back. The lengths of texts differ from 8; long texts are longer
// than a message.
class Coder {
public:
    explicit Coder(Values values) : values_(values) {}

    [[nodiscard]] std::string value(std::uint64_t word) const {
        if (values_ == Values::numbers) {
            return {reinterpret_cast<const char*>(&word), sizeof word};
        }
        std::string text = std::to_string(word) + " is the word";
        text.resize(text.size() + word * (values_ == Values::texts ? 20 : 700), '.');
        return text;
    }

    // For bytes that are no valid value: a number that no value has.
    [[nodiscard]] std::uint64_t word(const std::string& bytes) const {
        constexpr std::uint64_t none = 0xbad;
        if (values_ == Values::numbers) {
            std::uint64_t number = none;
            if (bytes.size() == sizeof number) std::memcpy(&number, bytes.data(), sizeof number);
            return number;
        }
        if (bytes.empty()) return none;
        const auto digit = static_cast<std::uint64_t>(bytes.front() - '0');
        return digit < 10 && bytes == value(digit) ? digit : none;
    }

private:
    Values values_;
};

class KeysTest : public RankedTest {
protected:
    static std::uint64_t shared_seed() {
        const char* given = std::getenv("TEST_SEED");
        const std::uint64_t mine =
            given == nullptr ? fresh_seed() : std::strtoull(given, nullptr, 0);
        return exchange(mine).front();
    }

    static int rounds_wanted() {
        const char* wanted = std::getenv("TEST_ROUNDS");
        return wanted != nullptr ? std::atoi(wanted) : effort(60, 6);
    }

    static std::string key_number(std::size_t key) { return "key " + std::to_string(key); }

    // A map that rank 0 makes, with one slot on each rank.
    acp_map_t shared_map() {
        acp_map_t map{};
        if (rank_ == 0) map = acp_create_map(0, nullptr, 1, procs_ - 1);
        map.ga = exchange(map.ga).front();
        map.id = exchange(map.id).front();
        map.num_ranks = exchange(map.num_ranks).front();
        map.num_slots = exchange(map.num_slots).front();
        EXPECT_NE(map.ga, ACP_GA_NULL) << acp_error_message();
        return map;
    }

    static std::uint64_t found_word(acp_map_t map, const std::string& key, const Coder& coder) {
        std::string value(8'192, '\0');
        std::size_t bytes = value.size();
        const int found = acp_retrieve_map(map, key.data(), key.size(), value.data(), &bytes);
        EXPECT_NE(found, -1) << acp_error_message();
        EXPECT_LE(bytes, value.size());
        if (found != 1) return absent_word;
        value.resize(std::min(bytes, value.size()));
        return coder.word(value);
    }

    static WordVerb random_verb(Random& random, Values values) {
        using enum WordVerb;
        constexpr WordVerb all[] = {read, insert, write, erase, replace, key_add, cas};
        const std::size_t count = values == Values::numbers ? 7 : values == Values::texts ? 5 : 4;
        return all[random.below(count)];
    }

    // Makes one call, and returns its result.
    static std::uint64_t perform(acp_map_t map, std::size_t which, const WordOperation& operation) {
        const std::string key = key_number(which);
        const Coder coder(values_of(which));
        const std::string value = coder.value(operation.operand);
        const std::string expected = coder.value(operation.expected);
        std::uint64_t old = operation.expected;
        int result = 0;
        switch (operation.verb) {
            case WordVerb::insert:
                result = acp_insert_if_absent_map(map, key.data(), key.size(), value.data(),
                                                  value.size());
                break;
            case WordVerb::write:
                result = acp_insert_or_assign_map(map, key.data(), key.size(), value.data(),
                                                  value.size());
                break;
            case WordVerb::erase:
                result = acp_remove_map(map, key.data(), key.size());
                break;
            case WordVerb::replace: {
                acp_entry_t entry{};
                entry.key = key.data();
                entry.key_size = key.size();
                entry.value = const_cast<char*>(expected.data());
                entry.value_size = expected.size();
                result = acp_replace_map(map, &entry, value.data(), value.size());
                if (result == ACP_NONE) return key_is_absent;
                break;
            }
            case WordVerb::key_add:
                result = acp_fetch_add_map(map, key.data(), key.size(), operation.operand, &old);
                if (result == 1) return absent_word;
                EXPECT_EQ(result, 0) << acp_error_message();
                return old;
            case WordVerb::cas:
                result =
                    acp_compare_exchange_map(map, key.data(), key.size(), &old, operation.operand);
                EXPECT_NE(result, -1) << acp_error_message();
                return result == ACP_NONE ? absent_word : old;
            default:
                return found_word(map, key, coder);
        }
        EXPECT_NE(result, -1) << describe(operation) << ": " << acp_error_message();
        return static_cast<std::uint64_t>(result);
    }

    // Waits briefly for another rank of the node, so that two calls begin at once: calls on a node
    // take less than a microsecond and would hardly ever overlap. Returns a number from which both
    // choose the same key.
    //   arrivals  a word that all ranks of the node count up; nullptr: on other nodes, whose
    //   calls take longer
    static std::uint64_t begin_together(std::atomic<std::uint64_t>* arrivals, Random& random) {
        constexpr std::int64_t patience_ns = 200'000;
        if (arrivals == nullptr) return random.next();
        const std::uint64_t ticket = arrivals->fetch_add(1, std::memory_order_acq_rel);
        const std::uint64_t wanted = ticket / 2 * 2 + 2;
        const std::int64_t deadline = now_ns() + patience_ns;
        for (int look = 0; arrivals->load(std::memory_order_acquire) < wanted; ++look) {
            if (look % 64 == 63 && now_ns() > deadline) break;
            if (look % 4'096 == 4'095) sched_yield();
        }
        return ticket / 2;
    }

    static Record operate(acp_map_t map, Random& random, std::atomic<std::uint64_t>* arrivals) {
        Record record{};
        record.key = Random(begin_together(arrivals, random)).below(keys);
        WordOperation& operation = record.operation;
        operation.rank = static_cast<std::uint16_t>(acp_rank());
        operation.verb = random_verb(random, values_of(record.key));
        operation.operand = random.below(4);
        operation.expected = random.below(4);
        // The fences keep the call between both reads of the clock.
        test::fence();
        operation.call_ns = now_ns();
        test::fence();
        operation.result = perform(map, record.key, operation);
        test::fence();
        operation.return_ns = now_ns();
        return record;
    }

    // Inserts a key that is not checked, so that tables grow.
    void insert_other(acp_map_t map, std::size_t number) const {
        const std::string key =
            "rank " + std::to_string(rank_) + " other " + std::to_string(number);
        EXPECT_EQ(acp_insert_if_absent_map(map, key.data(), key.size(), "x", 1), 1)
            << acp_error_message();
    }

    // The number of calls that overlapped a call of another rank on the same key.
    static std::size_t meetings_in(const std::vector<WordOperation>& history) {
        return static_cast<std::size_t>(
            std::count_if(history.begin(), history.end(), [&](const WordOperation& one) {
                return std::any_of(history.begin(), history.end(), [&](const WordOperation& other) {
                    return other.rank != one.rank && other.call_ns < one.return_ns &&
                           one.call_ns < other.return_ns;
                });
            }));
    }

    // Rank 0 checks the records of all ranks.
    void judge(const Arena& records, acp_map_t map, std::uint64_t seed, int round) {
        std::vector<std::vector<WordOperation>> histories(keys);
        for (int rank = 0; rank < acp_procs(); ++rank) {
            const std::vector<std::byte> theirs = records.fetched_from(rank);
            for (std::size_t index = 0; index < operations_per_round; ++index) {
                Record record;
                std::memcpy(&record, theirs.data() + index * sizeof record, sizeof record);
                histories[record.key].push_back(record.operation);
            }
        }
        for (std::size_t key = 0; key < keys; ++key) {
            calls_ += histories[key].size();
            meetings_ += meetings_in(histories[key]);
            const std::uint64_t last = found_word(map, key_number(key), Coder(values_of(key)));
            const Judgement judgement = check_history(histories[key], absent_word, last);
            EXPECT_EQ(judgement.verdict, Verdict::linearizable)
                << key_number(key) << " of round " << round << ", at last " << last
                << ", TEST_SEED=" << seed << ", " << explain(histories[key], judgement);
        }
    }

    std::size_t calls_ = 0;
    std::size_t meetings_ = 0;
};

TEST_F(KeysTest, every_history_of_a_key_is_explained) {
    const int rounds = rounds_wanted();
    allow_seconds(170 + static_cast<unsigned>(rounds) / 2);
    const std::uint64_t seed = shared_seed();
    Random random(seed + static_cast<std::uint64_t>(rank_));
    const Arena records(Kind::starter, operations_per_round * sizeof(Record), 512);
    auto* mine = &records.word<Record>();
    const Arena meetings(Kind::starter, 64, 256 << 10);
    auto* const arrivals =
        static_cast<std::atomic<std::uint64_t>*>(acp_query_address(meetings.at(0)));
    for (int round = 0; round < rounds; ++round) {
        const acp_map_t map = shared_map();
        sync_ranks();
        for (std::size_t index = 0; index < operations_per_round; ++index) {
            mine[index] = operate(map, random, arrivals);
            if (random.below(2) == 0) insert_other(map, index);
        }
        sync_ranks();
        if (rank_ == 0) judge(records, map, seed, round);
        sync_ranks();
        if (rank_ == 0) {
            EXPECT_EQ(acp_destroy_map(map), 0) << acp_error_message();
        }
        if (exchange(HasFailure() ? 1 : 0).front() != 0) return;
    }
    if (rank_ == 0) {
        std::cout << meetings_ << " of " << calls_
                  << " calls met one of another rank on their key\n";
    }
}

}  // namespace
}  // namespace acp::test
