// SPDX-License-Identifier: BSD-3-Clause
// Calls on entries of one table. If the table is mapped here the calling thread works on it; else
// the gateway of the owner's node, in one round trip, or in three if key and value are too long for
// one message: a block in the owner's heap is filled first and then becomes the entry. Any thread.
// Each call blocks while it waits for another node. Errors, of all calls: stale (no table of this
// identity is there), memory (no room in the owner's heap; the table is as before), peer, argument
// (a value of 4 GiB or more), system (the program has overwritten the table's words). Keys are shorter: Hashed::at_table refuses others before it hashes
// them.
// Tests: tests/conformance/hashed_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "data/directory.hpp"
#include "data/operation_message.hpp"
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

[[nodiscard]] base::Status too_long();

// Limits of one message to another node. They hold on the own node too, so that a program that runs
// on one node does not fail on several.
inline constexpr std::size_t changed_key_bytes_max =
    message_bytes - sizeof(allocator::EntryRequest) - sizeof(ChangeWords);
inline constexpr std::size_t walked_key_bytes_max =
    message_bytes - sizeof(allocator::EntryRequest) - sizeof(table::WalkPlace);
inline constexpr std::size_t compared_value_bytes_max =
    message_bytes - sizeof(allocator::EntryRequest) - sizeof(allocator::BlockWords);

// The failure to change the value of a key with more bytes than changed_key_bytes_max: limit.
[[nodiscard]] base::Status key_too_long_to_change(std::size_t bytes);

// The failure for table::Effect::out_of_range: argument.
//   count  of the key before the call; 0: not known
[[nodiscard]] base::Status no_such_count(Bytes key, std::uint64_t count);

// Converts a key to the table's form.   key  less than 4 GiB
[[nodiscard]] inline table::EntryKey key_at(const TablePlace& place, Bytes key) noexcept {
    return {key.data(), static_cast<std::uint32_t>(key.size()), place.hash};
}

[[nodiscard]] inline table::EntryValue value_of(Bytes value) noexcept {
    return {value.data(), static_cast<std::uint32_t>(value.size())};
}

class TableCalls {
public:
    //   gma, allocator  outlive this
    TableCalls(gma::Gma& gma, Allocator& allocator) noexcept : gma_(gma), allocator_(allocator) {}

    // Finds a key, and copies its value into `room`, as much as fits. done, absent
    base::Result<EntryResult> find(const TablePlace& place, Bytes key, Room room);

    // Does so for the entry of a record.
    base::Result<EntryResult> read(const TablePlace& place, GlobalAddress record, Room room);

    struct Put {
        Bytes key;
        Bytes value;
        PutMode mode = PutMode::insert;
        Bytes expected;  // PutMode::replace
    };

    // See table::Insertion::put.
    base::Result<EntryResult> put(const TablePlace& place, const Put& put);

    // done, absent
    base::Result<EntryResult> erase(const TablePlace& place, Bytes key);
    base::Result<EntryResult> erase_record(const TablePlace& place, GlobalAddress record);

    // See allocator::ChangeWords.
    base::Result<EntryResult> change(const TablePlace& place, Bytes key, const ChangeWords& words);

    // The entry of a key behind a place of a walk, which becomes its place. done, absent
    base::Result<EntryResult> next_of_key(const TablePlace& place,
                                          Bytes key,
                                          table::WalkPlace& after);

    // The process of a table's heap.   table  an address in the job
    [[nodiscard]] std::uint32_t process_of(GlobalAddress table) const noexcept {
        return static_cast<std::uint32_t>(gma_.space().layout().process(table));
    }

    [[nodiscard]] gma::Gma& gma() noexcept { return gma_; }

    [[nodiscard]] Allocator& allocator() noexcept { return allocator_; }

    // Tables of a heap of this node, for one call of this thread.
    //   Tables  allocator::NodeTables, or NodeFinder for a call that only finds
    template <typename Tables>
    class HereBy {
    public:
        //   thread  the calling thread's number among those of its process: of a hazard line that
        //           it has
        //   place   names a table of the heap
        [[gnu::always_inline]] HereBy(allocator::NodeHeap& heap,
                                      std::uint32_t thread,
                                      const TablePlace& place) noexcept
            : start_(place.table - table::offset_of(place.block)),
              tables_(heap, thread),
              table_(tables_->is_table(place.block, place.id) ? place.block : 0) {}

        [[gnu::always_inline]] ~HereBy() = default;
        HereBy(const HereBy&) = delete;
        HereBy& operator=(const HereBy&) = delete;

