// SPDX-License-Identifier: BSD-3-Clause
// Copies of the directories of containers: which are kept, which are refused, two directories in
// one place of the copies, and readers beside threads that change the copies. The directories lie
// in the starter memory of the only rank.
#include "data/directory.hpp"

#include <atomic>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "node/member.hpp"

#include "claims/library_claims.hpp"
#include "support/effort.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::data::test {
namespace {

using base::Code;

constexpr std::uint64_t starter_bytes = 1 << 20;

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

class DirectoryTest : public testing::Test {
protected:
    DirectoryTest() {
        base::Config config;
        config.starter_bytes = starter_bytes;
        auto made = node::Segment::create(node::shape_for(config, 1), claims::library_claims());
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        node_ = std::move(made).value();
        member_ = std::make_unique<node::Member>(node_.share(), 0);
        EXPECT_TRUE(member_->take_slot().is_ok());
        hazards_ = std::make_unique<local::Hazards>(member_->segment(), 0);
        auto opened = gma::Gma::open(*member_, *hazards_, fast_, config, {});
        EXPECT_TRUE(opened.is_ok()) << opened.failure().message();
        gma_ = std::move(opened).value();
        allocator_ = std::make_unique<Allocator>(*gma_);
        directories_ = std::make_unique<Directories>(*gma_, *allocator_);
    }

    [[nodiscard]] GlobalAddress address(std::uint64_t offset) const {
        return gma_->space().starter_address(0) + offset;
    }

    // The address of a table contains the identity of its container.
    static GlobalAddress table_number(std::uint64_t id, std::uint64_t index) {
        return id << 32 | index << 8 | 1;
    }

    // Writes a map's directory, and its list of tables behind it.
    ContainerName write(std::uint64_t offset, std::uint64_t id, std::uint64_t tables) {
        Directory directory;
        directory.head.mark = DirectoryHead::mark_of_directories;
        directory.head.id = id;
        directory.head.kind = static_cast<std::uint32_t>(ContainerKind::map);
        directory.body.id = id;
        directory.body.hash = static_cast<std::uint32_t>(hash::HashFunction::xxh3);
        directory.body.seed = id * 7;
        directory.body.slots = 4 + id % 3;
        directory.body.tables = static_cast<std::uint32_t>(tables);
        directory.body.list = address(offset + sizeof directory.head);
        for (std::uint64_t i = 0; i < tables; ++i) directory.tables.push_back(table_number(id, i));
        directory.head.bodies[0] = directory.body;
        std::memcpy(place(offset), &directory.head, sizeof directory.head);
        std::memcpy(place(offset) + sizeof directory.head, directory.tables.data(),
                    tables * sizeof(GlobalAddress));
        return {address(offset), id, ContainerKind::map};
    }

    [[nodiscard]] char* place(std::uint64_t offset) const { return node_.starter(0) + offset; }

    [[nodiscard]] DirectoryHead& head_at(std::uint64_t offset) const {
        return *reinterpret_cast<DirectoryHead*>(place(offset));
    }

    void expect_refused(const ContainerName& name, Code code, const std::string& part) {
        const auto refused = directories_->fetch(name);
        ASSERT_FALSE(refused.is_ok());
        EXPECT_EQ(refused.failure().code(), code) << refused.failure().message();
        EXPECT_NE(refused.failure().message().find(part), std::string::npos)
            << refused.failure().message();
        TablePlace found;
        EXPECT_FALSE(directories_->find(name, bytes_of("key"), found)) << "nothing is kept of it";
    }

    // Whether a place is the one of a key in the directory.
    [[nodiscard]] bool is_place_in(const Directory& directory,
                                   const std::string& key,
                                   const TablePlace& place) const {
        const TablePlace wanted = directories_->place_in(directory, bytes_of(key));
        return place.table == wanted.table && place.id == wanted.id && place.hash == wanted.hash &&
               place.index == wanted.index && place.slots == wanted.slots &&
               place.tables == wanted.tables && place.heap == wanted.heap &&
               place.block == wanted.block;
    }

