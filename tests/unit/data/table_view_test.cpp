// SPDX-License-Identifier: BSD-3-Clause
// The views that a thread keeps of containers: for which container a view is found, what ends it,
// and how a find behaves that interrupts another call. tests/mutants/view.py plants defects that
// these tests and table_views_test.cpp must find.
#include <array>
#include <semaphore>
#include <thread>

#include "table_view_fixture.hpp"

namespace acp::data::test {
namespace {

TEST_F(TableViewTest, a_find_sees_what_the_table_has) {
    const ContainerName map = make();
    put(map, "key", "value");
    const auto views = std::make_unique<TableViews>();
    expect_unknown(*views, map);
    learn(*views, map);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(find(*views, map), there("value"));
        EXPECT_EQ(find(*views, map, "another key").found, Found::absent);
    }
    put(map, "another key", "8 bytes.");
    EXPECT_EQ(find(*views, map, "another key"), there("8 bytes."));
    TablePlace place;
    TablePlace wanted;
    ASSERT_TRUE(views->place(epoch, map, bytes_of("key"), place));
    ASSERT_TRUE(hashed_->directories().find(map, bytes_of("key"), wanted));
    EXPECT_EQ(place.table, wanted.table);
    EXPECT_EQ(place.id, wanted.id);
    EXPECT_EQ(place.hash, wanted.hash);
    EXPECT_EQ(place.slots, wanted.slots);
    EXPECT_EQ(place.tables, wanted.tables);
    EXPECT_EQ(place.heap, wanted.heap);
    EXPECT_EQ(place.block, wanted.block);
}

TEST_F(TableViewTest, a_view_is_of_one_epoch) {
    const ContainerName map = make();
    put(map, "key", "value");
    const auto views = views_of(map);
    for (const std::uint64_t other : {epoch - 1, epoch + 1, std::uint64_t{0}}) {
        expect_unknown(*views, map, other);
    }
    EXPECT_EQ(find(*views, map), there("value"));
    TableViews none;
    expect_unknown(none, map, 0);  // its words are all zero
}

TEST_F(TableViewTest, a_view_of_an_earlier_epoch_gives_way_at_once) {
    const ContainerName map = make();
    const ContainerName rival = make_rival_of(map);
    put(map, "key", "of the map");
    put(rival, "key", "of the rival");
    const auto views = views_of(map);
    learn(*views, rival);
    expect_unknown(*views, rival);
    EXPECT_EQ(find(*views, map), there("of the map")) << "in one epoch it stays for some time";
    learn(*views, rival, epoch + 1);
    EXPECT_EQ(find(*views, rival, "key", epoch + 1), there("of the rival"));
}

TEST_F(TableViewTest, a_view_is_of_one_container) {
    const ContainerName map = make();
    put(map, "key", "value");
    const auto views = views_of(map);
    EXPECT_EQ(find(*views, map), there("value"));
    ContainerName other = map;
    other.id += TableViews::containers_max;
    expect_unknown(*views, other);
    other = map;
    other.directory += 64;
    expect_unknown(*views, other);
    other = map;
    other.kind = ContainerKind::multimap;
    expect_unknown(*views, other);
}

TEST_F(TableViewTest, the_view_of_one_gives_way_to_that_of_another_and_keeps_nothing_of_it) {
    const ContainerName map = make();
    const ContainerName rival = make_rival_of(map);
    put(map, "key", "of the map");
    put(rival, "key", "of the rival");
    const auto views = views_of(map);
    EXPECT_EQ(find(*views, map), there("of the map"));
    int calls = 0;
    while (find(*views, rival).found == Found::unknown && calls < 100) {
        ASSERT_EQ(find(*views, map), there("of the map"));
        learn(*views, rival);
        ++calls;
    }
    EXPECT_GT(calls, 1) << "calls in turns on two containers would make views at each";
    EXPECT_EQ(find(*views, rival), there("of the rival"));
    expect_unknown(*views, map);
}

TEST_F(TableViewTest, a_view_ends_with_its_table) {
    const ContainerName map = make();
    put(map, "key", "value");
    const auto views = views_of(map);
    EXPECT_EQ(find(*views, map), there("value"));
    destroy(map);
    expect_unknown(*views, map);
    learn(*views, map);
    expect_unknown(*views, map);
}

// Another thread destroys its map and makes others, until one begins at the same address. A view of
// the first map yields no entry of the second one, nor the reverse.
TEST_F(TableViewTest, a_container_that_another_thread_makes_at_the_same_address_is_another_one) {
    ContainerName map;
    ContainerName other;
    const auto has_its_place = [&] {
        return other.directory == map.directory &&
               other.id % TableViews::containers_max == map.id % TableViews::containers_max;
    };
    std::binary_semaphore is_made(0);
    std::binary_semaphore is_seen(0);
    std::thread maker([&] {
        map = make();
        put(map, "key", "of the first");
        is_made.release();
        is_seen.acquire();
        destroy(map);
        other = make();
        for (int i = 0; i < 1'000 && !has_its_place(); ++i) {
            destroy(other);
            other = make();
        }
        put(other, "key", "of the second");
    });
    is_made.acquire();
    const auto views = views_of(map);
    EXPECT_EQ(find(*views, map), there("of the first"));
    is_seen.release();
    maker.join();
    ASSERT_TRUE(has_its_place());
    expect_unknown(*views, map);
    expect_unknown(*views, other);
    learn(*views, other);
    EXPECT_EQ(find(*views, other), there("of the second"));
    for (const std::uint64_t id : {map.id, std::uint64_t{0}}) {
        const ContainerName name{map.directory, id, map.kind};
        learn(*views, name);
        expect_unknown(*views, name);
    }
}

TEST_F(TableViewTest, a_find_follows_a_table_that_grows) {
    for (std::uint64_t slots = 1; slots <= 4; ++slots) {
        const ContainerName map = make({0}, slots);
        put(map, "key", "value");
        const auto views = views_of(map);
        for (int i = 0; i < 400; ++i) {
            const std::string key = "key " + std::to_string(i);
            ASSERT_EQ(find(*views, map, key).found, Found::absent);
            put(map, key, std::to_string(i));
            const int earlier = i * 7 % (i + 1);
            ASSERT_EQ(find(*views, map, "key " + std::to_string(earlier)),
                      there(std::to_string(earlier)))
                << "of " << slots << " slots";
        }
        for (int i = 0; i < 400; ++i) {
            ASSERT_EQ(find(*views, map, "key " + std::to_string(i)), there(std::to_string(i)));
        }
    }
}

// A find in a signal handler that has interrupted a find uses no view, and the view that the
// interrupted find reads does not change.
TEST_F(TableViewTest, a_find_in_the_midst_of_a_find_goes_the_long_way) {
    const ContainerName map = make();
    const ContainerName rival = make_rival_of(map);
    put(map, "key", "value");
    put(rival, "key", "of the rival");
    const auto views = views_of(map);
    int visits = 0;
    std::uint64_t tables = 0;
    EXPECT_EQ(views->find(epoch, map, bytes_of("key"), tables,
                          [&](const TableView& view, std::uint64_t, auto&, auto) {
                              ++visits;
                              const auto* const head = view.head;
                              expect_unknown(*views, map);
                              for (int i = 0; i < 100; ++i) learn(*views, rival);
                              EXPECT_EQ(view.head, head);
                          }),
              Found::there);
    EXPECT_EQ(visits, 1);
    EXPECT_EQ(find(*views, map), there("value"));
    EXPECT_EQ(find(*views, rival).found, Found::unknown);
}

// A signal handler has interrupted a call that has announced its reads in the thread's place in the
// heap; a find by a view would overwrite this announcement.
TEST_F(TableViewTest, a_find_in_the_midst_of_another_call_goes_the_long_way) {
    const ContainerName map = make();
    put(map, "key", "value");
    const auto views = views_of(map);
    {
        const allocator::NodeFinder other(*allocator_->heap_of(0).value(), thread());
        EXPECT_EQ(find(*views, map).found, Found::unknown);
        EXPECT_TRUE(knows(*views, map)) << "which reads nothing of the table but its mark";
    }
    EXPECT_EQ(find(*views, map), there("value"));
    EXPECT_EQ(find(*views, map), there("value"));
}

}  // namespace
}  // namespace acp::data::test
