// SPDX-License-Identifier: BSD-3-Clause
// Reads the arguments, works on the table, writes the result.
#include "allocator/table_operations.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "base/format.hpp"

#include "allocator/operations.hpp"

namespace acp::allocator {

namespace {

using base::Code;
using local::NumberedOperation;
using local::OperationContext;
using memory::GlobalAddress;
using table::BlockNumber;
using table::Effect;
using Ran = NumberedOperation::Ran;
using Arguments = std::span<const std::byte>;
using Result = std::span<std::byte>;

template <typename Value>
bool take(Arguments& from, Value& value) noexcept {
    if (from.size() < sizeof value) return false;
    std::memcpy(&value, from.data(), sizeof value);
    from = from.subspan(sizeof value);
    return true;
}

// The heap and its tables, while an operation runs.
class Opened {
public:
    explicit Opened(OperationContext& context) noexcept
        : context_(context),
          heap_(context.space().segment(),
                context.space().slot_of(context.process()),
                context.hazards()),
          tables_(heap_, context.thread()) {}

    [[nodiscard]] NodeTables& tables() noexcept { return tables_; }

    // 0: no table is there.
    [[nodiscard]] BlockNumber table(GlobalAddress address) noexcept {
        const BlockNumber found = table_at(context_.space(), context_.process(), address);
        return found != 0 && tables_->is_table(found) ? found : 0;
    }

    // Runs a call, again where there was no room and some may have been found.
    template <typename Call>
    Effect with_room(const Call& call) {
        const Effect effect = call();
        if (effect != Effect::no_room) return effect;
        tables_.find_room();
        return call();
    }

private:
    OperationContext& context_;
    NodeHeap heap_;
    NodeTables tables_;
};

// What an operation on an entry begins with.
struct EntryCall {
    EntryRequest request;
    table::EntryKey key;

    // `after`: what stands between the request and the key. false: the arguments are malformed.
    template <typename After>
    bool read(Arguments& arguments, After& after) noexcept {
        if (!take(arguments, request) || !take(arguments, after)) return false;
        return read_key(arguments);
    }

    bool read(Arguments& arguments) noexcept {
        return take(arguments, request) && read_key(arguments);
    }

private:
    bool read_key(Arguments& arguments) noexcept {
        if (arguments.size() < request.key_bytes) return false;
        key = {arguments.data(), request.key_bytes, request.hash};
        arguments = arguments.subspan(request.key_bytes);
        return true;
    }
};

Ran told(Result result, Effect effect) noexcept {
    result[0] = static_cast<std::byte>(effect);
    return {Code::ok, 1};
}

Ran run_make(OperationContext& context, Arguments arguments, Result result) noexcept {
    TableRequest request;
    if (!take(arguments, request) || !arguments.empty() || request.may_grow > 1 ||
        request.slots == 0 || request.slots > table_slots_max) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    BlockNumber made = 0;
    (void)opened.with_room([&] {
        made = opened.tables()->make(request.slots, request.may_grow != 0);
        return made != 0 ? Effect::done : Effect::no_room;
    });
    opened.tables()->keep();
    const GlobalAddress address =
        made == 0 ? 0
                  : context.space().claimed_address(context.process(), node::Claim::heap_blocks) +
                        table::offset_of(made);
    std::memcpy(result.data(), &address, sizeof address);
    return {Code::ok, sizeof address};
}

Ran run_destroy(OperationContext& context, Arguments arguments, Result /*result*/) noexcept {
    GlobalAddress address = 0;
    if (!take(arguments, address) || !arguments.empty()) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    const BlockNumber table = opened.table(address);
    if (table == 0 || !opened.tables().destroy(table)) return {Code::stale, 0};
    return {};
}

Ran run_find(OperationContext& context, Arguments arguments, Result result) noexcept {
    EntryCall call;
    if (!call.read(arguments) || !arguments.empty()) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    const BlockNumber table = opened.table(call.request.table);
    if (table == 0) return {Code::stale, 0};
    EntryResult head;
    const std::size_t room =
        std::min<std::size_t>(result.size() - sizeof head, call.request.value_bytes);
    std::size_t written = 0;
    const bool is_there =
        opened.tables()->find(table, call.key, [&](const char* value, std::uint32_t bytes) {
            head.value_bytes = bytes;
            written = std::min<std::size_t>(bytes, room);
            std::memcpy(result.data() + sizeof head, value, written);
        });
    head.effect = is_there ? Effect::done : Effect::absent;
    head.is_whole = written == head.value_bytes ? 1 : 0;
    std::memcpy(result.data(), &head, sizeof head);
    return {Code::ok, static_cast<std::uint32_t>(sizeof head + written)};
}

Ran run_put(OperationContext& context, Arguments arguments, Result result) noexcept {
    EntryCall call;
    PutMode mode{};
    if (!call.read(arguments, mode) || arguments.size() != call.request.value_bytes ||
        mode > PutMode::assign) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    const BlockNumber table = opened.table(call.request.table);
    if (table == 0) return {Code::stale, 0};
    const table::EntryValue value{arguments.data(), call.request.value_bytes};
    return told(result, opened.with_room([&] {
        return mode == PutMode::insert ? opened.tables()->insert(table, call.key, value)
                                       : opened.tables()->assign(table, call.key, value);
    }));
}

Ran run_erase(OperationContext& context, Arguments arguments, Result result) noexcept {
    EntryCall call;
    if (!call.read(arguments) || !arguments.empty()) return {Code::argument, 0};
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    const BlockNumber table = opened.table(call.request.table);
    if (table == 0) return {Code::stale, 0};
    return told(result, opened.with_room([&] { return opened.tables()->erase(table, call.key); }));
}

Ran run_change(OperationContext& context, Arguments arguments, Result result) noexcept {
    EntryCall call;
    ChangeRequest change;
    if (!call.read(arguments, change) || !arguments.empty() || change.is_exchange > 1) {
        return {Code::argument, 0};
    }
    if (!has_heap(context)) return {Code::unsupported, 0};
    Opened opened(context);
    const BlockNumber table = opened.table(call.request.table);
    if (table == 0) return {Code::stale, 0};
    ChangeResult done;
    done.old = change.expected;
    done.effect = change.is_exchange != 0
                      ? opened.tables()->compare_exchange(table, call.key, done.old, change.operand)
                      : opened.tables()->fetch_add(table, call.key, change.operand, done.old);
    std::memcpy(result.data(), &done, sizeof done);
    return {Code::ok, sizeof done};
}

std::string places_of_table(Arguments arguments) {
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
        {table_destroy_number, "destroying a table", sizeof(GlobalAddress), 0, run_destroy,
         places_of_table},
        {table_find_number, "a find", most, most, run_find, places_of_table},
        {table_put_number, "an insertion", most, 1, run_put, places_of_table},
        {table_erase_number, "an erasure", most, 1, run_erase, places_of_table},
        {table_change_number, "a change of a value", most, sizeof(ChangeResult), run_change,
         places_of_table},
    }};
    return rows;
}

}  // namespace acp::allocator
