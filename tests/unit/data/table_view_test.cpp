// SPDX-License-Identifier: BSD-3-Clause
// What a thread keeps of containers: for whom it is found, what ends it, and what a find does that comes in the midst of another one. Two
// heaps are mapped here, and all is done by this process. tests/mutants/view.py plants defects that these tests must find.
#include "data/table_view.hpp"

#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <semaphore>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "data/hashed.hpp"
#include "data/hashed_exchange.hpp"
#include "node/member.hpp"

#include "allocator/directory_operations.hpp"
#include "allocator/entry_operations.hpp"
#include "allocator/operations.hpp"
#include "allocator/table_operations.hpp"

namespace acp::data::test {
namespace {

using Found = TableViews::Found;

Bytes bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

const local::OperationTable& operations() {
    static const local::OperationTable table = [] {
        local::OperationTable all;
        all.add(allocator::operations());
        all.add(allocator::table_operations());
        all.add(allocator::directory_operations());
        all.add(allocator::entry_operations());
        return all;
    }();
    return table;
}

class TableViewTest : public testing::Test {
protected:
    static constexpr std::uint64_t epoch = 5;

    explicit TableViewTest(std::uint32_t procs = 2, std::uint64_t heap_bytes = 16 << 20) {
        base::Config config;
        config.starter_bytes = 1 << 16;
        config.heap_bytes = heap_bytes;
        auto made = node::Segment::create(node::shape_for(config, procs));
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        node_ = std::move(made).value();
        member_ = std::make_unique<node::Member>(node_.share(), 0);
        EXPECT_TRUE(member_->take_slot().is_ok());
        hazards_ = std::make_unique<local::Hazards>(member_->segment(), 0);
        auto opened =
            gma::Gma::open(*member_, *hazards_, fast_, config, {nullptr, nullptr, &operations()});
        EXPECT_TRUE(opened.is_ok()) << opened.failure().message();
        gma_ = std::move(opened).value();
        allocator_ = std::make_unique<Allocator>(*gma_);
        hashed_ = std::make_unique<Hashed>(*gma_, *allocator_);
    }

    void SetUp() override {
        if (!hazards_->has_membarrier())
            GTEST_SKIP() << "no views are kept where finds need fences";
    }

    [[nodiscard]] ContainerName make(std::vector<std::uint32_t> processes = {0},
                                     std::uint64_t slots = 2) {
        HashedOptions options;
        options.processes = std::move(processes);
        options.slots = slots;
        options.hash = hash::HashFunction::xxh3;
        options.seed = 7;
        auto made = hashed_->create(options);
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        return made.value();
    }

    // A map whose view has the place of that of another one, at another address.
    [[nodiscard]] ContainerName make_rival_of(const ContainerName& name) {
        ContainerName made = make();
        while (made.id % TableViews::containers_max != name.id % TableViews::containers_max)
            made = make();
        EXPECT_NE(made.directory, name.directory);
        return made;
    }

    void put(const ContainerName& name, const std::string& key, const std::string& value) {
        TableCalls::Put put;
        put.key = bytes_of(key);
        put.value = bytes_of(value);
        auto done = hashed_->put(name, put, nullptr);
        ASSERT_TRUE(done.is_ok()) << done.failure().message();
    }

    void destroy(const ContainerName& name) {
        const base::Status status = hashed_->destroy(name);
        ASSERT_TRUE(status.is_ok()) << status.message();
    }

    // Of the calling thread.
    void learn(TableViews& views,
               const ContainerName& name,
               std::uint64_t of = epoch,
               const std::string& key = "key") {
        TablePlace place;
        if (hashed_->directories().find(name, bytes_of(key), place))
            views.learn(of, name, place, thread());
    }

    [[nodiscard]] std::uint32_t thread() { return hazards_->index_of(*hazards_->own_line()); }

    // Its only view is of this map.
    [[nodiscard]] std::unique_ptr<TableViews> views_of(const ContainerName& name) {
        auto views = std::make_unique<TableViews>();
        learn(*views, name);
        return views;
    }

    // What a find says, and where there is an entry its value.
    struct Seen {
        Found found = Found::unknown;
        std::string value;

        friend bool operator==(const Seen&, const Seen&) = default;
    };

    static Seen find(TableViews& views,
                     const ContainerName& name,
                     const std::string& key = "key",
                     std::uint64_t of = epoch) {
        Seen seen;
        std::uint64_t tables = 0;
        seen.found = views.find(of, name, bytes_of(key), tables,
                                [&](const TableView&, std::uint64_t, auto& record, auto) {
                                    seen.value.resize(record.value_bytes);
                                    record.copy_value(seen.value.data(), seen.value.size());
                                });
        return seen;
    }

    static bool knows(TableViews& views, const ContainerName& name, std::uint64_t of = epoch) {
        TablePlace place;
        return views.place(of, name, bytes_of("key"), place);
    }

    static void expect_unknown(TableViews& views,
                               const ContainerName& name,
                               std::uint64_t of = epoch) {
        EXPECT_EQ(find(views, name, "key", of).found, Found::unknown);
        EXPECT_FALSE(knows(views, name, of));
    }

    static Seen there(const std::string& value) { return {Found::there, value}; }

    node::Segment node_;
    std::unique_ptr<node::Member> member_;
    std::unique_ptr<local::Hazards> hazards_;
    gma::FastPath fast_;
    std::unique_ptr<gma::Gma> gma_;
    std::unique_ptr<Allocator> allocator_;
    std::unique_ptr<Hashed> hashed_;
};

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
    expect_unknown(none, map, 0);  // whose words are all zero
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

// Another thread destroys its map and makes others, until one begins at the same address. The thread that keeps a view of the first one finds
// nothing of the second one in it, nor of the first one in a view of the second.
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

// After a swap there and back the tables are the container's again, but what was learned in between of where keys belong is of the other one.
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
        TablePlace place;  // by the directory as it is now
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
    std::vector<std::string>
        keys;  // of the table 1 of the map and of the table 0 of its rival: both have one place
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

// A container whose view has taken the place of another one's finds nothing in that one's tables, whose views have the places of its own.
TEST_F(TableViewTest, a_view_of_a_table_is_of_one_container) {
    const ContainerName map = make({0, 1});
    ContainerName rival = make({0, 1});
    while (rival.id % TableViews::tables_max != map.id % TableViews::tables_max)
        rival = make({0, 1});
    const auto views = std::make_unique<TableViews>();
    std::array<std::string, 2> keys;  // one of each table
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

TEST_F(ManyTablesViewTest, tables_that_have_one_place_are_told_apart) {
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

// As when a signal handler interrupts a find: it goes the long way, and the view that is being read stays as it is.
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

// The thread's place in the heap is that of a call that a signal handler has interrupted; a find would show what it reads in its stead.
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
