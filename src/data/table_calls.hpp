// SPDX-License-Identifier: BSD-3-Clause
// Calls on one table and its entries: each is one operation (allocator/entry_operations.hpp,
// allocator/table_operations.hpp), in one round trip to another node, or in three if key and value
// are too long for one request: a block in the owner's heap is filled first and then becomes the
// entry. Any thread. Each call blocks while it waits for another node. Errors, of all calls: stale
// (no table of this identity is there), memory (no room in the owner's heap; the table is as
// before), peer, argument (a value of 4 GiB or more), system (the program has overwritten the
// table's words). Keys are shorter: Hashed::at_table refuses others before it hashes them.
// Tests: tests/conformance/hashed_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "data/directory.hpp"
#include "data/remote_call.hpp"
#include "gma/gma.hpp"

#include "allocator/entry_operations.hpp"

namespace acp::data {

using Bytes = std::span<const std::byte>;
using Room = std::span<std::byte>;
using allocator::ChangeKind;
using allocator::ChangeWords;
using allocator::EntryResult;
using table::Effect;
using table::PutMode;

// Whether a key or a value has 4 GiB or more, and the failure then: argument.
[[nodiscard]] inline bool is_too_long(Bytes bytes) noexcept {
    return bytes.size() > std::numeric_limits<std::uint32_t>::max();
}

// The failure for a key or value that is_too_long(): argument.
[[nodiscard]] base::Status too_long(std::uint64_t bytes);

// Limits of one request to another node. They hold on the own node too, so that a program that runs
// on one node does not fail on several.
inline constexpr std::size_t changed_key_bytes_max = allocator::ChangeEntry::tail_max;
inline constexpr std::size_t walked_key_bytes_max = allocator::NextOfKey::tail_max;
inline constexpr std::size_t compared_value_bytes_max = allocator::PutBlock::tail_max;

// The failure to change the value of a key with more bytes than changed_key_bytes_max: limit.
[[nodiscard]] base::Status key_too_long_to_change(std::size_t bytes);

// The failure for table::Effect::no_number, where the value of a key is no number: argument.
[[nodiscard]] base::Status no_number(Bytes key);

// The failure for table::Effect::out_of_range: argument.
//   count  of the key before the call; 0: not known
//   added  the caller's number to add
[[nodiscard]] base::Status no_such_count(Bytes key, std::uint64_t count, std::uint64_t added);

// Converts a key to the table's form.   key  less than 4 GiB
[[nodiscard]] inline table::EntryKey key_at(const TablePlace& place, Bytes key) noexcept {
    return {key.data(), static_cast<std::uint32_t>(key.size()), place.hash};
}

// The key and the value that a put stores.
struct Put {
    Bytes key;
    Bytes value;
    PutMode mode = PutMode::insert;
    Bytes expected;  // PutMode::replace
};

// A request of an operation, and the room for what follows its output.
template <typename Operation>
struct TableRequest {
    using Of = Operation;