        // 0: no table of this identity is there.
        [[nodiscard]] table::BlockNumber table() const noexcept { return table_; }

        [[nodiscard]] Tables& tables() noexcept { return tables_; }

        [[nodiscard]] GlobalAddress address(table::BlockNumber block) const noexcept {
            return block == 0 ? 0 : start_ + table::offset_of(block);
        }

        // 0: no block of this heap begins there.
        [[nodiscard]] table::BlockNumber block_at(GlobalAddress address) noexcept {
            const GlobalAddress offset = address - start_;
            return offset < tables_.heap().limit_bytes() && offset % heap::granule_bytes == 0
                       ? table::number_of(offset)
                       : 0;
        }

    private:
        GlobalAddress start_;  // address of the heap's first block
        Tables tables_;
        table::BlockNumber table_;
    };

    using Here = HereBy<allocator::NodeTables>;
    using Finding = HereBy<allocator::NodeFinder>;

    // find(), put(), erase() and change() on the table of a Here or Finding.
    template <typename Where>
    [[gnu::always_inline]] static EntryResult find_in(Where& here,
                                                      const TablePlace& place,
                                                      Bytes key,
                                                      Room room) {
        EntryResult told;
        told.effect = here.tables()->find(
            here.table(), key_at(place, key),
            [&](const char* value, std::uint32_t bytes, table::BlockNumber record) {
                told.value_bytes = bytes;
                told.record = record;
                const std::size_t some = std::min<std::size_t>(bytes, room.size());
                if (some != 0) std::memcpy(room.data(), value, some);
            });
        return told;
    }

    [[gnu::always_inline]] static EntryResult put_in(Here& here,
                                                     const TablePlace& place,
                                                     const Put& put) {
        const table::PutEffect effect = here.tables().with_room([&] {
            return here.tables()->put(here.table(), {key_at(place, put.key), value_of(put.value),
                                                     put.mode, value_of(put.expected), 0});
        });
        EntryResult told;
        told.effect = effect.effect;
        told.was_there = effect.was_there ? 1 : 0;
        told.record = effect.record;
        told.value_bytes = static_cast<std::uint32_t>(put.value.size());
        return told;
    }

    static EntryResult erase_in(Here& here, const TablePlace& place, Bytes key);
    static EntryResult change_in(Here& here,
                                 const TablePlace& place,
                                 Bytes key,
                                 const ChangeWords& words);

    // Calls run(Where&) -> EntryResult, whose record is a block number, if the table is on this
    // node and was used before; else returns false, with nothing done.   line  the calling thread's
    // own
    template <typename Where, typename Run>
    [[nodiscard, gnu::always_inline]] bool run_at_once(const memory::HazardLine& line,
                                                       const TablePlace& place,
                                                       EntryResult& result,
                                                       const Run& run) {
        if (place.heap == nullptr) [[unlikely]]
            return false;
        Where here(*place.heap, gma_.hazards().index_of(line), place);
        if (here.table() == 0) [[unlikely]]
            return false;
        result = run(here);
        result.record = here.address(result.record);
        return !table::is_failure(result.effect);
    }

    // "the table was destroyed": stale
    [[nodiscard]] static base::Status no_table(const TablePlace& place);

    // The failure for table::Effect::damaged: system.   container  or one of its tables
    [[nodiscard]] static base::Status damage(GlobalAddress container);

    // Copies a value found by find() or an operation, and then checks that the entry still has it.
    // absent: it has not.
    base::Result<EntryResult> fetch_value(const TablePlace& place,
                                          const EntryResult& found,
                                          Room room);

    base::Status no_room(const TablePlace& place, std::uint64_t bytes);

private:
    template <typename Run>
    base::Result<EntryResult> run_here(const TablePlace& place, const Run& run);
    base::Result<EntryResult> ask_for_value(const TablePlace& place,
                                            std::uint32_t operation,
                                            Bytes arguments,
                                            Room room);
    base::Status ask_whole(const TablePlace& place,
                           std::uint32_t operation,
                           Bytes arguments,
                           EntryResult& result);
    base::Result<EntryResult> find_by_long_key(const TablePlace& place, Bytes key, Room room);
    base::Result<EntryResult> put_there(const TablePlace& place, const Put& put);
    base::Result<EntryResult> put_block_there(const TablePlace& place, const Put& put);
    base::Result<allocator::LentBlock> stage(std::uint32_t process, const Put& put);

    gma::Gma& gma_;
    Allocator& allocator_;
};

}  // namespace acp::data
