// SPDX-License-Identifier: BSD-3-Clause
// Table by table, in the order of the directory.
#include "data/hashed_walk.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/format.hpp"
#include "data/ask.hpp"
#include "data/directory_reach.hpp"

namespace acp::data {

using allocator::TableName;
using base::Code;
using base::Result;
using base::Status;
using Record = table::EntryRecord<std::atomic>;

namespace {

// A count that was ended stands for an entry that another call is about to unlink.
bool is_gone(ContainerKind kind, bool is_ended_count) noexcept {
    return kind == ContainerKind::multiset && is_ended_count;
}

// Finds the next entry of one table, which `at` becomes. false: there is none behind it.
bool step(TableCalls::Here& here, ContainerKind kind, EntryPlace& at) {
    bool is_found = false;
    const auto visit = [&](const table::VisitedEntry& entry) {
        if (is_gone(kind, table::is_ended_count(entry.value, entry.value_bytes)))
            return table::Visited::go_on;
        is_found = true;
        at.record = here.address(entry.record);
        at.key_bytes = entry.key_bytes;
        at.value_bytes = entry.value_bytes;
        return table::Visited::stop_here;
    };
    while (!is_found && here.tables()->walk(here.table(), at.walk, visit, true)) {
    }
    return is_found;
}

EntryPlace end_at(std::uint64_t table) noexcept {
    return {table, {}, 0, 0, 0};
}

EntryPlace place_of(std::uint64_t table, const allocator::WalkedEntry& entry) noexcept {
    return {table, entry.place, entry.record, entry.key_bytes, entry.value_bytes};
}

// Before the entry of a place, and behind what comes before it.
table::WalkPlace place_before(const table::WalkPlace& place) noexcept {
    const bool is_alone = place.tie == table::WalkPlace::tie_of_all || place.tie == 0;
    return {place.position, is_alone ? 0 : place.tie - 1};  // by the hash, if it was so
}

constexpr std::size_t in_words(std::size_t bytes) noexcept {
    return (bytes + 7) & ~std::size_t{7};
}

}  // namespace

Result<std::vector<TablePlace>> HashedWalk::tables(const ContainerName& name, Scope scope) {
    auto directory = hashed_.directories().fetch(name);
    if (!directory.is_ok()) return std::move(directory).failure();
    const DirectoryBody& body = directory.value().body;
    const std::uint32_t own = hashed_.tables().gma().space().process();
    std::vector<TablePlace> places;
    for (std::uint64_t i = 0; i < body.tables; ++i) {
        const GlobalAddress table = directory.value().tables[i];
        if (scope == Scope::local && hashed_.tables().process_of(table) != own) continue;
        TablePlace& place = places.emplace_back();
        place = {0, body.id, 0, i, body.slots, body.tables};
        hashed_.directories().set_table(place, table);
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
        return end_at(place.tables);
    }
    auto places = tables(name, scope);
    if (!places.is_ok()) return std::move(places).failure();
    if (places.value().empty()) return end(name, Scope::all);
    return end_at(places.value().back().index + 1);
}

Result<EntryPlace> HashedWalk::beginning(const ContainerName& name, Scope scope) {
    if (scope == Scope::all) return EntryPlace{};
    auto places = tables(name, scope);
    if (!places.is_ok()) return std::move(places).failure();
    if (places.value().empty()) return end(name, Scope::all);
    return end_at(places.value().front().index);
}

// Errors: besides those of all calls stale, and the copy of the directory is forgotten then.
Status HashedWalk::fetch(WalkReader& reader,
                         const TablePlace& place,
                         const ContainerName& name,
                         const WalkReader::Wish& wish) {
    Status status;
    if (place.heap == nullptr) {
        status = reader.fetch(wish);
    } else {
        local::Hazards& hazards = hashed_.tables().gma().hazards();
        local::Hazards::Lease lease(hazards);
        TableCalls::Here here(*place.heap, hazards.index_of(lease.line()), place);
        if (here.table() == 0) {
            status = TableCalls::no_table(place);
        } else {
            reader.fetch_here(here, wish);
        }
    }
    if (status.code() == Code::stale) hashed_.directories().forget(name.directory);
    return status;
}

// The next entry of one table; none: there is no further one.
Result<std::optional<EntryPlace>> HashedWalk::next_in(const ContainerName& name,
                                                      const TablePlace& place,
                                                      const EntryPlace& after) {
    WalkReader reader(hashed_.tables().gma(), hashed_.tables().process_of(place.table),
                      {place.table, place.id},
                      after.walk.by_position(table::Positions(place.slots)));
    do {
        auto status = fetch(reader, place, name, {1, false});
        if (!status.is_ok()) return status;
        WalkReader::Entry entry;
        while (reader.take(entry)) {
            if (is_gone(name.kind, entry.head.is_ended_count != 0)) continue;
            return std::optional(place_of(after.table, entry.head));
        }
    } while (reader.has_more());
    return std::optional<EntryPlace>();
}

// A rank has one table of a container at the most.
Result<EntryPlace> HashedWalk::next(const ContainerName& name, EntryPlace after, Scope scope) {
    bool is_copy_new = false;
    for (;;) {
        TablePlace place;
        auto status = hashed_.find_table(name, after.table, place);
        if (!status.is_ok()) return status;
        if (after.table >= place.tables) return end_at(place.tables);
        auto found = next_in(name, place, after);
        if (!found.is_ok()) {
            // The copy of the directory was from before an exchange with another container; it is fetched anew.
            if (found.failure().code() != Code::stale || is_copy_new)
                return std::move(found).failure();
            is_copy_new = true;
            continue;
        }
        if (found.value().has_value()) return *found.value();
        if (scope == Scope::local) return end_at(after.table + 1);
        ++after.table;
        after.walk = {};
    }
}

bool HashedWalk::next_at_once(const memory::HazardLine& line,
                              const ContainerName& name,
                              EntryPlace& at,
                              Scope scope) {
    TableCalls& calls = hashed_.tables();
    for (;; ++at.table, at.walk = {}) {
        TablePlace place;
        if (!hashed_.directories().find_table(name, at.table, place)) return false;
        if (at.table >= place.tables) break;
        if (place.heap == nullptr) return false;
        TableCalls::Here here(*place.heap, calls.gma().hazards().index_of(line), place);
        if (here.table() == 0) return false;
        at.walk = at.walk.by_position(table::Positions(place.slots));
        if (step(here, name.kind, at)) return true;
        if (scope == Scope::all) continue;
        ++at.table;
        break;
    }
    at = end_at(at.table);
    return true;
}

// Scans one table from behind a place on: filled where `at` has become the place of the next entry.
// NOLINTNEXTLINE(readability-function-cognitive-complexity): each step may end the scan
Result<HashedWalk::ScanEnd> HashedWalk::scan_table(const TablePlace& place,
                                                   const ContainerName& name,
                                                   EntryPlace& at,
                                                   ScanState& state) {
    std::vector<std::byte> long_key;
    std::vector<std::byte> long_value;
    WalkReader reader(hashed_.tables().gma(), hashed_.tables().process_of(place.table),
                      {place.table, place.id}, at.walk);
    do {
        const std::uint64_t wanted = state.wish.entries_max - state.taken + 1;  // and the next
        const auto some = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, 1 << 20));
        if (auto status = fetch(reader, place, name, {some, true}); !status.is_ok()) return status;
        WalkReader::Entry entry;
        while (reader.take(entry)) {
            if (is_gone(name.kind, entry.head.is_ended_count != 0)) continue;
            at = place_of(at.table, entry.head);
            if (state.taken == state.wish.entries_max) return ScanEnd::filled;
            if (!state.has_room_for(at)) return ScanEnd::filled;
            if (entry.head.has_bytes == 0) {
                auto is_there = fetch_long(place, name, entry.head, long_key, long_value);
                if (!is_there.is_ok()) return std::move(is_there).failure();
                if (!is_there.value()) continue;
                at.value_bytes = long_value.size();  // it may have been replaced meanwhile
                if (!state.has_room_for(at)) return ScanEnd::filled;
                entry.key = long_key;
                entry.value = long_value;
            }
            state.take(entry.key, entry.value);
        }
    } while (reader.has_more());
    return ScanEnd::table;
}

