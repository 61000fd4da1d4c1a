// SPDX-License-Identifier: BSD-3-Clause
// Reads directories where they lie, and writes copies.
#include "data/directory.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/fence.hpp"
#include "base/format.hpp"
#include "data/ask.hpp"

#include "allocator/table_operations.hpp"

namespace acp::data {

using base::Code;
using base::Result;
using base::Status;

namespace {

// What no container has: more tables than a job may have ranks.
constexpr std::uint64_t tables_max = std::uint64_t{1} << 24;

std::string place_of(const ContainerName& name) {
    return std::string("the ") + name_of(name.kind) + " at " + base::hex(name.directory);
}

}  // namespace

const char* name_of(ContainerKind kind) noexcept {
    switch (kind) {
        case ContainerKind::map:
            return "map";
        case ContainerKind::multimap:
            return "multimap";
        case ContainerKind::set:
            return "set";
        case ContainerKind::multiset:
            return "multiset";
    }
    return "container";
}

Directories::Directories(gma::Gma& gma, Allocator& allocator) : gma_(gma), allocator_(allocator) {}

Directories::~Directories() = default;

Status Directories::read(const ContainerName& name, Directory& directory) {
    if (name.directory == 0) {
        return {Code::argument, std::string("the ") + name_of(name.kind) + " is null"};
    }
    DirectoryHead& head = directory.head;
    if (auto status = get(gma_, &head, name.directory, sizeof head); !status.is_ok()) {
        if (status.code() != Code::address) return status;
        return std::move(status).within(place_of(name));
    }
    if (head.mark != DirectoryHead::mark_of_directories || head.tables == 0 ||
        head.tables > tables_max || head.slots == 0 ||
        head.hash > static_cast<std::uint32_t>(hash::HashFunction::xxh3)) {
        return {Code::stale, place_of(name) + " was destroyed, or never made"};
    }
    if (name.id != 0 && name.id != head.id) {
        return {Code::stale, place_of(name) + " was destroyed; another container is there now"};
    }
    if (head.kind != static_cast<std::uint32_t>(name.kind)) {
        return {Code::argument, place_of(name) + " is none: it is a " +
                                    name_of(static_cast<ContainerKind>(head.kind))};
    }
    directory.tables.resize(head.tables);
    return get(gma_, directory.tables.data(), head.list, head.tables * sizeof(GlobalAddress));
}

Result<Directory> Directories::fetch(const ContainerName& name) {
    Directory directory;
    if (auto status = read(name, directory); !status.is_ok()) return status;
    keep(name.directory, directory);
    return directory;
}

void Directories::keep(GlobalAddress address, const Directory& directory) {
    open_heaps(directory);
    const std::lock_guard lock(lock_);
    Copy& copy = copies_[index_of(address)];
    KnownTable* room = nullptr;
    if (directory.tables.size() > copy.room_of_tables) {
        const std::uint64_t words = std::bit_ceil(directory.tables.size());
        rooms_.push_back(std::make_unique<KnownTable[]>(words));
        room = rooms_.back().get();
        copy.room_of_tables = words;
    }
    write(copy, room, address, directory);
}

void Directories::forget(GlobalAddress directory) noexcept {
    const std::lock_guard lock(lock_);
    Copy& copy = copies_[index_of(directory)];
    if (relaxed(copy.directory) == directory) copy.directory.store(0, std::memory_order_relaxed);
}

// Opens the heaps of the tables of this node, so that calls find them without a search.
void Directories::open_heaps(const Directory& directory) {
    for (const GlobalAddress table : directory.tables) {
        if (auto owner = allocator_.owner_of(table); owner.is_ok()) {
            (void)allocator_.heap_of(owner.value());
        }
    }
}

void Directories::set_table(TablePlace& place, GlobalAddress table) const noexcept {
    const local::Space& space = gma_.space();
    const auto process = static_cast<std::uint32_t>(space.layout().process(table));
    place.table = table;
    place.heap = allocator_.heap_if_known(process);
    place.block = place.heap != nullptr ? allocator::table_at(space, process, table) : 0;
    if (place.block == 0) place.heap = nullptr;
}

TablePlace Directories::place_in(const Directory& directory,
                                 std::span<const std::byte> key) const noexcept {
    const DirectoryHead& head = directory.head;
    TablePlace place;
    place.id = head.id;
    place.hash = hash_of_key(static_cast<hash::HashFunction>(head.hash), head.seed, key);
    place.index = table_of(place.hash, head.slots, head.tables);
    place.slots = head.slots;
    place.tables = head.tables;
    set_table(place, directory.tables[place.index]);
    return place;
}

// Room is changed within the odd version too: a reader of the version before would find nothing in it yet.
void Directories::write(Copy& copy,
                        KnownTable* room,
                        GlobalAddress address,
                        const Directory& directory) const noexcept {
    constexpr auto order = std::memory_order_relaxed;
    const DirectoryHead& head = directory.head;
    const std::uint64_t version = relaxed(copy.version);
    copy.version.store(version + 1, order);
    // release: whoever reads one of the words below sees the odd version, or a later one
    base::fence(std::memory_order_release);
    // release: partner is find(), which may read these words as soon as it finds them
    if (room != nullptr) copy.tables.store(room, std::memory_order_release);
    copy.directory.store(address, order);
    copy.id.store(head.id, order);
    copy.seed.store(head.seed, order);
    copy.slots.store(head.slots, order);
    // release: whoever sees this count sees room for so many; partner: find()
    copy.table_count.store(head.tables, std::memory_order_release);
    copy.hash.store(head.hash, order);
    copy.kind.store(head.kind, order);
    KnownTable* const tables = copy.tables.load(order);
    for (std::size_t i = 0; i < directory.tables.size(); ++i) {
        TablePlace place;
        set_table(place, directory.tables[i]);
        tables[i].address.store(place.table, order);
        tables[i].heap.store(place.heap, order);
        tables[i].block.store(place.block, order);
    }
    copy.version.store(version + 2, std::memory_order_release);
}

}  // namespace acp::data
