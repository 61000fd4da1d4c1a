// SPDX-License-Identifier: BSD-3-Clause
// Reads the arguments, works on the table, writes the result.
#include "allocator/table_operations.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "base/format.hpp"

#include "allocator/opened_tables.hpp"
#include "allocator/walked_entries.hpp"

namespace acp::allocator {

namespace {

using base::Code;
using local::NumberedOperation;
using local::OperationContext;
using memory::GlobalAddress;
using table::BlockNumber;
using table::Effect;
using table::Visited;
using table::VisitedEntry;
using Ran = NumberedOperation::Ran;

Ran run_make(OperationContext& context,
             OperationArguments arguments,
             OperationResult result) noexcept {
    TableRequest request;
    if (!take(arguments, request) || !arguments.empty() || request.may_grow > 1 ||
        request.has_many > 1 || request.slots == 0 || request.slots > table_slots_max) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    OpenedTables opened(context);
    BlockNumber made = 0;
    (void)opened.tables().with_room([&] {
        made = opened.tables()->make({request.slots, request.may_grow != 0, request.has_many != 0,
                                      request.id, request.maker});
        return made != 0 ? Effect::done : Effect::no_room;
    });
    opened.tables()->keep();
    const GlobalAddress address = opened.address(made);
    std::memcpy(result.data(), &address, sizeof address);
    return {Code::ok, sizeof address};
}

Ran run_destroy(OperationContext& context,
                OperationArguments arguments,
                OperationResult /*result*/) noexcept {
    TableName name;
    if (!take(arguments, name) || !arguments.empty()) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    OpenedTables opened(context);
    const BlockNumber table = opened.table(name);
    if (table == 0 || !opened.tables().destroy(table, name.id)) return {Code::stale, 0};
    return {};
}

Ran run_give(OperationContext& context,
             OperationArguments arguments,
             OperationResult /*result*/) noexcept {
    GiveRequest request;
    if (!take(arguments, request) || !arguments.empty()) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    OpenedTables opened(context);
    const BlockNumber table = opened.table(request.name);
    if (table == 0 || !opened.tables()->give(table, request.name.id, request.to))
        return {Code::stale, 0};
    return {};
}

Ran run_entries(OperationContext& context,
                OperationArguments arguments,
                OperationResult result) noexcept {
    TableName name;
    if (!take(arguments, name) || !arguments.empty()) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    OpenedTables opened(context);
    const BlockNumber table = opened.table(name);
    if (table == 0) return {Code::stale, 0};
    const std::optional<std::uint64_t> entries = opened.tables().entries(table);
    if (!entries) return {Code::system, 0};
    std::memcpy(result.data(), &*entries, sizeof *entries);
    return {Code::ok, sizeof *entries};
}

// The most buckets that one operation clears.
constexpr std::uint32_t buckets_max = 64;

Ran run_walk(OperationContext& context,
             OperationArguments arguments,
             OperationResult result) noexcept {
    WalkRequest request;
    if (!take(arguments, request) || !arguments.empty() || request.wants_bytes > 1) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    OpenedTables opened(context);
    const BlockNumber table = opened.table(request.name);
    if (table == 0) return {Code::stale, 0};
    const auto address = [&](BlockNumber record) { return opened.address(record); };
    const std::uint32_t bytes =
        write_walked_entries(opened.tables(), table, request, address, result);
    return {bytes != 0 ? Code::ok : Code::system, bytes};
}

// Notes the entries of a bucket, and erases them after the visit. If one of them has gone, or could
// not be erased, the bucket is visited again: the entry's value may have been replaced.
Ran run_clear_table(OperationContext& context,
                    OperationArguments arguments,
                    OperationResult result) noexcept {
    WalkRequest request;
    if (!take(arguments, request) || !arguments.empty()) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    OpenedTables opened(context);
    const BlockNumber table = opened.table(request.name);
    if (table == 0) return {Code::stale, 0};
    ClearResult head{request.after};
    for (std::uint32_t i = 0; i < buckets_max && head.has_more != 0 && head.has_room != 0; ++i) {
        std::array<std::pair<std::uint64_t, BlockNumber>, 32>
            noted;  // NOLINT: written as far as read
        std::uint32_t count = 0;
        table::WalkPlace after = head.after;
        const auto note = [&](const VisitedEntry& entry) {
            noted[count++] = {opened.tables()->hash_at(table, entry.place.position), entry.record};
            return count == noted.size() ? Visited::stop_here : Visited::go_on;
        };
        const table::Walked walked = opened.tables()->walk(table, after, note);
        if (walked == table::Walked::damaged) return {Code::system, 0};
        bool are_erased = true;
        for (std::uint32_t j = 0; j < count && head.has_room != 0; ++j) {
            const Effect effect = opened.tables().with_room([&] {
                return opened.tables()->erase_record(table, noted[j].first, noted[j].second);
            });
            are_erased = are_erased && effect == Effect::done;
            if (effect == Effect::damaged) return {Code::system, 0};
            if (effect == Effect::no_room) head.has_room = 0;
        }
        if (!are_erased) continue;
        head.after = after;
        head.has_more = walked == table::Walked::more ? 1 : 0;
    }
    std::memcpy(result.data(), &head, sizeof head);
    return {Code::ok, sizeof head};
}

std::string places_of_table(OperationArguments arguments) {
    GlobalAddress address = 0;
    if (!take(arguments, address)) return "no table";
    return "the table is " + base::hex(address);
}

}  // namespace

BlockNumber table_at(const local::Space& space,
                     std::uint32_t process,
                     GlobalAddress address) noexcept {
    const heap::Offset offset = offset_in_heap(space, process, address);
    const std::uint64_t heap_bytes = space.segment().shape().heap_bytes;
    if (offset == heap::no_block || offset % table::line_bytes != 0 ||
        heap_bytes - offset < sizeof(table::Head<std::atomic>)) {
        return 0;
    }
    return table::number_of(offset);
}

const std::array<NumberedOperation, table_operation_count>& table_operations() noexcept {
    constexpr std::uint32_t most = memory::invoke_bytes_max;
    static constexpr std::array<NumberedOperation, table_operation_count> rows{{
        {table_make_number, "making a table", sizeof(TableRequest), sizeof(GlobalAddress),
         run_make},
        {table_destroy_number, "destroying a table", sizeof(TableName), 0, run_destroy,
         places_of_table},
        {table_give_number, "giving a table away", sizeof(GiveRequest), 0, run_give,
         places_of_table},
        {table_entries_number, "counting entries", sizeof(TableName), sizeof(std::uint64_t),
         run_entries, places_of_table},
        {table_walk_number, "a walk over a table", sizeof(WalkRequest), most, run_walk,
         places_of_table},
        {table_clear_number, "clearing a table", sizeof(WalkRequest), sizeof(ClearResult),
         run_clear_table, places_of_table},
    }};
    return rows;
}

}  // namespace acp::allocator