Result<std::uint64_t> HashedWalk::scan(const ContainerName& name,
                                       EntryPlace& at,
                                       Scope scope,
                                       const Scan& wish) {
    ScanState state{wish};
    if (at.record == 0) return state.taken;
    bool is_copy_new = false;
    at.walk = place_before(at.walk);
    for (;;) {
        TablePlace place;
        auto status = hashed_.find_table(name, at.table, place);
        if (!status.is_ok()) return status;
        at.record = 0;
        if (at.table >= place.tables) break;
        at.walk = at.walk.by_position(table::Positions(place.slots));
        auto end = scan_table(place, name, at, state);
        if (!end.is_ok()) {
            if (end.failure().code() != Code::stale || is_copy_new)  // as in next()
                return std::move(end).failure();
            is_copy_new = true;
            continue;
        }
        if (end.value() == ScanEnd::filled) break;
        at.record = 0;
        ++at.table;
        at.walk = {};
        if (scope == Scope::local) break;
    }
    if (at.record == 0) at = end_at(at.table);
    const bool is_refused = state.taken == 0 && wish.entries_max != 0 && at.record != 0;
    if (!is_refused) return state.taken;
    return Status(Code::limit, "the next entry has a key of " + base::in_bytes(at.key_bytes) +
                                   " and a value of " + base::in_bytes(at.value_bytes) +
                                   ", and there is room for " + base::in_bytes(wish.room.size()));
}

