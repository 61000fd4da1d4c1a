// SPDX-License-Identifier: BSD-3-Clause
// Entries that a walk over a table visits, as bytes: for a caller on the table's node, into its own
// buffer, and for the gateway, into the result of the operation. One thread.
// Tests: tests/unit/allocator/table_operations_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "allocator/node_tables.hpp"
#include "allocator/table_operations.hpp"
#include "table/counting.hpp"

namespace acp::allocator {

// Writes a WalkResult and the entries behind a place, as WalkRequest says. Returns how many bytes;
// 0: the program has overwritten the table's words.
//   address(block number)  of a record
//   result                 at least a WalkResult and a WalkedEntry
template <typename Address>
std::uint32_t write_walked_entries(NodeTables& tables,
                                   table::BlockNumber table,
                                   const WalkRequest& request,
                                   const Address& address,
                                   std::span<std::byte> result) {
    // The most buckets that one call visits.
    constexpr std::uint32_t buckets_max = 64;
    const std::uint32_t entries_max = request.entries_max == 0 ? ~0U : request.entries_max;
    std::size_t used = sizeof(WalkResult);
    const auto append = [&](const void* bytes, std::size_t size) {
        if (size != 0) std::memcpy(result.data() + used, bytes, size);
        used += size;
    };
    WalkResult head{request.after, 0, 1};
    bool is_full = false;
    const auto visit = [&](const table::VisitedEntry& entry) {
        WalkedEntry walked{entry.place, address(entry.record), entry.key_bytes, entry.value_bytes};
        std::size_t bytes =
            request.wants_bytes != 0 ? std::size_t{entry.key_bytes} + entry.value_bytes : 0;
        is_full = used + sizeof walked + bytes > result.size();
        if (is_full && head.count != 0) return table::Visited::stop_before;
        walked.has_bytes = request.wants_bytes != 0 && !is_full ? 1 : 0;
        walked.is_ended_count = table::is_ended_count(entry.value, entry.value_bytes) ? 1 : 0;
        append(&walked, sizeof walked);
        if (walked.has_bytes != 0) {
            append(entry.key, entry.key_bytes);
            append(entry.value, entry.value_bytes);
        }
        ++head.count;
        is_full = is_full || head.count == entries_max;
        return is_full ? table::Visited::stop_here : table::Visited::go_on;
    };
    for (std::uint32_t i = 0; i < buckets_max && head.has_more != 0 && !is_full; ++i) {
        const table::Walked walked = tables->walk(table, head.after, visit, entries_max == 1);
        if (walked == table::Walked::damaged) return 0;
        head.has_more = walked == table::Walked::more ? 1 : 0;
    }
    std::memcpy(result.data(), &head, sizeof head);
    return static_cast<std::uint32_t>(used);
}

}  // namespace acp::allocator