    typename Operation::Input input;
    local::OperationTail<Operation> tail = {};
    Room room = {};
};

[[nodiscard, gnu::always_inline]] inline allocator::EntryRequest request_of(
    const TablePlace& place, Bytes key, std::size_t value_bytes) noexcept {
    constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
    return {{place.table, place.id},
            place.hash,
            static_cast<std::uint32_t>(key.size()),
            static_cast<std::uint32_t>(std::min(value_bytes, most))};
}

// Names the entry of a record, as a call or a walk returned it.
struct EntryName {
    GlobalAddress record = 0;
    std::uint64_t mark = 0;  // mark of the record (table::RecordName)
};

//   result  of a find, a read or a put
[[nodiscard]] inline EntryName name_in(const EntryResult& result) noexcept {
    return {result.record, result.number};
}

// The requests of calls on a key. What the arguments point to outlives the request.
//   room  for the first bytes of the value
[[nodiscard, gnu::always_inline]] inline TableRequest<allocator::FindEntry> finding(
    const TablePlace& place, Bytes key, Room room) noexcept {
    return {request_of(place, key, room.size()), {key}, room};
}

[[nodiscard, gnu::always_inline]] inline allocator::PutWords words_of(const Put& put) noexcept {
    return {put.mode, {}, static_cast<std::uint32_t>(put.expected.size())};
}

[[nodiscard, gnu::always_inline]] inline TableRequest<allocator::PutEntry> putting(
    const TablePlace& place, const Put& put) noexcept {
    return {{request_of(place, put.key, put.value.size()), words_of(put)},
            {put.key, put.value, put.expected}};
}

[[nodiscard, gnu::always_inline]] inline TableRequest<allocator::EraseEntry> erasing(
    const TablePlace& place, Bytes key) noexcept {
    return {request_of(place, key, 0), {key}};
}

[[nodiscard, gnu::always_inline]] inline TableRequest<allocator::ChangeEntry> changing(
    const TablePlace& place, Bytes key, const ChangeWords& words) noexcept {
    return {{request_of(place, key, 0), words}, {key}};
}

class TableCalls {
public:
    //   gma, allocator  outlive this
    TableCalls(gma::Gma& gma, Allocator& allocator) noexcept : gma_(gma), allocator_(allocator) {}

    // Finds a key, and copies its value into `room`, as much as fits. done, absent
    base::Result<EntryResult> find(const TablePlace& place, Bytes key, Room room);

    // Does so for the entry of a record.
    base::Result<EntryResult> read(const TablePlace& place, const EntryName& entry, Room room);

    // See table::Insertion::put.
    base::Result<EntryResult> put(const TablePlace& place, const Put& put);

    // done, absent
    base::Result<EntryResult> erase(const TablePlace& place, Bytes key);
    base::Result<EntryResult> erase_record(const TablePlace& place, const EntryName& entry);

    // See allocator::ChangeWords.
    base::Result<EntryResult> change(const TablePlace& place, Bytes key, const ChangeWords& words);

    // See allocator::NextOfKey. done, absent
    base::Result<allocator::NextFound> next_of_key(const TablePlace& place,
                                                   Bytes key,
                                                   const table::WalkPlace& after,
                                                   std::uint32_t wanted);

    // The process of a table's heap.   table  an address in the job
    [[nodiscard]] std::uint32_t process_of(GlobalAddress table) const noexcept {
        return static_cast<std::uint32_t>(gma_.space().layout().process(table));
    }

    [[nodiscard]] gma::Gma& gma() noexcept { return gma_; }

    [[nodiscard]] Allocator& allocator() noexcept { return allocator_; }

    // The tables of a heap of this node, for one call of this thread.
    //   thread  the calling thread's number among those of its process: of a hazard line that it has
    //   place   names a table of the heap
    template <typename Tables>
    class TablesHere : public allocator::TablesOf<Tables> {
    public:
        [[gnu::always_inline]] TablesHere(std::uint32_t thread, const TablePlace& place) noexcept
            : allocator::TablesOf<Tables>(
                  *place.heap, thread, place.table - table::offset_of(place.block)),
              table_(this->tables()->is_table(place.block, place.id) ? place.block : 0) {}

        // 0: no table of this identity is there.
        [[nodiscard]] table::BlockNumber table() const noexcept { return table_; }

    private:
        table::BlockNumber table_;
    };

    using Here = TablesHere<allocator::NodeTables>;
    using Finding = TablesHere<allocator::NodeFinder>;

    // Runs an operation inline, if the table is on this node and was used before; else returns
    // false, with nothing done.
    //   line     the calling thread's own
    //   output   becomes that of the operation
    //   request  makes its TableRequest from the place
    template <typename Where, typename Output, typename Request>
    [[nodiscard, gnu::always_inline]] bool run_at_once(const memory::HazardLine& line,
                                                       const TablePlace& place,
                                                       Output& output,
                                                       const Request& request) {
        if (place.heap == nullptr) [[unlikely]]
            return false;
        Where here(gma_.hazards().index_of(line), place);
        if (here.table() == 0) [[unlikely]]
            return false;
        std::size_t tail_bytes = 0;
        if (run_in(here, request(place), output, tail_bytes) != base::Code::ok) [[unlikely]]
            return false;
        if constexpr (requires { output.effect; }) return !table::is_failure(output.effect);
        return true;
    }