void HashedWalk::ScanState::take(Bytes key, Bytes value) {
    const Room value_room = wish.room.subspan(used, value.size());
    const Room key_room = wish.room.subspan(used + in_words(value.size()), key.size());
    std::copy(value.begin(), value.end(), value_room.begin());
    std::copy(key.begin(), key.end(), key_room.begin());
    used += in_words(value.size()) + in_words(key.size());
    ++taken;
    wish.take(key_room, value_room);
}

bool HashedWalk::ScanState::has_room_for(const EntryPlace& entry) const noexcept {
    return in_words(entry.value_bytes) + in_words(entry.key_bytes) <= wish.room.size() - used;
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
        if (auto status = fetch(reader, place, name, {}); !status.is_ok()) return status;
        WalkReader::Entry entry;
        while (reader.take(entry)) {
            if (is_gone(name.kind, entry.head.is_ended_count != 0)) continue;
            if (entry.head.has_bytes == 0) {
                auto is_there = fetch_long(place, name, entry.head, key, value);
                if (!is_there.is_ok()) return std::move(is_there).failure();
                if (!is_there.value()) continue;
                entry.key = key;
                entry.value = value;
            }
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

// Writes what a directory has after an exchange into the body that is not in use. Its list stays, if that has room for the tables.
Status HashedWalk::prepare(const ContainerName& name,
                           const DirectoryHead& own,
                           const ContainerName& other_name,
                           const Directory& other) {
    gma::Gma& gma = hashed_.tables().gma();
    Allocator& allocator = hashed_.tables().allocator();
    const std::size_t which = 1 - exchange_state::body_in(own.state);
    DirectoryBody body = other.body;
    body.id = table::identity::after(body.id);
    body.list = own.bodies[which].list;
    body.room = own.bodies[which].room;
    std::uint64_t more = which == 0 ? own.more : own.more_too;
    GlobalAddress before = 0;
    const bool is_moved = body.tables > body.room;
    if (is_moved) {
        const std::uint32_t process = hashed_.tables().process_of(name.directory);
        auto list =
            allocator.allocate(process, body.tables * sizeof(GlobalAddress),
                               allocator::alignment_least, allocator::BlockOwner::container);
        if (!list.is_ok()) return std::move(list).failure();
        before = more != 0 ? body.list : 0;
        body.list = list.value();
        body.room = body.tables;
        more = table::link::to(table::number_of(body.list - allocator.start_of(process)));
    }
    const auto write = [&](std::size_t at, const void* from, std::uint64_t bytes) {
        return put(gma, name.directory + at, from, bytes);
    };
    auto status = put(gma, body.list, other.tables.data(), body.tables * sizeof(GlobalAddress));
    if (status.is_ok())
        status = write(offsetof(DirectoryHead, bodies) + which * sizeof body, &body, sizeof body);
    if (status.is_ok() && is_moved) {
        status =
            write(which == 0 ? offsetof(DirectoryHead, more) : offsetof(DirectoryHead, more_too),
                  &more, sizeof more);
        if (status.is_ok() && before != 0)
            status = allocator.free(before, allocator::BlockOwner::container);
    }
    const std::array<std::uint64_t, 2> partner{other_name.directory, other.head.state};
    static_assert(offsetof(DirectoryHead, partner_state) ==
                  offsetof(DirectoryHead, partner) + sizeof(std::uint64_t));
    return status.is_ok() ? write(offsetof(DirectoryHead, partner), partner.data(), sizeof partner)
                          : std::move(status);
}

// Where somebody else has settled one of them meanwhile, once more.
Status HashedWalk::exchange(const ContainerName& one, const ContainerName& other) {
    if (one.directory == other.directory) return {};
    Directories& directories = hashed_.directories();
    DirectoryReach reach(hashed_.tables().gma());
    for (;;) {
        auto first = directories.fetch(one);
        if (!first.is_ok()) return std::move(first).failure();
        auto second = directories.fetch(other);
        if (!second.is_ok()) return std::move(second).failure();
        const Directory& of_one = first.value();
        const Directory& of_other = second.value();
        auto status = reach.look_for(of_one.tables, of_one.body.id);
        if (status.is_ok()) status = reach.look_for(of_other.tables, of_other.body.id);
        if (status.is_ok()) status = prepare(one, of_one.head, other, of_other);
        if (status.is_ok()) status = prepare(other, of_other.head, one, of_one);
        if (!status.is_ok()) return status;
        auto is_done = DirectoryExchange(reach).run({one.directory, of_one.head.state},
                                                    {other.directory, of_other.head.state});
        directories.forget(one.directory);
        directories.forget(other.directory);
        if (!is_done.is_ok()) return std::move(is_done).failure();
        if (is_done.value()) return {};
    }
}

}  // namespace acp::data
