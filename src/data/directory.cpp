// SPDX-License-Identifier: BSD-3-Clause
// Reads directories from their ranks, and writes copies.
#include "data/directory.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/fence.hpp"
#include "base/format.hpp"
#include "data/ask.hpp"
#include "data/directory_reach.hpp"
#include "data/kind_at.hpp"
#include "data/remote_call.hpp"

#include "allocator/table_operations.hpp"

namespace acp::data {

using base::Code;
using base::Result;
using base::Status;

namespace {

using allocator::tables_max;

constexpr std::uint64_t mark_in_first_use = table::DirectoryStart<std::atomic>::mark_in_first_use;

std::string place_of(const ContainerName& name) {
    return std::string("the ") + name_of(name.kind) + " at " + base::hex(name.directory);
}

// The failure of a call whose container was destroyed.   kind  of the container there now
Status another_is_there(const ContainerName& name, const char* kind) {
    const bool is_same = std::string_view(kind) == name_of(name.kind);
    return {Code::stale, place_of(name) + " was destroyed; " + (is_same ? "another " : "a ") +
                             kind + " is there now"};
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

Status Directories::read(const ContainerName& name, Directory& directory, Use& use) {
    if (name.directory == 0) {
        return {Code::argument, std::string("the ") + name_of(name.kind) + " is null"};
    }
    DirectoryReach reach(gma_);
    for (;;) {
        auto status = read_once(reach, name, directory, use);
        const std::uint64_t state = directory.head.state;
        if (!status.is_ok()) return status;
        if (exchange_state::is_settled(state)) {
            status = reach.read_list(directory.body, directory.tables);
            DirectoryHead again;
            if (status.is_ok()) status = reach.read_any(name.directory, again);
            if (!status.is_ok() || again.state == state) return status;
        } else {
            status = DirectoryExchange(reach).settle(name.directory, directory.head);
            if (!status.is_ok())
                return std::move(status).within("in the exchange of " + place_of(name));
        }
    }
}

// Reads all but the tables.
Status Directories::read_once(DirectoryReach& reach,
                              const ContainerName& name,
                              Directory& directory,
                              Use& use) {
    DirectoryHead& head = directory.head;
    if (auto status = reach.read_any(name.directory, head); !status.is_ok()) {
        if (status.code() != Code::address) return status;
        return std::move(status).within(place_of(name));
    }
    const DirectoryBody& body = directory.body = head.bodies[exchange_state::body_in(head.state)];
    const bool is_unused = table::unused::is_of(head.mark ^ mark_in_first_use);
    use = is_unused ? Use::not_yet : head.mark == mark_in_first_use ? Use::begun : Use::whole;
    const bool is_one = use != Use::whole || head.mark == DirectoryHead::mark_of_directories;
    if (!is_one || body.tables == 0 || body.tables > tables_max || body.slots == 0 ||
        body.hash > static_cast<std::uint32_t>(hash::last_function)) {
        // An identity shows that the caller's container was there; an address alone does not.
        const char* const there =
            other_kind_at(gma_, allocator_, name.directory, name_of(name.kind));
        if (there != nullptr && name.id != 0) return another_is_there(name, there);
        if (there != nullptr) return of_other_kind(name.directory, there, name_of(name.kind));
        return {Code::stale, place_of(name) + " was destroyed, or never made"};
    }
    const char* const there = name_of(static_cast<ContainerKind>(head.kind));
    if (name.id != 0 && name.id != head.id) return another_is_there(name, there);
    if (head.kind != static_cast<std::uint32_t>(name.kind))
        return of_other_kind(name.directory, there, name_of(name.kind));
    return {};
}

// Runs an operation on a directory.
template <typename Operation>
Status Directories::run(const ContainerName& name, const Directory& directory) {
    const auto process = static_cast<std::uint32_t>(gma_.space().layout().process(name.directory));
    auto returned =
        RemoteCall<Operation>(gma_, allocator_).run(process, {name.directory, directory.head.id});
    return returned.is_ok() ? Status() : std::move(returned).failure();
}

// From now on the death of its maker does not destroy the container. If the maker has died already,
// some tables may be gone.
Status Directories::begin_use(const ContainerName& name, const Directory& directory) {
    auto status = run<allocator::UseDirectory>(name, directory);
    return status.code() == Code::stale
               ? Status(
                     Code::stale,
                     place_of(name) + " is gone with the rank that made it, before anybody used it")
               : std::move(status);
}

// Ends the first use of a container: any call on a table counts as the first use of the table.
Status Directories::end_first_use(const ContainerName& name, const Directory& directory) {
    auto status = DirectoryReach(gma_).use(directory.tables, directory.body.id);
    if (status.code() == Code::stale) (void)destroy(name);
    if (!status.is_ok()) return status;
    auto mark = gma_.fetch<std::uint64_t, memory::Operation::compare_swap>(
        name.directory + offsetof(DirectoryHead, mark),
        {DirectoryHead::mark_of_directories, mark_in_first_use});
    return mark.is_ok() ? Status() : std::move(mark).failure();
}

Result<Directory> Directories::fetch(const ContainerName& name) {
    for (;;) {
        Directory directory;
        Use use = Use::whole;
        auto status = read(name, directory, use);
        if (status.is_ok() && use == Use::whole) {
            keep(name.directory, directory);
            return directory;
        }
        if (status.is_ok()) {
            status =
                use == Use::not_yet ? begin_use(name, directory) : end_first_use(name, directory);
        }
        if (!status.is_ok()) return status;
    }
}

void Directories::destroy_tables(const Directory& directory) noexcept {
    try {
        const auto owner_of = [this](GlobalAddress table) {
            return static_cast<std::uint32_t>(gma_.space().layout().process(table));
        };
        std::vector<allocator::Destroyed> destroyed(directory.tables.size());
        Asks asks(gma_);
        const auto ask = [&](auto operation, std::size_t i) {
            const GlobalAddress table = directory.tables[i];
            asks.add(RemoteCall<decltype(operation)>::request(
                owner_of(table), {{table, directory.body.id}}, {}, destroyed[i]));
        };
        for (std::size_t i = 0; i < destroyed.size(); ++i) {
            if (directory.tables[i] != 0) ask(allocator::DestroyTable{}, i);
        }
        for (bool has_more = true; has_more;) {
            (void)asks.wait();
            has_more = false;
            for (std::size_t i = 0; i < destroyed.size(); ++i) {
                if (std::exchange(destroyed[i].has_more, 0) == 0) continue;
                has_more = true;
                ask(allocator::DestroyMore{}, i);
            }
        }
    } catch (const std::bad_alloc&) {
        // Without memory for the calls the tables leak until the heaps are cleared.
    }
}

Status Directories::destroy(const ContainerName& name) {
    Directory directory;
    Use use = Use::whole;
    auto status = read(name, directory, use);
    if (status.is_ok() && use == Use::not_yet) status = begin_use(name, directory);
    if (!status.is_ok()) return status;
    forget(name.directory);
    destroy_tables(directory);
    status = run<allocator::DestroyDirectory>(name, directory);
    if (status.code() != Code::stale) return status;
    return {Code::stale, place_of(name) + " was destroyed by another call"};
}

void Directories::keep(GlobalAddress address, const Directory& directory) {
    open_heaps(directory);
    const std::lock_guard lock(lock_);
    if (made_ == nullptr) {
        made_ = std::make_unique<Copy[]>(kept_max);
        // release: a reader of the pointer sees empty copies; partner: find()
        copies_.store(made_.get(), std::memory_order_release);
    }
    Copy& copy = made_[index_of(address)];
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
    if (made_ == nullptr) return;
    Copy& copy = made_[index_of(directory)];
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
    const DirectoryBody& body = directory.body;
    TablePlace place;
    place.id = body.id;
    place.function = static_cast<hash::HashFunction>(body.hash);
    place.seed = body.seed;
    place.hash = hash_of_key(place.function, place.seed, key);
    place.index = table_of(place.hash, body.slots, body.tables);
    place.slots = body.slots;
    place.tables = body.tables;
    set_table(place, directory.tables[place.index]);
    return place;
}

// The array is replaced during the odd version too: a reader of the version before would find an
// empty array.
void Directories::write(Copy& copy,
                        KnownTable* room,
                        GlobalAddress address,
                        const Directory& directory) const noexcept {
    constexpr auto order = std::memory_order_relaxed;
    const DirectoryBody& body = directory.body;
    const std::uint64_t version = relaxed(copy.version);
    copy.version.store(version + 1, order);
    // release: a reader of a word stored below sees the odd version, or a later one
    base::fence(std::memory_order_release);
    // release: partner is find(), which may read these words as soon as it finds them
    if (room != nullptr) copy.tables.store(room, std::memory_order_release);
    // release: a reader of this word sees `tables`; partner: Copy::is_of()
    copy.directory.store(address, std::memory_order_release);
    copy.id.store(directory.head.id, order);
    copy.table_id.store(body.id, order);
    copy.seed.store(body.seed, order);
    copy.slots.store(body.slots, order);
    // release: a reader of this count sees an array of that length; partner: find()
    copy.table_count.store(body.tables, std::memory_order_release);
    copy.hash.store(body.hash, order);
    copy.kind.store(directory.head.kind, order);
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
