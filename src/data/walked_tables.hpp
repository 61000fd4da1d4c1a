// SPDX-License-Identifier: BSD-3-Clause
// Visits all entries of a hashed container: the templates of HashedWalk that data/hashed_walk.cpp and data/hashed_merge.cpp share. Any
// thread; blocks while another node is asked.
// Tests: tests/conformance/hashed_scan_test.cpp, hashed_pair_test.cpp.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "data/hashed_walk.hpp"

namespace acp::data {

// An ended count: another call is about to unlink the entry.
inline bool is_gone(ContainerKind kind, bool is_ended_count) noexcept {
    return kind == ContainerKind::multiset && is_ended_count;
}

// The table place of an entry's key.   table  the entry's table
inline TablePlace place_of_walked(TablePlace table, const allocator::WalkedEntry& entry) noexcept {
    table.hash = entry.place.hash(table::Positions(table.slots));
    return table;
}

// The flush() of a visitor that keeps no entries.
inline base::Status nothing_to_flush() {
    return {};
}

// Calls each(WalkReader::Entry) for the entries of one table, and flush() before the bytes of these entries are overwritten, until one
// of them returns a failure.
template <typename Each, typename Flush>
base::Status HashedWalk::visit_table(const TablePlace& place,
                                     const ContainerName& name,
                                     const Each& each,
                                     const Flush& flush) {
    LongBytes bytes;
    WalkReader reader(hashed_.tables(), place, {});
    do {
        if (auto status = reader.fetch({}); !status.is_ok()) return status;
        WalkReader::Entry entry;
        while (reader.take(entry)) {
            if (is_gone(name.kind, entry.head.is_ended_count())) continue;
            auto status = !entry.head.has_bytes() ? flush() : base::Status();
            if (!status.is_ok()) return status;
            auto fetched = read_whole(reader, place, name, entry, bytes);
            if (!fetched.is_ok()) return std::move(fetched).failure();
            if (fetched.value() != LongEntry::read) continue;
            status = each(entry);
            if (!status.is_ok()) return status;
        }
        if (auto status = flush(); !status.is_ok()) return status;
    } while (reader.has_more());
    return {};
}

// Calls each(TablePlace, WalkReader::Entry) for one table after the other.
template <typename Each, typename Flush>
base::Status HashedWalk::visit_tables(const ContainerName& name,
                                      Scope scope,
                                      const Each& each,
                                      const Flush& flush) {
    auto places = tables(name, scope);
    if (!places.is_ok()) return std::move(places).failure();
    for (const TablePlace& place : places.value()) {
        auto status = visit_table(
            place, name, [&](const WalkReader::Entry& entry) { return each(place, entry); }, flush);
        if (!status.is_ok()) return status;
    }
    return {};
}

}  // namespace acp::data