    // The offset of a directory whose copy lies where that of another one does: see
    // Directories::index_of.
    [[nodiscard]] std::uint64_t rival_of(std::uint64_t offset) const {
        const auto index = [this](std::uint64_t of) {
            return address(of) * 0x9e3779b97f4a7c15 >> 56;
        };
        std::uint64_t other = offset + 8'192;
        while (index(other) != index(offset)) other += 64;
        EXPECT_LT(other + 8'192, starter_bytes);
        return other;
    }

    node::Segment node_;
    std::unique_ptr<node::Member> member_;
    std::unique_ptr<local::Hazards> hazards_;
    gma::FastPath fast_;
    std::unique_ptr<gma::Gma> gma_;
    std::unique_ptr<Allocator> allocator_;
    std::unique_ptr<Directories> directories_;
};

TEST_F(DirectoryTest, a_copy_says_where_keys_belong_until_it_is_forgotten) {
    const ContainerName name = write(0, 11, 5);
    TablePlace place;
    EXPECT_FALSE(directories_->find(name, bytes_of("key"), place)) << "nobody has read it";
    directories_->forget(name.directory);  // no copy is kept yet
    const auto fetched = directories_->fetch(name);
    ASSERT_TRUE(fetched.is_ok()) << fetched.failure().message();
    EXPECT_EQ(fetched.value().tables.size(), 5U);
    write(0, 12, 7);  // the copy does not show it
    for (int i = 0; i < 100; ++i) {
        const std::string key = "key " + std::to_string(i);
        ASSERT_TRUE(directories_->find(name, bytes_of(key), place));
        EXPECT_TRUE(is_place_in(fetched.value(), key, place)) << key;
        EXPECT_EQ(place.table, table_number(11, place.index));
    }
    EXPECT_TRUE(directories_->find({name.directory, 0, name.kind}, bytes_of("key"), place))
        << "a handle without an identity";
    directories_->forget(name.directory);
    EXPECT_FALSE(directories_->find(name, bytes_of("key"), place));
    EXPECT_FALSE(directories_->fetch(name).is_ok()) << "another container is there";
}

TEST_F(DirectoryTest, tables_are_found_by_their_numbers) {
    const ContainerName name = write(0, 3, 5);
    TablePlace place;
    EXPECT_FALSE(directories_->find_table(name, 0, place));
    ASSERT_TRUE(directories_->fetch(name).is_ok());
    for (std::uint64_t index = 0; index < 5; ++index) {
        ASSERT_TRUE(directories_->find_table(name, index, place));
        EXPECT_EQ(place.tables, 5U);
        EXPECT_EQ(place.table, table_number(3, index));
        EXPECT_EQ(place.id, 3U);
    }
    ASSERT_TRUE(directories_->find_table(name, 5, place));
    EXPECT_EQ(place.table, 0U) << "there is no such table";
    EXPECT_FALSE(directories_->find_table({name.directory, 4, name.kind}, 0, place));
}

TEST_F(DirectoryTest, what_is_no_directory_of_this_container_is_refused) {
    const ContainerName name = write(0, 11, 5);
    expect_refused({0, 0, ContainerKind::multiset}, Code::argument, "the multiset is null");
    expect_refused({name.directory, 12, name.kind}, Code::stale, "another map");
    expect_refused({name.directory, 11, ContainerKind::set}, Code::argument,
                   "is a map; this call takes a set");
    expect_refused({address(starter_bytes), 11, name.kind}, Code::address, "the map at");
    DirectoryHead& head = head_at(0);
    const DirectoryHead sound = head;
    const auto expect_stale = [&] {
        expect_refused(name, Code::stale, "destroyed, or never made");
        head = sound;
    };
    head.mark = 0;
    expect_stale();
    DirectoryBody& body = head.bodies[0];
    body.tables = 0;
    expect_stale();
    body.tables = ~std::uint32_t{0};
    expect_stale();
    body.slots = 0;
    expect_stale();
    body.hash = 99;
    expect_stale();
    body.list = address(starter_bytes);
    EXPECT_EQ(directories_->fetch(name).failure().code(), Code::address);
    head = sound;
    EXPECT_TRUE(directories_->fetch(name).is_ok());
}

// The state after a process was killed before it had decided its exchange.
TEST_F(DirectoryTest, an_undecided_swap_is_undone_by_a_reader) {
    const ContainerName first = write(0, 11, 5);
    const ContainerName second = write(rival_of(0), 12, 9);
    DirectoryHead& of_first = head_at(0);
    DirectoryHead& of_second = head_at(rival_of(0));
    of_first.state = exchange_state::first(0x1100);
    of_second.state = exchange_state::first(0x1200) | exchange_state::joined;
    of_second.partner = first.directory;
    of_second.partner_state = of_first.state;
    ASSERT_TRUE(directories_->fetch(first).is_ok());
    EXPECT_EQ(of_first.state, exchange_state::first(0x1100)) << "it does not say so";
    const auto fetched = directories_->fetch(second);
    ASSERT_TRUE(fetched.is_ok()) << fetched.failure().message();
    EXPECT_EQ(fetched.value().tables.size(), 9U);
    EXPECT_EQ(of_first.state, exchange_state::taken_back(0x1100)) << "nobody decides it now";
    EXPECT_EQ(of_second.state, exchange_state::taken_back(0x1200));
    // An exchange whose partner was destroyed is taken back too.
    of_second.state |= exchange_state::joined;
    of_first.mark = 0;
    ASSERT_TRUE(directories_->fetch(second).is_ok());
    EXPECT_TRUE(exchange_state::is_settled(of_second.state));
}

TEST_F(DirectoryTest, the_copy_of_one_gives_way_to_that_of_another_and_no_more_is_forgotten) {
    const ContainerName one = write(0, 11, 5);
    const ContainerName other = write(rival_of(0), 12, 9);
    TablePlace place;
    ASSERT_TRUE(directories_->fetch(one).is_ok());
    ASSERT_TRUE(directories_->fetch(other).is_ok());
    EXPECT_FALSE(directories_->find(one, bytes_of("key"), place));
    ASSERT_TRUE(directories_->find(other, bytes_of("key"), place));
    EXPECT_EQ(place.table, table_number(12, place.index));
    directories_->forget(one.directory);
    EXPECT_TRUE(directories_->find(other, bytes_of("key"), place)) << "it is another one's copy";
}

// Two threads fetch three directories that share a place again and again, while others look keys up
// in the copies.
TEST_F(DirectoryTest, readers_find_what_belongs_together_while_others_change_the_copies) {
    const acp::test::ScopedWatchdog watchdog("readers of directories");
    const std::uint64_t second = rival_of(0);
    const std::vector<ContainerName> names{write(0, 11, 3), write(second, 12, 300),
                                           write(rival_of(second), 13, 40)};
    std::vector<Directory> directories;
    for (const ContainerName& name : names) {
        directories.push_back(std::move(directories_->fetch(name)).value());
    }
    std::atomic<bool> is_over{false};
    std::atomic<std::uint64_t> found{0};
    std::atomic<std::uint64_t> wrong{0};
    const auto read = [&] {
        for (std::uint64_t i = 0; !is_over.load(std::memory_order_relaxed); ++i) {
            const std::size_t which = i % names.size();
            const std::string key = "key " + std::to_string(i % 1'000);
            TablePlace place;
            if (!directories_->find(names[which], bytes_of(key), place)) continue;
            found.fetch_add(1, std::memory_order_relaxed);
            if (!is_place_in(directories[which], key, place)) {
                wrong.fetch_add(1, std::memory_order_relaxed);
            }
            if (directories_->find_table(names[which], i % 300, place) &&
                (place.tables != directories[which].tables.size() ||
                 place.table !=
                     (i % 300 < place.tables ? directories[which].tables[i % 300] : 0))) {
                wrong.fetch_add(1, std::memory_order_relaxed);
            }
        }
    };
    // Continues until a reader has run.
    const auto change = [&](std::size_t first) {
        const std::size_t changes = acp::test::effort(20'000, 2'000);
        for (std::size_t i = 0; i < changes || found.load(std::memory_order_relaxed) == 0; ++i) {
            const ContainerName& name = names[(first + i) % names.size()];
            if (!directories_->fetch(name).is_ok()) wrong.fetch_add(1, std::memory_order_relaxed);
            if (i % 7 == 0) directories_->forget(name.directory);
        }
    };
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) readers.emplace_back(read);
    std::thread other([&] { change(1); });
    change(0);
    other.join();
    is_over.store(true, std::memory_order_relaxed);
    for (std::thread& reader : readers) reader.join();
    EXPECT_EQ(wrong.load(), 0U);
    EXPECT_GT(found.load(), 0U);
}

// The first directory with this number of tables makes its place grow while a reader reads it.
TEST_F(DirectoryTest, readers_find_no_table_in_room_that_is_not_filled_yet) {
    const acp::test::ScopedWatchdog watchdog("readers of directories that grow");
    const ContainerName small = write(0, 11, 3);
    const ContainerName large = write(rival_of(0), 12, 900);
    const Directory wanted = std::move(directories_->fetch(small)).value();
    const std::size_t rounds = acp::test::effort(1'000, 200);
    std::deque<Directories> all;
    std::atomic<Directories*> current{nullptr};
    std::atomic<std::uint64_t> looks{0};
    std::atomic<std::uint64_t> wrong{0};
    std::atomic<bool> is_over{false};
    std::thread reader([&] {
        while (!is_over.load(std::memory_order_relaxed)) {
            Directories* const now = current.load(std::memory_order_acquire);
            TablePlace place;
            if (now != nullptr && now->find(small, bytes_of("key"), place) &&
                !is_place_in(wanted, "key", place)) {
                wrong.fetch_add(1, std::memory_order_relaxed);
            }
            looks.fetch_add(1, std::memory_order_release);
        }
    });
    for (std::size_t round = 0; round < rounds; ++round) {
        Directories& one = all.emplace_back(*gma_, *allocator_);
        ASSERT_TRUE(one.fetch(small).is_ok());
        current.store(&one, std::memory_order_release);
        const std::uint64_t seen = looks.load(std::memory_order_acquire);
        while (looks.load(std::memory_order_acquire) < seen + 3) std::this_thread::yield();
        ASSERT_TRUE(one.fetch(large).is_ok());
    }
    is_over.store(true, std::memory_order_relaxed);
    reader.join();
    EXPECT_EQ(wrong.load(), 0U);
}

}  // namespace
}  // namespace acp::data::test
