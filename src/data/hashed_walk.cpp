// SPDX-License-Identifier: BSD-3-Clause
// Table by table, in the order of the directory.
#include "data/hashed_walk.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "data/ask.hpp"

namespace acp::data {

using allocator::TableName;
using base::Code;
using base::Result;
using base::Status;
using Record = table::EntryRecord<std::atomic>;

namespace {

// A count that was ended stands for an entry that another call is about to unlink.
bool is_ended_count(ContainerKind kind, Bytes value) noexcept {
    if (kind != ContainerKind::multiset || value.size() != sizeof table::ended_count) return false;
    std::uint64_t count = 0;
    std::memcpy(&count, value.data(), sizeof count);
    return count == table::ended_count;
}

}  // namespace

Result<std::vector<TablePlace>> HashedWalk::tables(const ContainerName& name, Scope scope) {
    auto directory = hashed_.directories().fetch(name);
    if (!directory.is_ok()) return std::move(directory).failure();
    const DirectoryHead& head = directory.value().head;
    const std::uint32_t own = hashed_.tables().gma().space().process();
    std::vector<TablePlace> places;
    for (std::uint64_t i = 0; i < head.tables; ++i) {
        const GlobalAddress table = directory.value().tables[i];
        if (scope == Scope::local && hashed_.tables().process_of(table) != own) continue;
        places.push_back({table, head.id, 0, i, head.slots, head.tables});
    }
    return places;
}

Result<std::uint64_t> HashedWalk::entries(const ContainerName& name, Scope scope) {
    auto places = tables(name, scope);
    if (!places.is_ok()) return std::move(places).failure();
    std::vector<std::uint64_t> counts(places.value().size());
    Asks asks(hashed_.tables().gma());
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const TablePlace& place = places.value()[i];
        const TableName table{place.table, place.id};
        asks.add({hashed_.tables().process_of(place.table), allocator::table_entries_number,
                  std::as_bytes(std::span(&table, 1)),
                  std::as_writable_bytes(std::span(&counts[i], 1)), nullptr});
    }
    if (auto status = asks.wait(); !status.is_ok()) return status;
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    return sum;
}

Result<EntryPlace> HashedWalk::end(const ContainerName& name, Scope scope) {
    TablePlace place;
    if (scope == Scope::all) {
        if (auto status = hashed_.find_table(name, 0, place); !status.is_ok()) return status;
        return EntryPlace{place.tables, {}, 0, 0, 0};
    }
    auto places = tables(name, scope);
    if (!places.is_ok()) return std::move(places).failure();
    if (places.value().empty()) return end(name, Scope::all);
    return EntryPlace{places.value().back().index + 1, {}, 0, 0, 0};
}

Result<EntryPlace> HashedWalk::beginning(const ContainerName& name, Scope scope) {
    if (scope == Scope::all) return EntryPlace{};
    auto places = tables(name, scope);
    if (!places.is_ok()) return std::move(places).failure();
    if (places.value().empty()) return end(name, Scope::all);
    return EntryPlace{places.value().front().index, {}, 0, 0, 0};
}

// A rank has one table of a container at the most.
Result<EntryPlace> HashedWalk::next(const ContainerName& name, EntryPlace after, Scope scope) {
    for (;; ++after.table, after.walk = {}) {
        TablePlace place;
        auto status = hashed_.find_table(name, after.table, place);
        if (!status.is_ok()) return status;
        if (after.table >= place.tables) return EntryPlace{place.tables, {}, 0, 0, 0};
        WalkReader reader(hashed_.tables().gma(), hashed_.tables().process_of(place.table),
                          {place.table, place.id}, after.walk);
        do {
            status = reader.fetch(true);
            if (!status.is_ok()) {
                if (status.code() == Code::stale) hashed_.directories().forget(name.directory);
                return status;
            }
            WalkReader::Entry entry;
            while (reader.take(entry)) {
                if (is_ended_count(name.kind, entry.value)) continue;
                return EntryPlace{after.table, entry.head.place, entry.head.record,
                                  entry.head.key_bytes, entry.head.value_bytes};
            }
        } while (reader.has_more());
        if (scope == Scope::local) return EntryPlace{after.table + 1, {}, 0, 0, 0};
    }
}

Status HashedWalk::clear(const ContainerName& name, Scope scope) {
    auto places = tables(name, scope);
    if (!places.is_ok()) return std::move(places).failure();
    for (const TablePlace& place : places.value()) {
        allocator::WalkRequest request{{place.table, place.id}, {}, 0};
        for (allocator::WalkResult told{{}, 0, 1}; told.has_more != 0; request.after = told.after) {
            auto status = ask(hashed_.tables().gma(),
                              {hashed_.tables().process_of(place.table),
                               allocator::table_clear_number, std::as_bytes(std::span(&request, 1)),
                               std::as_writable_bytes(std::span(&told, 1)), nullptr});
            if (!status.is_ok()) return status;
        }
    }
    return {};
}

