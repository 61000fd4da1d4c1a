// SPDX-License-Identifier: BSD-3-Clause
// Calls on all entries of containers whose tables are on both nodes: walks,
// scans, batches, merges, moves and swaps, with keys and values that fit into
// an answer and with such that a walk fetches afterwards. A step that the other
// node refuses ends the call with its code, and each entry is then in exactly
// one of the containers.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "data/hashed_batch.hpp"
#include "data/hashed_exchange.hpp"
#include "data/hashed_walk.hpp"

#include "support/scoped_watchdog.hpp"
#include "unit/data/two_nodes.hpp"

namespace acp::data::test {
namespace {

using allocator::ClearTable;
using allocator::CountEntries;
using allocator::EraseRecord;
using allocator::MakeTableList;
using allocator::ReadEntry;
using allocator::RunBatch;
using base::Code;
using RunStep = std::function<void()>;
using Content = std::map<std::string, std::string>;

Bytes bytes_in(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

std::string text_of(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class FarWalkTest : public testing::Test {
protected:
    ContainerName make(std::vector<std::uint32_t> ranks, ContainerKind kind = ContainerKind::map) {
        HashedOptions options;
        options.kind = kind;
        options.directory_process = ranks.back();
        options.processes = std::move(ranks);
        auto made = here().create(options);
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        EXPECT_TRUE(here().begin_use(made.value()).is_ok());
        return made.value();
    }

    // Entries of all lengths; the value of a key begins with its number.
    static Content some(int first, int count) {
        Content made;
        const std::vector<std::size_t> key_bytes{1, 40, 900, 5'000};
        const std::vector<std::size_t> value_bytes{0, 8, 300, 3'000, 40'000};
        for (int i = first; i < first + count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const std::string number = std::to_string(i) + ".";
            made[number + std::string(key_bytes[at % 4], 'k')] =
                number + std::string(value_bytes[at % 5], 'v');
        }
        return made;
    }

    void fill(const ContainerName& name, const Content& content) {
        for (const auto& [key, value] : content) {
            Put put;
            put.key = bytes_in(key);
            put.value = bytes_in(value);
            put.mode = PutMode::assign;
            auto done = here().put(name, put, nullptr);
            ASSERT_TRUE(done.is_ok()) << done.failure().message();
        }
    }

    // The entries as a rank scans them, in rooms of this length.
    Content scanned(std::uint32_t rank,
                    const ContainerName& name,
                    Scope scope = Scope::all,
                    std::size_t room_bytes = 100'000) {
        HashedWalk walk(*node_[rank].hashed);
        Content all;
        std::vector<std::byte> room(room_bytes);
        for (EntryPlace at = first(rank, name, scope);;) {
            const HashedWalk::Scan wish{
                1'000'000, room, [&](Bytes key, Room value) {
                    EXPECT_TRUE(all.emplace(text_of(key), text_of(value)).second) << "twice";
                }};
            auto read = walk.scan(name, at, scope, wish);
            EXPECT_TRUE(read.is_ok()) << read.failure().message();
            if (!read.is_ok() || read.value() == 0) return all;
        }
    }

    // The place of the first entry.
    EntryPlace first(std::uint32_t rank, const ContainerName& name, Scope scope) {
        HashedWalk walk(*node_[rank].hashed);
        auto begin = walk.beginning(name, scope);
        EXPECT_TRUE(begin.is_ok()) << begin.failure().message();
        auto next = walk.next(name, begin.value(), scope);
        EXPECT_TRUE(next.is_ok()) << next.failure().message();
        return next.is_ok() ? next.value() : EntryPlace{};
    }

    [[nodiscard]] Hashed& here() { return *node_[0].hashed; }

    acp::test::ScopedWatchdog watchdog_{"unit_data: a walk over two nodes does not end"};
    TwoNodes node_{64 << 20};
};

TEST_F(FarWalkTest, each_rank_scans_all_entries_and_its_own) {
    const ContainerName map = make({0, 1, 2, 3});
    const Content content = some(0, 60);
    fill(map, content);
    Content sum;
    for (std::uint32_t rank = 0; rank < TwoNodes::procs; ++rank) {
        EXPECT_EQ(scanned(rank, map), content) << rank;
        const Content own = scanned(rank, map, Scope::local);
        sum.insert(own.begin(), own.end());
        HashedWalk walk(*node_[rank].hashed);
        EXPECT_EQ(walk.entries(map, Scope::all).value(), content.size());
        EXPECT_EQ(walk.entries(map, Scope::local).value(), own.size());
        Content visited;
        const auto visit = [&](Bytes key, Bytes value) {
            visited.emplace(text_of(key), text_of(value));
            return visited.size() < 3;
        };
        EXPECT_EQ(walk.visit_local(map, visit).value(), std::min<std::size_t>(3, own.size()));
        for (const auto& [key, value] : visited) EXPECT_EQ(content.at(key), value);
    }
    EXPECT_EQ(sum, content);
}

TEST_F(FarWalkTest, a_walk_visits_each_entry_once_and_ends) {
    const ContainerName map = make({2, 0, 3});
    const Content content = some(0, 40);
    fill(map, content);
    HashedWalk walk(here());
    const EntryPlace end = walk.end(map, Scope::all).value();
    std::size_t visited = 0;
    for (EntryPlace at = walk.beginning(map, Scope::all).value();; ++visited) {
        auto next = walk.next(map, at, Scope::all);
        ASSERT_TRUE(next.is_ok()) << next.failure().message();
        at = next.value();
        if (at.record == 0) break;
        std::string value(at.value_bytes, '.');
        const auto room = std::as_writable_bytes(std::span(value.data(), value.size()));
        ASSERT_TRUE(here().read(map, at, room).is_ok());
        EXPECT_TRUE(std::any_of(content.begin(), content.end(),
                                [&](const auto& entry) { return entry.second == value; }));
    }
    EXPECT_EQ(visited, content.size());
    EXPECT_EQ(walk.next(map, end, Scope::all).value().record, 0U);
}

TEST_F(FarWalkTest, a_room_that_is_too_small_for_an_entry_is_refused_at_its_place) {
    const ContainerName map = make({2});
    const std::string key = "key";
    fill(map, {{key, std::string(5'000, 'v')}});
    HashedWalk walk(here());
    EntryPlace at = first(0, map, Scope::all);
    std::vector<std::byte> room(4'000);
    const HashedWalk::Scan wish{10, room, [](Bytes, Room) { FAIL(); }};
    EXPECT_EQ(walk.scan(map, at, Scope::all, wish).failure().code(), Code::limit);
    EXPECT_EQ(at.value_bytes, 5'000U);
    EXPECT_EQ(at.key_bytes, key.size());
    EXPECT_EQ(scanned(0, map, Scope::all, 5'100).size(), 1U);
}

// The owner replaces the value when the walk has found its record, and before
// it fetches the bytes.
TEST_F(FarWalkTest, a_long_value_that_is_replaced_during_a_scan_is_read_whole) {
    const ContainerName map = make({2});
    const std::string key = "key";
    fill(map, {{key, std::string(30'000, 'o')}});
    std::atomic<int> replaced{0};
    node_.intercept<ReadEntry>([&](NodeAnswer&, const RunStep& run) {
        if (replaced++ == 0) {
            const std::string value(30'000, 'n');
            Put put;
            put.key = bytes_in(key);
            put.value = bytes_in(value);
            put.mode = PutMode::assign;
            EXPECT_TRUE(node_[2].hashed->put(map, put, nullptr).is_ok());
        }
        run();
    });
    const Content found = scanned(0, map);
    ASSERT_EQ(found.size(), 1U);
    const std::string value = found.begin()->second;
    EXPECT_EQ(value, std::string(30'000, value.front()));
}

TEST_F(FarWalkTest, clearing_empties_the_tables_of_both_nodes_and_reports_the_one_that_refused) {
    const ContainerName map = make({0, 2, 3});
    fill(map, some(0, 50));
    HashedWalk walk(here());
    node_.refuse<ClearTable>(Code::limit);
    EXPECT_EQ(walk.clear(map, Scope::all).code(), Code::limit);
    EXPECT_TRUE(scanned(0, map, Scope::local).empty()) << "the own table is cleared in any case";
    EXPECT_FALSE(scanned(0, map).empty());
    node_.intercept<ClearTable>(nullptr);
    EXPECT_TRUE(walk.clear(map, Scope::all).is_ok());
    EXPECT_TRUE(scanned(3, map).empty());
    EXPECT_EQ(walk.entries(map, Scope::all).value(), 0U);
    node_.refuse<CountEntries>(Code::stale);
    EXPECT_EQ(walk.entries(map, Scope::all).failure().code(), Code::stale);
}

TEST_F(FarWalkTest, a_merge_keeps_what_is_there_and_an_assignment_replaces_it) {
    const ContainerName into = make({0, 2});
    const ContainerName from = make({3, 1});
    const Content old{{"5." + std::string(40, 'k'), "old"}, {"other", "kept"}};
    const Content added = some(0, 40);
    fill(into, old);
    fill(from, added);
    Content merged = old;
    merged.insert(added.begin(), added.end());
    HashedWalk walk(here());
    ASSERT_TRUE(walk.merge(into, from, Scope::all).is_ok());
    EXPECT_EQ(scanned(1, into), merged);
    EXPECT_EQ(scanned(2, from), added) << "it stays as it was";
    ASSERT_TRUE(walk.merge(into, into, Scope::all).is_ok());
    EXPECT_EQ(scanned(1, into), merged);
    ASSERT_TRUE(walk.assign(into, from, Scope::all).is_ok());
    EXPECT_EQ(scanned(3, into), added);
    node_.refuse<allocator::PutEntry>(Code::memory);
    EXPECT_EQ(walk.assign(into, from, Scope::all).code(), Code::memory);
    node_.check_heap(2);
}

TEST_F(FarWalkTest, a_multiset_adds_the_counts_of_a_merge) {
    const ContainerName into = make({2}, ContainerKind::multiset);
    const ContainerName from = make({3, 0}, ContainerKind::multiset);
    const auto add = [&](const ContainerName& name, const std::string& key, std::uint64_t count) {
        auto done = here().change(name, bytes_in(key),
                                  {allocator::ChangeKind::add_to_count, count, 0}, nullptr);
        ASSERT_TRUE(done.is_ok()) << done.failure().message();
    };
    add(into, "a", 2);
    add(from, "a", 3);
    add(from, "b", 4);
    HashedWalk walk(here());
    ASSERT_TRUE(walk.merge(into, from, Scope::all).is_ok());
    std::map<std::string, std::uint64_t> counts;
    for (const auto& [key, value] : scanned(2, into)) {
        ASSERT_EQ(value.size(), sizeof(std::uint64_t));
        std::memcpy(&counts[key], value.data(), value.size());
    }
    EXPECT_EQ(counts, (std::map<std::string, std::uint64_t>{{"a", 5}, {"b", 4}}));
}

// Every entry is in one of the containers after a refused step, and the next
// call moves the rest.
TEST_F(FarWalkTest, a_refused_move_loses_no_entry) {
    const ContainerName into = make({0, 3});
    const ContainerName from = make({2, 1});
    const Content content = some(0, 40);
    fill(from, content);
    HashedWalk walk(here());
    std::atomic<int> erased{0};
    node_.intercept<EraseRecord>([&](NodeAnswer& answer, const RunStep& run) {
        if (erased++ < 7) return run();
        answer.code = Code::limit;
    });
    EXPECT_EQ(walk.move(into, from, Scope::all).code(), Code::limit);
    Content all = scanned(0, from);
    const Content moved = scanned(0, into);
    EXPECT_LT(all.size(), content.size());
    all.insert(moved.begin(), moved.end());
    EXPECT_EQ(all, content);
    node_.intercept<EraseRecord>(nullptr);
    ASSERT_TRUE(walk.move(into, from, Scope::all).is_ok());
    EXPECT_EQ(scanned(1, into), content);
    for (const auto& [key, value] : scanned(1, from)) EXPECT_EQ(moved.at(key), value);
}

TEST_F(FarWalkTest, a_swap_exchanges_tables_of_both_nodes_for_all_ranks) {
    const ContainerName one = make({0, 2, 3});
    const ContainerName other = make({1});
    const Content first = some(0, 30);
    const Content second = some(100, 20);
    fill(one, first);
    fill(other, second);
    node_.refuse<MakeTableList>(Code::memory);
    EXPECT_EQ(HashedExchange(*node_[2].hashed).run(one, other).code(), Code::memory);
    EXPECT_EQ(scanned(3, one), first) << "nothing has changed";
    EXPECT_EQ(scanned(3, other), second);
    node_.intercept<MakeTableList>(nullptr);
    for (const std::uint32_t rank : {2U, 0U, 3U}) {
        ASSERT_TRUE(HashedExchange(*node_[rank].hashed).run(one, other).is_ok());
        const bool is_swapped = rank != 0;
        for (std::uint32_t reader = 0; reader < TwoNodes::procs; ++reader) {
            EXPECT_EQ(scanned(reader, one), is_swapped ? second : first) << reader;
            EXPECT_EQ(scanned(reader, other), is_swapped ? first : second) << reader;
        }
    }
}

// Many keys in one call: some tables are on this node, and messages go to those
// of the other one.
class FarBatchTest : public FarWalkTest {
protected:
    FarBatchTest() : content_(some(0, 90)), map_(make({0, 1, 2, 3})) {}

    // Runs one kind of call on all keys; returns the effects.
    base::Status run(BatchKind kind, std::vector<EntryResult>& results) {
        BatchRooms::Lease lease(here().batch_rooms());
        BatchRoom& room = lease.room();
        room.items.clear();
        values_.assign(content_.size(), std::string(50'000, '.'));
        std::size_t i = 0;
        for (const auto& [key, value] : content_) {
            BatchItem& item = room.items.emplace_back();
            item.key = bytes_in(key);
            item.value = bytes_in(value);
            item.room = std::as_writable_bytes(std::span(values_[i++]));
        }
        base::Status status = HashedBatch(here(), map_, kind, room).run(0);
        results.clear();
        are_done_ = 0;
        for (BatchItem& item : room.items) {
            results.push_back(item.result);
            are_done_ += item.is_done ? 1 : 0;
        }
        return status;
    }

    Content content_;
    ContainerName map_;
    std::vector<std::string> values_;
    std::size_t are_done_ = 0;
};

TEST_F(FarBatchTest, inserts_finds_and_erases_keys_of_all_tables) {
    std::vector<EntryResult> results;
    ASSERT_TRUE(run(BatchKind::insert, results).is_ok());
    EXPECT_EQ(are_done_, content_.size());
    EXPECT_EQ(scanned(3, map_), content_);
    ASSERT_TRUE(run(BatchKind::insert, results).is_ok());
    for (const EntryResult& one : results) EXPECT_NE(one.effect, Effect::done) << "it is there";
    ASSERT_TRUE(run(BatchKind::find, results).is_ok());
    std::size_t i = 0;
    for (const auto& [key, value] : content_) {
        EXPECT_EQ(results[i].effect, Effect::done);
        ASSERT_EQ(results[i].value_bytes, value.size());
        EXPECT_EQ(values_[i].substr(0, value.size()), value);
        ++i;
    }
    ASSERT_TRUE(run(BatchKind::erase, results).is_ok());
    EXPECT_TRUE(scanned(2, map_).empty());
    ASSERT_TRUE(run(BatchKind::find, results).is_ok());
    for (const EntryResult& one : results) EXPECT_EQ(one.effect, Effect::absent);
}

TEST_F(FarBatchTest, a_message_that_is_refused_is_replaced_by_a_call_for_each_key) {
    std::vector<EntryResult> results;
    node_.refuse<RunBatch>(Code::limit);
    ASSERT_TRUE(run(BatchKind::insert, results).is_ok());
    EXPECT_EQ(are_done_, content_.size());
    EXPECT_EQ(scanned(1, map_), content_);
}

TEST_F(FarBatchTest, a_key_that_fails_is_reported_and_the_keys_of_other_tables_are_done) {
    std::vector<EntryResult> results;
    node_.refuse<RunBatch>(Code::limit);
    node_.refuse<allocator::PutEntry>(Code::limit);
    node_.refuse<allocator::PutBlock>(Code::limit);
    EXPECT_EQ(run(BatchKind::insert, results).code(), Code::limit);
    EXPECT_GT(are_done_, 0U);
    EXPECT_LT(are_done_, content_.size());
    const Content found = scanned(0, map_);
    EXPECT_EQ(found.size(), are_done_);
    for (const auto& [key, value] : found) EXPECT_EQ(content_.at(key), value);
}

// The answer of a faulty gateway: within a result, and within the value that a
// result announces.
TEST_F(FarBatchTest, an_answer_that_is_cut_leaves_no_key_undone) {
    std::vector<EntryResult> results;
    for (const std::uint32_t bytes :
         {1U, 9U, static_cast<std::uint32_t>(sizeof(EntryResult)) + 1}) {
        for (const BatchKind kind : {BatchKind::assign, BatchKind::find}) {
            node_.intercept<RunBatch>([bytes](NodeAnswer& answer, const RunStep& run) {
                run();
                answer.bytes = std::min<std::uint32_t>(answer.bytes, bytes);
            });
            ASSERT_TRUE(run(kind, results).is_ok());
            EXPECT_EQ(are_done_, content_.size());
            node_.intercept<RunBatch>(nullptr);
            EXPECT_EQ(scanned(1, map_), content_);
        }
        std::size_t i = 0;
        for (const auto& [key, value] : content_) {
            EXPECT_EQ(values_[i++].substr(0, value.size()), value) << key.substr(0, 20);
        }
    }
}

}  // namespace
}  // namespace acp::data::test