    // Runs an operation on the table of a place, wherever that is.
    template <typename Operation>
    base::Result<typename RemoteCall<Operation>::Returned> run(
        const TablePlace& place, const TableRequest<Operation>& request) {
        typename RemoteCall<Operation>::Returned returned;
        base::Code code = base::Code::ok;
        if (place.heap != nullptr) {
            code = run_here(place, request, returned);
        } else {
            auto there =
                RemoteCall<Operation>(gma_, allocator_)
                    .run(process_of(place.table), request.input, request.tail, request.room);
            if (there.is_ok()) {
                returned = there.value();
            } else {
                code = there.failure().code();
                if (code != base::Code::stale && code != base::Code::system) return there;
            }
        }
        if constexpr (requires { returned.output.effect; }) {
            if (returned.output.effect == Effect::no_table) code = base::Code::stale;
            if (returned.output.effect == Effect::damaged) code = base::Code::system;
        }
        if (code == base::Code::ok) [[likely]]
            return returned;
        return refusal(place, request, code);
    }

    // "the table was destroyed": stale
    [[nodiscard]] static base::Status no_table(const TablePlace& place);

    // The failure for table::Effect::damaged: system.   container  or one of its tables
    [[nodiscard]] static base::Status damage(GlobalAddress container);

    // Copies a value found by find() or an operation, and then checks that the entry still has it.
    // is_whole 0: it was erased or replaced while it was copied.
    base::Result<EntryResult> fetch_value(const TablePlace& place,
                                          const EntryResult& found,
                                          Room room);

    base::Status no_room(const TablePlace& place, std::uint64_t bytes);

private:
    template <typename Where, typename Operation>
    [[gnu::always_inline]] static base::Code run_in(Where& here,
                                                    const TableRequest<Operation>& request,
                                                    typename Operation::Output& output,
                                                    std::size_t& tail_bytes) {
        local::ResultTail following(request.room);
        local::OperationReply<typename Operation::Output> reply{output, following};
        const typename Operation::Call call{request.input, request.tail};
        if constexpr (requires { Operation::check_fields(call); }) {
            if (!Operation::check_fields(call)) return base::Code::argument;
        }
        const base::Code code = Operation::on(here, here.table(), call, reply);
        tail_bytes = following.used();
        return code;
    }

    template <typename Operation>
    base::Code run_here(const TablePlace& place,
                        const TableRequest<Operation>& request,
                        typename RemoteCall<Operation>::Returned& returned) {
        local::Hazards::Lease lease(gma_.hazards());
        Here here(gma_.hazards().index_of(lease.line()), place);
        if (here.table() == 0) [[unlikely]]
            return base::Code::stale;
        return run_in(here, request, returned.output, returned.tail_bytes);
    }

    // The failure of an operation.
    template <typename Operation>
    [[nodiscard, gnu::cold]] base::Status refusal(const TablePlace& place,
                                                  const TableRequest<Operation>& request,
                                                  base::Code code) {
        if (code == base::Code::stale) return no_table(place);
        if (code == base::Code::system) return damage(place.table);
        typename Operation::Output output;
        return gma_.invoke_failure(
            RemoteCall<Operation>::request(process_of(place.table), request.input,
                                           local::parts_of(request.tail), output),
            code);
    }

    template <typename Operation>
    base::Result<EntryResult> run_on_entry(const TablePlace& place,
                                           const TableRequest<Operation>& request,
                                           std::uint64_t bytes = 0);
    base::Result<EntryResult> find_by_long_key(const TablePlace& place, Bytes key, Room room);
    base::Result<EntryResult> put_block(const TablePlace& place, const Put& put);
    base::Result<allocator::LentBlock> stage(std::uint32_t process, const Put& put);

    gma::Gma& gma_;
    Allocator& allocator_;
};

}  // namespace acp::data