// An entry that did not fit into a message. false: it is there no more.
Result<bool> HashedWalk::fetch_long(const TablePlace& place,
                                    const ContainerName& name,
                                    const allocator::WalkedEntry& entry,
                                    std::vector<std::byte>& key,
                                    std::vector<std::byte>& value) {
    TableCalls& calls = hashed_.tables();
    key.resize(entry.key_bytes);
    value.resize(entry.value_bytes);
    TablePlace at = place;
    at.hash = table::Positions(place.slots).hash_at(entry.place.position);
    const GlobalAddress key_at =
        entry.record + Record::head_bytes + Record::rounded(entry.value_bytes);
    if (auto status = get(calls.gma(), key.data(), key_at, key.size()); !status.is_ok())
        return status;
    auto read = calls.read(at, entry.record, value);
    if (!read.is_ok()) return std::move(read).failure();
    // Both were read while the entry was there: what a record holds does not change.
    if (read.value().effect == Effect::done) return true;
    if (name.kind == ContainerKind::multimap) return false;
    // The value was replaced, or the entry erased: the key may be of what came after it, and is looked for again.
    for (std::size_t bytes = value.size();;) {
        value.resize(bytes);
        auto found = hashed_.at_table(
            name, key, [&](const TablePlace& now) { return calls.find(now, key, value); });
        if (!found.is_ok()) return std::move(found).failure();
        if (found.value().effect != Effect::done) return false;
        bytes = found.value().value_bytes;
        if (bytes <= value.size()) {
            value.resize(bytes);
            return true;
        }
    }
}

// Errors: besides those of all calls interrupted, where visit wants no more.
Status HashedWalk::visit_table(const TablePlace& place,
                               const ContainerName& name,
                               const Visit& visit) {
    std::vector<std::byte> key;
    std::vector<std::byte> value;
    WalkReader reader(hashed_.tables().gma(), hashed_.tables().process_of(place.table),
                      {place.table, place.id}, {});
    do {
        if (auto status = reader.fetch(false); !status.is_ok()) return status;
        WalkReader::Entry entry;
        while (reader.take(entry)) {
            if (entry.head.has_bytes == 0) {
                auto is_there = fetch_long(place, name, entry.head, key, value);
                if (!is_there.is_ok()) return std::move(is_there).failure();
                if (!is_there.value()) continue;
                entry.key = key;
                entry.value = value;
            }
            if (is_ended_count(name.kind, entry.value)) continue;
            if (!visit(entry.key, entry.value)) return Status::bare(Code::interrupted);
        }
    } while (reader.has_more());
    return {};
}

Result<std::uint64_t> HashedWalk::visit_local(const ContainerName& name, const Visit& visit) {
    auto places = tables(name, Scope::local);
    if (!places.is_ok()) return std::move(places).failure();
    std::uint64_t visited = 0;
    for (const TablePlace& place : places.value()) {
        auto status = visit_table(place, name, [&](Bytes key, Bytes value) {
            ++visited;
            return visit(key, value);
        });
        if (!status.is_ok() && status.code() != Code::interrupted) return status;
    }
    return visited;
}

Status HashedWalk::merge(const ContainerName& into, const ContainerName& from, Scope scope) {
    if (into.directory == from.directory) return {};
    auto places = tables(from, scope);
    if (!places.is_ok()) return std::move(places).failure();
    const PutMode mode = into.kind == ContainerKind::multimap ? PutMode::add : PutMode::insert;
    TableCalls& calls = hashed_.tables();
    Status failed;
    for (const TablePlace& place : places.value()) {
        auto status = visit_table(place, from, [&](Bytes key, Bytes value) {
            auto put = hashed_.at_table(into, key, [&](const TablePlace& at) {
                return calls.put(at, {key, value, mode, {}});
            });
            if (!put.is_ok()) failed = std::move(put).failure();
            return failed.is_ok();
        });
        if (!failed.is_ok()) return failed;
        if (!status.is_ok()) return status;
    }
    return {};
}

Status HashedWalk::give_tables(const Directory& directory, std::uint64_t to) {
    Asks asks(hashed_.tables().gma());
    for (const GlobalAddress table : directory.tables) {
        const allocator::GiveRequest request{{table, directory.head.id}, to};
        asks.add({hashed_.tables().process_of(table),
                  allocator::table_give_number,
                  std::as_bytes(std::span(&request, 1)),
                  {},
                  nullptr});
    }
    return asks.wait();
}

Status HashedWalk::write(const ContainerName& name, const DirectoryHead& head) {
    auto status = put(hashed_.tables().gma(), name.directory, &head, sizeof head);
    hashed_.directories().forget(name.directory);
    return status;
}

Status HashedWalk::exchange(const ContainerName& one, const ContainerName& other) {
    if (one.directory == other.directory) return {};
    auto first = hashed_.directories().fetch(one);
    if (!first.is_ok()) return std::move(first).failure();
    auto second = hashed_.directories().fetch(other);
    if (!second.is_ok()) return std::move(second).failure();
    const std::uint64_t first_id = first.value().head.id;
    const std::uint64_t second_id = second.value().head.id;
    if (auto status = give_tables(first.value(), second_id); !status.is_ok()) return status;
    if (auto status = give_tables(second.value(), first_id); !status.is_ok()) return status;
    DirectoryHead of_one = second.value().head;
    DirectoryHead of_other = first.value().head;
    of_one.id = first_id;
    of_other.id = second_id;
    if (auto status = write(one, of_one); !status.is_ok()) return status;
    return write(other, of_other);
}

}  // namespace acp::data
