// SPDX-License-Identifier: BSD-3-Clause
// The views that a thread keeps of containers with several tables: a view of a table is found for
// its own container alone, and several views take turns in one place.
#include <array>
#include <numeric>
#include <utility>

#include "data/hashed_exchange.hpp"

#include "table_view_fixture.hpp"

namespace acp::data::test {
namespace {

TEST_F(TableViewTest, a_container_of_several_tables_has_a_view_of_each) {
    for (std::uint64_t slots = 1; slots <= 6; ++slots) {
        const ContainerName map = make({0, 1}, slots);
        const auto views = std::make_unique<TableViews>();
        std::array<bool, 2> is_learned{};
        for (int i = 0; i < 60; ++i) {
            const std::string key = "key " + std::to_string(i);
            put(map, key, std::to_string(i));
            TablePlace wanted;
            ASSERT_TRUE(hashed_->directories().find(map, bytes_of(key), wanted));
            if (!std::exchange(is_learned[wanted.index], true)) {
                EXPECT_EQ(find(*views, map, key).found, Found::unknown);
                learn(*views, map, epoch, key);
            }
            ASSERT_EQ(find(*views, map, key), there(std::to_string(i))) << slots << " slots";
            TablePlace place;
            ASSERT_TRUE(views->place(epoch, map, bytes_of(key), place));
            EXPECT_EQ(place.index, wanted.index);
            EXPECT_EQ(place.table, wanted.table);
            EXPECT_EQ(place.tables, 2U);
            EXPECT_EQ(place.slots, slots);
            EXPECT_EQ(place.heap, wanted.heap);
        }
        EXPECT_TRUE(is_learned[0] && is_learned[1]);
        std::uint64_t tables = 0;
        EXPECT_EQ(views->find(epoch, map, bytes_of("none"), tables,
                              [](const TableView&, std::uint64_t, auto&, auto) {}),
                  Found::absent);
        EXPECT_EQ(tables, 2U);
    }
}

// After two swaps the tables belong to the first container again, but the places of keys that were
// learned between the swaps belong to the other one.
TEST_F(TableViewTest, a_view_of_a_table_is_of_one_view_of_its_container) {
    const ContainerName one = make({0, 1}, 2);
    const ContainerName other = make({0, 1}, 4);
    const auto key_of = [](int i) { return "key " + std::to_string(i); };
    const auto views = std::make_unique<TableViews>();
    constexpr int keys = 40;
    for (int i = 0; i < keys; ++i) {
        put(one, key_of(i), "of one");
        put(other, key_of(i), "of the other");
        learn(*views, one, epoch, key_of(i));
    }
    const auto expect_nothing_wrong = [&](const std::string& wanted) {
        int known = 0;
        for (int i = 0; i < keys; ++i) {
            const Seen seen = find(*views, one, key_of(i));
            if (seen.found == Found::unknown) continue;
            EXPECT_EQ(seen, there(wanted)) << i;
            ++known;
        }
        return known;
    };
    EXPECT_EQ(expect_nothing_wrong("of one"), keys);
    for (int learned = 0; learned < keys; ++learned) {
        ASSERT_TRUE(HashedExchange(*hashed_).run(one, other).is_ok());
        EXPECT_EQ(expect_nothing_wrong("of the other"), 0) << "the tables have gone";
        TablePlace place;  // the place in the current directory
        ASSERT_TRUE(hashed_->directories().fetch(one).is_ok());
        ASSERT_TRUE(hashed_->directories().find(one, bytes_of(key_of(learned)), place));
        EXPECT_EQ(place.slots, 4U);
        learn(*views, one, epoch, key_of(learned));
        EXPECT_GT(expect_nothing_wrong("of the other"), 0);
        ASSERT_TRUE(HashedExchange(*hashed_).run(one, other).is_ok());
        EXPECT_EQ(expect_nothing_wrong("of one"), 0) << learned;
        ASSERT_TRUE(hashed_->directories().fetch(one).is_ok());
        for (int i = 0; i < keys; ++i) learn(*views, one, epoch, key_of(i));
        EXPECT_EQ(expect_nothing_wrong("of one"), keys);
    }
}

TEST_F(TableViewTest, the_tables_of_two_containers_give_way_to_each_other_now_and_then) {
    const ContainerName map = make({0, 1});
    ContainerName rival = make({0, 1});
    while (rival.id % TableViews::tables_max != (map.id + 1) % TableViews::tables_max) {
        rival = make({0, 1});
    }
    const auto views = std::make_unique<TableViews>();
    // keys of table 1 of the map and of table 0 of its rival, whose views have the same place
    std::vector<std::string> keys;
    for (const auto& [name, index] : {std::pair(map, 1U), std::pair(rival, 0U)}) {
        for (int i = 0; keys.size() <= 1 - index; ++i) {
            const std::string key = "key " + std::to_string(i);
            put(name, key, "value");
            TablePlace place;
            ASSERT_TRUE(hashed_->directories().find(name, bytes_of(key), place));
            if (place.index == index) keys.push_back(key);
        }
    }
    learn(*views, map, epoch, keys[0]);
    EXPECT_EQ(find(*views, map, keys[0]), there("value"));
    int calls = 0;
    while (find(*views, rival, keys[1]).found == Found::unknown && calls < 100) {
        ASSERT_EQ(find(*views, map, keys[0]), there("value"));
        learn(*views, rival, epoch, keys[1]);
        ++calls;
    }
    EXPECT_GT(calls, 1);
    EXPECT_EQ(find(*views, rival, keys[1]), there("value"));
    EXPECT_EQ(find(*views, map, keys[0]).found, Found::unknown);
}

// A container whose view has replaced another one's does not find entries in the tables of the
// other one, whose views have the places of its own.
TEST_F(TableViewTest, a_view_of_a_table_is_of_one_container) {
    const ContainerName map = make({0, 1});
    ContainerName rival = make({0, 1});
    while (rival.id % TableViews::tables_max != map.id % TableViews::tables_max)
        rival = make({0, 1});
    const auto views = std::make_unique<TableViews>();
    std::array<std::string, 2> keys;  // a key of each table
    for (int i = 0; keys[0].empty() || keys[1].empty(); ++i) {
        const std::string key = "key " + std::to_string(i);
        put(map, key, "of the map");
        TablePlace place;
        ASSERT_TRUE(hashed_->directories().find(map, bytes_of(key), place));
        keys[place.index] = key;
    }
    for (const std::string& key : keys) {
        put(rival, key, "of its rival");
        learn(*views, map, epoch, key);
        EXPECT_EQ(find(*views, map, key), there("of the map"));
    }
    for (int calls = 0; find(*views, rival, keys[0]).found == Found::unknown && calls < 1000;
         ++calls)
        learn(*views, rival, epoch, keys[0]);
    EXPECT_EQ(find(*views, rival, keys[0]), there("of its rival"));
    EXPECT_EQ(find(*views, rival, keys[1]).found, Found::unknown);
}

// A container of more tables than a thread keeps views of.
class ManyTablesViewTest : public TableViewTest {
protected:
    static constexpr std::uint32_t procs = TableViews::tables_max + 2;

    ManyTablesViewTest() : TableViewTest(procs, 1 << 20) {}
};

TEST_F(ManyTablesViewTest, tables_that_share_a_cache_entry_are_distinguished) {
    std::vector<std::uint32_t> processes(procs);
    std::iota(processes.begin(), processes.end(), 0U);
    const ContainerName map = make(processes, 1);
    const auto views = std::make_unique<TableViews>();
    int known = 0;
    for (int i = 0; i < 600; ++i) {
        const std::string key = "key " + std::to_string(i);
        put(map, key, std::to_string(i));
        learn(*views, map, epoch, key);
        for (int earlier = i; earlier >= 0; earlier -= 37) {
            const Seen seen = find(*views, map, "key " + std::to_string(earlier));
            if (seen.found == Found::unknown) continue;
            ASSERT_EQ(seen, there(std::to_string(earlier)));
            ++known;
        }
    }
    EXPECT_GT(known, 600);
}

}  // namespace
}  // namespace acp::data::test
