// SPDX-License-Identifier: BSD-3-Clause
// Directories and tables are made and destroyed together.
#include "data/hashed.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/format.hpp"
#include "data/ask.hpp"
#include "os/random_bytes.hpp"

namespace acp::data {

using base::Code;
using base::Result;
using base::Status;

Hashed::Hashed(gma::Gma& gma, Allocator& allocator)
    : gma_(gma), allocator_(allocator), directories_(gma, allocator), tables_(gma, allocator) {}

// Makes all tables in parallel; one on another node takes one round trip. directory.tables are zero
// before; if one table cannot be made, the others are destroyed.
Status Hashed::make_tables(const HashedOptions& options,
                           Directory& directory,
                           std::span<allocator::MadeTable> made,
                           std::span<allocator::LentBlock> memory) {
    using Call = RemoteCall<allocator::MakeTable>;
    allocator::TableToMake request{options.slots,
                                   options.may_grow ? 1U : 0U,
                                   options.kind == ContainerKind::multimap ? 1U : 0U,
                                   directory.body.id,
                                   gma_.space().process(),
                                   {}};
    Status status =
        allocator_.borrow_cleared(options.processes, allocator::table_bytes(options.slots), memory);
    if (!status.is_ok()) return status;
    {
        Asks asks(gma_);
        for (std::size_t i = 0; i < made.size(); ++i) {
            request.memory = memory[i];
            asks.add_or_fail(Call::request(options.processes[i], request, {}, made[i]));
        }
        status = asks.wait();
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
        if (made[i].table == 0 && memory[i].address != 0) allocator_.give_back(memory[i]);
    }
    std::transform(made.begin(), made.end(), directory.tables.begin(),
                   [](const allocator::MadeTable& one) { return one.table; });
    const auto missing = std::find(directory.tables.begin(), directory.tables.end(), 0U);
    if (status.is_ok() && missing == directory.tables.end()) return status;
    directories_.destroy_tables(directory);
    if (!status.is_ok()) return status;
    const auto process = options.processes.begin() + (missing - directory.tables.begin());
    return allocator_.no_room(*process, options.slots * sizeof(table::Bucket<std::atomic>));
}

// The directory and the tables are on loan to this process until the first use: if it is killed
// before any other process knows of them, recovery frees them.
Result<ContainerName> Hashed::create(const HashedOptions& options) {
    Directory directory;
    DirectoryHead& head = directory.head;
    DirectoryBody& body = head.bodies[0];
    while (head.id == 0) os::fill_random(std::as_writable_bytes(std::span(&head.id, 1)));
    head.kind = static_cast<std::uint32_t>(options.kind);
    head.state = exchange_state::first(head.id);
    body.id = head.id;
    body.hash = static_cast<std::uint32_t>(options.hash);
    body.seed = options.seed;
    body.slots = options.slots;
    body.tables = static_cast<std::uint32_t>(options.processes.size());
    directory.body = body;
    // Allocated before the directory, so that std::bad_alloc leaves no directory behind.
    directory.tables.assign(options.processes.size(), 0);
    std::vector<allocator::MadeTable> made_tables(options.processes.size());
    std::vector<allocator::LentBlock> memory(options.processes.size());
    auto made = RemoteCall<allocator::MakeDirectory>(gma_, allocator_)
                    .run(options.directory_process, {head, gma_.space().process()});
    if (!made.is_ok()) return std::move(made).failure();
    const ContainerName name{made.value().output.directory, head.id, options.kind};
    const std::uint64_t list_bytes = body.tables * sizeof(GlobalAddress);
    if (name.directory == 0)
        return allocator_.no_room(options.directory_process, sizeof head + 2 * list_bytes);
    auto status = make_tables(options, directory, made_tables, memory);
    if (status.is_ok()) {
        status = data::put(gma_, name.directory + sizeof head, directory.tables.data(), list_bytes);
        if (status.is_ok()) return name;
        directories_.destroy_tables(directory);
    }
    (void)directories_.destroy(name);
    return status;
}

Status Hashed::destroy(const ContainerName& name) {
    return directories_.destroy(name);
}

Status Hashed::place_anew(const ContainerName& name, Bytes key, TablePlace& place) {
    auto directory = directories_.fetch(name);
    if (!directory.is_ok()) return std::move(directory).failure();
    place = directories_.place_in(directory.value(), key);
    return {};
}

// The place in a walk of an entry that a call on its key found.
EntryPlace Hashed::place_of(const ContainerName& name,
                            const TablePlace& place,
                            Bytes key,
                            const EntryResult& found) const noexcept {
    EntryPlace entry = place_by_key(place, key, found);
    if (name.kind == ContainerKind::multimap) {
        const GlobalAddress heap = allocator_.start_of(tables_.process_of(place.table));
        entry.walk = entry.walk.by_position(table::Positions(place.slots));
        entry.walk.tie = found.record == 0 ? 0 : table::number_of(found.record - heap);
    }
    return entry;
}

Result<EntryResult> Hashed::find(const ContainerName& name,
                                 Bytes key,
                                 Room room,
                                 EntryPlace* entry) {
    std::uint64_t count = 0;
    const bool is_counted = name.kind == ContainerKind::multiset;
    if (is_counted && room.size() < sizeof count)
        room = std::as_writable_bytes(std::span(&count, 1));
    return at_table(name, key, [&](const TablePlace& place) {
        auto found = tables_.find(place, key, room);
        if (entry != nullptr) *entry = {place.tables};
        if (!found.is_ok() || found.value().effect != Effect::done) return found;
        if (is_counted) {
            std::memcpy(&count, room.data(), sizeof count);
            if (count == table::ended_count) found.value().effect = Effect::absent;
        }
        if (entry != nullptr && found.value().effect == Effect::done)
            *entry = place_of(name, place, key, found.value());
        return found;
    });
}

Result<EntryResult> Hashed::put(const ContainerName& name, const Put& put, EntryPlace* entry) {
    return at_table(name, put.key, [&](const TablePlace& place) {
        auto result = tables_.put(place, put);
        if (entry != nullptr && result.is_ok() && result.value().record != 0) {
            *entry = place_of(name, place, put.key, result.value());
        }
        return result;
    });
}

Result<EntryResult> Hashed::change(const ContainerName& name,
                                   Bytes key,
                                   const ChangeWords& words,
                                   EntryPlace* entry) {
    return at_table(name, key, [&](const TablePlace& place) {
        auto result = tables_.change(place, key, words);
        if (entry != nullptr && result.is_ok()) *entry = place_of(name, place, key, result.value());
        return result;
    });
}

Result<EntryResult> Hashed::erase(const ContainerName& name, Bytes key) {
    return at_table(name, key, [&](const TablePlace& place) { return tables_.erase(place, key); });
}

Result<KeyEntries> Hashed::next_of_key(const ContainerName& name,
                                       Bytes key,
                                       const table::WalkPlace& after,
                                       std::uint32_t wanted) {
    return at_table(name, key, [&](const TablePlace& place) -> Result<KeyEntries> {
        const bool is_begun = after.tie != 0;
        if (is_begun && after.hash(table::Positions(place.slots)) != place.hash) {
            return Status(
                Code::stale,
                "the iterator's entry was erased, and an entry of another key has its memory");
        }
        auto next = tables_.next_of_key(place, key, after, wanted);
        if (!next.is_ok()) return std::move(next).failure();
        const allocator::NextFound& found = next.value();
        if (found.effect != Effect::done) return KeyEntries{};
        return KeyEntries{
            found.entries,
            {place.index, found.place, found.record, key.size(), found.value_bytes, found.number}};
    });
}

// Calls call(place) with the table and the hash of an iterator's entry.
template <typename Call>
Result<EntryResult> Hashed::at_entry(const ContainerName& name,
                                     const EntryPlace& entry,
                                     const Call& call) {
    return at_table(name, entry.table, [&](TablePlace place) -> Result<EntryResult> {
        if (place.table == 0) {
            return Status(Code::argument, "the iterator is at table " +
                                              std::to_string(entry.table) + " of a container of " +
                                              std::to_string(place.tables));
        }
        place.hash = entry.walk.hash(table::Positions(place.slots));
        return call(place);
    });
}

Result<EntryResult> Hashed::read(const ContainerName& name, const EntryPlace& entry, Room room) {
    return at_entry(name, entry, [&](const TablePlace& place) {
        return tables_.read(place, {entry.record, entry.mark}, room);
    });
}

Result<EntryResult> Hashed::erase_record(const ContainerName& name, const EntryPlace& entry) {
    return at_entry(name, entry, [&](const TablePlace& place) {
        return tables_.erase_record(place, {entry.record, entry.mark});
    });
}

Status Hashed::table_anew(const ContainerName& name, std::uint64_t index, TablePlace& place) {
    auto directory = directories_.fetch(name);
    if (!directory.is_ok()) return std::move(directory).failure();
    const DirectoryBody& body = directory.value().body;
    place = {0, body.id, 0, index, body.slots, body.tables};
    if (index < body.tables) directories_.set_table(place, directory.value().tables[index]);
    return {};
}

}  // namespace acp::data
