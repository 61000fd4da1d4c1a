// SPDX-License-Identifier: BSD-3-Clause
// Table by table, in the order of the directory.
#include "data/hashed_walk.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/format.hpp"
#include "data/ask.hpp"
#include "data/walked_tables.hpp"

namespace acp::data {

using base::Code;
using base::Result;
using base::Status;
using table::Effect;
using Record = table::EntryRecord<std::atomic>;

namespace {

// Finds the next entry of one table, which `at` becomes. end: there is none behind it. A step by
// allocator::WalkEntries takes a fifth longer.
table::Walked step(TableCalls::Here& here, ContainerKind kind, EntryPlace& at) {
    bool is_found = false;
    const auto visit = [&](const table::VisitedEntry& entry) {
        if (is_gone(kind, table::is_ended_count(entry.value, entry.value_bytes)))
            return table::Visited::go_on;
        is_found = true;
        at.record = here.address_of(entry.record.block);
        at.mark = entry.record.mark;
        at.key_bytes = entry.key_bytes;
        at.value_bytes = entry.value_bytes;
        return table::Visited::stop_here;
    };
    table::Walked walked = table::Walked::more;
    while (!is_found && walked == table::Walked::more)
        walked = here.tables()->walk(here.table(), at.walk, visit, true);
    return is_found ? table::Walked::more : walked;
}

EntryPlace end_at(std::uint64_t table) noexcept {
    return {table};
}

EntryPlace place_of(std::uint64_t table, const allocator::WalkedEntry& entry) noexcept {
    return {table, entry.place, entry.record, entry.key_bytes, entry.value_bytes, entry.mark()};
}

// The place just before a place's entry.
table::WalkPlace place_before(const table::WalkPlace& place) noexcept {
    const bool is_alone = place.tie == table::WalkPlace::tie_of_all || place.tie == 0;
    return {place.position, is_alone ? 0 : place.tie - 1};  // stays by hash, if it was
}

// A walk that begins behind this place visits the entry next.
table::WalkPlace place_behind_which(const TablePlace& table,
                                    const allocator::WalkedEntry& entry) noexcept {
    return place_before(entry.place).by_position(table::Positions(table.slots));
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
    using Call = RemoteCall<allocator::CountEntries>;
    std::vector<allocator::TableCount> counts(places.value().size());
    Asks asks(hashed_.tables().gma());
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const TablePlace& place = places.value()[i];
        asks.add(Call::request(hashed_.tables().process_of(place.table), {{place.table, place.id}},
                               {}, counts[i]));
    }
    if (auto status = asks.wait(); !status.is_ok()) {
        const bool is_damaged = status.code() == Code::system;
        return is_damaged ? TableCalls::damage(name.directory) : std::move(status);
    }
    std::uint64_t sum = 0;
    for (const allocator::TableCount& count : counts) sum += count.entries;
    return sum;
}

// Tests also whether the table belongs to the container: not if the copy of its directory is older
// than a swap.
Result<EntryPlace> HashedWalk::end(const ContainerName& name, Scope scope) {
    if (scope == Scope::all) {
        return hashed_.at_table(name, 0, [&](const TablePlace& place) -> Result<EntryPlace> {
            auto used =
                hashed_.tables().run<allocator::UseTable>(place, {{{place.table, place.id}}});
            if (!used.is_ok()) return std::move(used).failure();
            return end_at(place.tables);
        });
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

// The next entry of one table; the end if there is none, or no such table.
Result<EntryPlace> HashedWalk::next_in(const ContainerName& name,
                                       const TablePlace& place,
                                       const EntryPlace& after) {
    if (after.table >= place.tables) return end_at(place.tables);
    WalkReader reader(hashed_.tables(), place,
                      after.walk.by_position(table::Positions(place.slots)));
    do {
        auto status = reader.fetch({1, false});
        if (!status.is_ok()) return status;
        WalkReader::Entry entry;
        while (reader.take(entry)) {
            if (is_gone(name.kind, entry.head.is_ended_count())) continue;
            return place_of(after.table, entry.head);
        }
    } while (reader.has_more());
    return end_at(after.table + 1);
}

// A rank has one table of a container at the most.
Result<EntryPlace> HashedWalk::next(const ContainerName& name, EntryPlace after, Scope scope) {
    for (;;) {
        bool is_last = false;
        auto found = hashed_.at_table(name, after.table, [&](const TablePlace& place) {
            is_last = scope == Scope::local || after.table + 1 >= place.tables;
            return next_in(name, place, after);
        });
        if (!found.is_ok() || found.value().record != 0 || is_last) return found;
        after = found.value();
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
        TableCalls::Here here(calls.gma().hazards().index_of(line), place);
        if (here.table() == 0) return false;
        at.walk = at.walk.by_position(table::Positions(place.slots));
        const table::Walked walked = step(here, name.kind, at);
        if (walked == table::Walked::damaged) return false;
        if (walked == table::Walked::more) return true;
        if (scope == Scope::all) continue;
        ++at.table;
        break;
    }
    at = end_at(at.table);
    return true;
}

// Scans one table behind a place. filled: `at` is the place of the next entry.
// NOLINTNEXTLINE(readability-function-cognitive-complexity): each step may end the scan
Result<HashedWalk::ScanEnd> HashedWalk::scan_table(const TablePlace& place,
                                                   const ContainerName& name,
                                                   EntryPlace& at,
                                                   ScanState& state) {
    LongBytes bytes;
    WalkReader reader(hashed_.tables(), place, at.walk);
    do {
        const std::uint64_t wanted = state.wish.entries_max - state.taken + 1;  // and the next
        const auto some = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, 1 << 20));
        if (auto status = reader.fetch({some, true}); !status.is_ok()) return status;
        WalkReader::Entry entry;
        while (reader.take(entry)) {
            if (is_gone(name.kind, entry.head.is_ended_count())) continue;
            at = place_of(at.table, entry.head);
            if (state.taken == state.wish.entries_max) return ScanEnd::filled;
            if (!state.has_room_for(at)) return ScanEnd::filled;
            auto fetched = read_whole(reader, place, name, entry, bytes);
            // If the container's table was swapped since, the entry is searched there.
            if (!fetched.is_ok()) at.walk = place_before(at.walk);
            if (!fetched.is_ok()) return std::move(fetched).failure();
            if (fetched.value() != LongEntry::read) continue;
            at.value_bytes = entry.value.size();  // it may have been replaced since
            if (!state.has_room_for(at)) return ScanEnd::filled;
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
    at.walk = place_before(at.walk);
    for (;;) {
        const auto scan_it = [&](const TablePlace& place) -> Result<ScanEnd> {
            at.record = 0;
            if (at.table >= place.tables) return ScanEnd::filled;
            at.walk = at.walk.by_position(table::Positions(place.slots));
            return scan_table(place, name, at, state);
        };
        auto end = hashed_.at_table(name, at.table, scan_it);
        if (!end.is_ok()) return std::move(end).failure();
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
    Status first_failure;
    for (const TablePlace& place : places.value()) {
        auto status = clear_table(place);
        if (first_failure.is_ok()) first_failure = std::move(status);
    }
    return first_failure;
}

Status HashedWalk::clear_table(const TablePlace& place) {
    allocator::TableToClear request{{place.table, place.id}, {}};
    for (bool has_more = true; has_more;) {
        auto cleared = hashed_.tables().run<allocator::ClearTable>(place, {request});
        if (!cleared.is_ok()) return std::move(cleared).failure();
        const allocator::ClearResult& result = cleared.value().output;
        if (result.has_room == 0) return hashed_.tables().no_room(place, 0);
        has_more = result.has_more != 0;
        request.after = result.after;
    }
    return {};
}

// Reads an entry that did not fit into a message. That a record was reused between two steps of a
// walk is rare; that it was each time means that its key's bytes were overwritten.
Result<HashedWalk::LongEntry> HashedWalk::read_whole(WalkReader& reader,
                                                     const TablePlace& place,
                                                     const ContainerName& name,
                                                     WalkReader::Entry& entry,
                                                     LongBytes& bytes) {
    if (entry.head.has_bytes()) return LongEntry::read;
    auto fetched = fetch_long(place, name, entry.head, bytes.key, bytes.value);
    if (!fetched.is_ok()) return fetched;
    if (fetched.value() == LongEntry::unseen) {
        bytes.unseen_row = bytes.unseen == entry.head.record ? bytes.unseen_row + 1 : 1;
        bytes.unseen = entry.head.record;
        if (bytes.unseen_row == unseen_row_max) return TableCalls::damage(place.table);
        reader.go_back(place_behind_which(place, entry.head));
    }
    entry.key = bytes.key;
    entry.value = bytes.value;
    return fetched;
}

Result<HashedWalk::LongEntry> HashedWalk::fetch_long(const TablePlace& place,
                                                     const ContainerName& name,
                                                     const allocator::WalkedEntry& entry,
                                                     std::vector<std::byte>& key,
                                                     std::vector<std::byte>& value) {
    TableCalls& calls = hashed_.tables();
    key.resize(entry.key_bytes);
    value.resize(entry.value_bytes);
    const TablePlace at = place_of_walked(place, entry);
    const GlobalAddress key_at =
        entry.record + Record::head_bytes + Record::rounded(entry.value_bytes);
    if (auto status = get(calls.gma(), key.data(), key_at, key.size()); !status.is_ok())
        return status;
    auto read = calls.read(at, {entry.record, entry.mark()}, value);
    if (!read.is_ok()) return std::move(read).failure();
    bool is_read = read.value().effect != Effect::absent;
    // The values of a multimap are not replaced.
    if (!is_read && name.kind == ContainerKind::multimap) return LongEntry::gone;
    // Since the walk the record may have been reused for another entry, and then again for this key.
    auto is_its_key = hashed_.at_table(
        name, key, [&](const TablePlace& now) -> Result<bool> { return now.hash == at.hash; });
    if (!is_its_key.is_ok()) return std::move(is_its_key).failure();
    if (!is_its_key.value()) return LongEntry::unseen;
    if (is_read && read.value().value_bytes != value.size()) return LongEntry::unseen;
    while (!is_read) {  // its value was replaced, or it was erased
        read = hashed_.at_table(name, key,
                                [&](const TablePlace& now) { return calls.find(now, key, value); });
        if (!read.is_ok()) return std::move(read).failure();
        if (read.value().effect == Effect::absent) return LongEntry::gone;
        is_read = read.value().value_bytes <= value.size();
        value.resize(read.value().value_bytes);
    }
    const bool has_ended =
        is_gone(name.kind, table::is_ended_count(reinterpret_cast<const char*>(value.data()),
                                                 static_cast<std::uint32_t>(value.size())));
    return has_ended ? LongEntry::gone : LongEntry::read;
}

Result<std::uint64_t> HashedWalk::visit_local(const ContainerName& name, const Visit& visit) {
    std::uint64_t visited = 0;
    auto status = visit_tables(
        name, Scope::local,
        [&](const TablePlace& /*place*/, const WalkReader::Entry& entry) {
            ++visited;
            return visit(entry.key, entry.value) ? Status() : Status::bare(Code::interrupted);
        },
        nothing_to_flush);
    if (!status.is_ok() && status.code() != Code::interrupted) return status;
    return visited;
}

}  // namespace acp::data
