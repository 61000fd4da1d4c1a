// SPDX-License-Identifier: BSD-3-Clause
// Here: by the calling thread. There: by the gateway of the owner's node.
#include "data/table_calls.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "data/ask.hpp"
#include "data/walk_reader.hpp"

#include "allocator/entry_batch.hpp"

namespace acp::data {

using allocator::EntryRequest;
using base::Code;
using base::Result;
using base::Status;
using table::BlockNumber;
using Record = table::EntryRecord<std::atomic>;

namespace {

EntryRequest request_of(const TablePlace& place,
                        std::size_t key_bytes,
                        std::size_t value_bytes) noexcept {
    return {{place.table, place.id},
            place.hash,
            static_cast<std::uint32_t>(key_bytes),
            static_cast<std::uint32_t>(
                std::min<std::size_t>(value_bytes, std::numeric_limits<std::uint32_t>::max()))};
}

EntryResult absent() noexcept {
    EntryResult none;
    none.effect = Effect::absent;
    return none;
}

}  // namespace

Status too_long() {
    return {Code::argument, "keys and values have less than 4 GiB"};
}

Status key_too_long_to_change(std::size_t bytes) {
    return {Code::limit, "a key of " + std::to_string(bytes) +
                             " bytes is too long for its value to be changed: " +
                             std::to_string(changed_key_bytes_max) + " bytes are the most"};
}

Status no_such_count(Bytes key, std::uint64_t count) {
    constexpr std::size_t shown_max = 64;
    const std::size_t shown = std::min(key.size(), shown_max);
    std::string text = "key \"" +
                       base::printable({reinterpret_cast<const char*>(key.data()), shown}) + "\"" +
                       (shown < key.size() ? "..." : "");
    if (count != 0) text += " of count " + std::to_string(count);
    return {Code::argument,
            text + ": the number to add is 0, or the count would be 2^64 - 1 or more"};
}

Status TableCalls::no_table(const TablePlace& place) {
    return {Code::stale, "the table at " + base::hex(place.table) + " was destroyed"};
}

Status TableCalls::damage(GlobalAddress container) {
    return {Code::system, "the words of the container at " + base::hex(container) +
                              " contradict each other: the program has overwritten them "
                              "(acp_heap_check tells more)"};
}

Status TableCalls::no_room(const TablePlace& place, std::uint64_t bytes) {
    return allocator_.no_room(process_of(place.table), bytes);
}

// run(Here&) -> EntryResult whose record is a block number.
template <typename Run>
Result<EntryResult> TableCalls::run_here(const TablePlace& place, const Run& run) {
    local::Hazards::Lease lease(gma_.hazards());
    Here here(*place.heap, gma_.hazards().index_of(lease.line()), place);
    if (here.table() == 0) return no_table(place);
    EntryResult result = run(here);
    if (result.effect == Effect::damaged) return damage(place.table);
    result.record = here.address(result.record);
    return result;
}

// An operation whose result is an EntryResult, and a value.
Result<EntryResult> TableCalls::ask_for_value(const TablePlace& place,
                                              std::uint32_t operation,
                                              Bytes arguments,
                                              Room room) {
    OperationRoom told;  // NOLINT: written as far as read
    std::uint32_t told_bytes = 0;
    auto status =
        ask(gma_, {process_of(place.table), operation, arguments, Room(told), &told_bytes});
    if (!status.is_ok()) return status;
    EntryResult result;
    std::memcpy(&result, told.data(), sizeof result);
    if (result.effect == Effect::no_table) return no_table(place);
    if (result.effect == Effect::damaged) return damage(place.table);
    if (result.effect != Effect::done) return result;
    if (result.is_whole == 0) return fetch_value(place, result, room);
    const std::size_t bytes = std::min<std::size_t>(told_bytes - sizeof result, room.size());
    if (bytes != 0) std::memcpy(room.data(), told.data() + sizeof result, bytes);
    return result;
}

EntryResult TableCalls::erase_in(Here& here, const TablePlace& place, Bytes key) {
    EntryResult told;
    told.effect = here.tables().with_room(
        [&] { return here.tables()->erase(here.table(), key_at(place, key)); });
    return told;
}

EntryResult TableCalls::change_in(Here& here,
                                  const TablePlace& place,
                                  Bytes key,
                                  const ChangeWords& words) {
    return allocator::change_entry(here.tables(), here.table(), key_at(place, key), words);
}

Result<EntryResult> TableCalls::find(const TablePlace& place, Bytes key, Room room) {
    if (place.heap != nullptr) {
        return run_here(place, [&](Here& here) { return find_in(here, place, key, room); });
    }
    for (;;) {
        OperationMessage message;
        message.add(request_of(place, key.size(), room.size())).add(key);
        if (!message.is_whole()) return find_by_long_key(place, key, room);
        auto found = ask_for_value(place, allocator::entry_find_number, message.bytes(), room);
        // A value that was replaced while it was copied in pieces is looked up again.
        if (!found.is_ok() || found.value().is_whole != 0) return found;
    }
}

Result<EntryResult> TableCalls::read(const TablePlace& place, GlobalAddress record, Room room) {
    if (place.heap != nullptr) {
        return run_here(place, [&](Here& here) {
            EntryResult told;
            told.effect = here.tables()->find_record(
                here.table(), place.hash, here.block_at(record),
                [&](const char* value, std::uint32_t bytes, BlockNumber block) {
                    told.value_bytes = bytes;
                    told.record = block;
                    const std::size_t some = std::min<std::size_t>(bytes, room.size());
                    if (some != 0) std::memcpy(room.data(), value, some);
                });
            return told;
        });
    }
    const allocator::RecordRequest request{
        {place.table, place.id}, place.hash, record, room.size()};
    auto result = ask_for_value(place, allocator::entry_read_number,
                                std::as_bytes(std::span(&request, 1)), room);
    if (result.is_ok() && result.value().is_whole == 0) result.value().effect = Effect::absent;
    return result;
}

// is_whole 0: it was erased or replaced while it was copied.
Result<EntryResult> TableCalls::fetch_value(const TablePlace& place,
                                            const EntryResult& found,
                                            Room room) {
    EntryResult result = found;
    const std::size_t some = std::min<std::size_t>(found.value_bytes, room.size());
    if (auto status = get(gma_, room.data(), found.record + Record::head_bytes, some);
        !status.is_ok()) {
        return status;
    }
    const allocator::RecordRequest request{{place.table, place.id}, place.hash, found.record, 0};
    EntryResult now;
    auto status =
        ask_whole(place, allocator::entry_read_number, std::as_bytes(std::span(&request, 1)), now);
    if (!status.is_ok()) return status;
    result.is_whole = now.effect == Effect::done ? 1 : 0;
    return result;
}

// An operation whose result is an EntryResult alone.
Status TableCalls::ask_whole(const TablePlace& place,
                             std::uint32_t operation,
                             Bytes arguments,
                             EntryResult& result) {
    OperationRoom told;  // NOLINT: written as far as read
    auto status = ask(gma_, {process_of(place.table), operation, arguments, Room(told), nullptr});
    if (!status.is_ok()) return status;
    std::memcpy(&result, told.data(), sizeof result);
    if (result.effect == Effect::damaged) return damage(place.table);
    return result.effect == Effect::no_table ? no_table(place) : Status();
}

// Allocates a block of the owner's heap, and writes key and value into it in the layout of a
// record.
Result<allocator::LentBlock> TableCalls::stage(std::uint32_t process, const Put& put) {
    const auto value_bytes = static_cast<std::uint32_t>(put.value.size());
    auto block = allocator_.borrow(
        process, Record::head_bytes + Record::rounded(value_bytes) + put.key.size());
    if (!block.is_ok()) return block;
    const GlobalAddress value_at = block.value().address + Record::head_bytes;
    const GlobalAddress key_at = value_at + Record::rounded(value_bytes);
    auto status = data::put(gma_, value_at, put.value.data(), put.value.size());
    if (status.is_ok()) status = data::put(gma_, key_at, put.key.data(), put.key.size());
    if (status.is_ok()) return block;
    allocator_.give_back(block.value());
    return status;
}

Result<EntryResult> TableCalls::put_block_there(const TablePlace& place, const Put& put) {
    const std::uint32_t process = process_of(place.table);
    auto block = stage(process, put);
    if (!block.is_ok()) return std::move(block).failure();
    allocator::BlockWords words{};
    words.put.mode = put.mode;
    words.put.expected_bytes = static_cast<std::uint32_t>(put.expected.size());
    words.block = block.value();
    OperationMessage message;
    message.add(request_of(place, put.key.size(), put.value.size())).add(words).add(put.expected);
    EntryResult result;
    auto status = ask_whole(place, allocator::entry_put_block_number, message.bytes(), result);
    if (!status.is_ok()) {
        allocator_.give_back(block.value());  // if the operation did not take it
        return status;
    }
    return result;
}

Result<EntryResult> TableCalls::put_there(const TablePlace& place, const Put& put) {
    allocator::PutWords words;
    words.mode = put.mode;
    words.expected_bytes = static_cast<std::uint32_t>(put.expected.size());
    OperationMessage message;
    message.add(request_of(place, put.key.size(), put.value.size()))
        .add(words)
        .add(put.key)
        .add(put.value)
        .add(put.expected);
    if (!message.is_whole()) return put_block_there(place, put);
    EntryResult result;
    auto status = ask_whole(place, allocator::entry_put_number, message.bytes(), result);
    if (!status.is_ok()) return status;
    return result;
}

Result<EntryResult> TableCalls::put(const TablePlace& place, const Put& put) {
    if (is_too_long(put.value) || is_too_long(put.expected)) return too_long();
    if (put.expected.size() > compared_value_bytes_max) {
        return Status(Code::limit, "a value of " + std::to_string(put.expected.size()) +
                                       " bytes is too long to be compared: " +
                                       std::to_string(compared_value_bytes_max) +
                                       " bytes are the most");
    }
    auto result = place.heap == nullptr
                      ? put_there(place, put)
                      : run_here(place, [&](Here& here) { return put_in(here, place, put); });
    if (result.is_ok() && result.value().effect == Effect::no_room) [[unlikely]] {
        return no_room(place, Record::head_bytes + put.key.size() + put.value.size());
    }
    if (result.is_ok()) result.value().value_bytes = static_cast<std::uint32_t>(put.value.size());
    return result;
}

Result<EntryResult> TableCalls::erase(const TablePlace& place, Bytes key) {
    if (place.heap != nullptr) {
        auto result = run_here(place, [&](Here& here) { return erase_in(here, place, key); });
        if (result.is_ok() && result.value().effect == Effect::no_room) return no_room(place, 0);
        return result;
    }
    OperationMessage message;
    message.add(request_of(place, key.size(), 0)).add(key);
    while (!message.is_whole()) {
        auto found = find_by_long_key(place, key, {});
        if (!found.is_ok() || found.value().effect != Effect::done) return found;
        auto erased = erase_record(place, found.value().record);
        // Otherwise its value was replaced since the lookup, or it was erased.
        if (!erased.is_ok() || erased.value().effect == Effect::done) return erased;
    }
    EntryResult result;
    auto status = ask_whole(place, allocator::entry_erase_number, message.bytes(), result);
    if (!status.is_ok()) return status;
    if (result.effect == Effect::no_room) return no_room(place, 0);
    return result;
}

Result<EntryResult> TableCalls::erase_record(const TablePlace& place, GlobalAddress record) {
    const allocator::RecordRequest request{{place.table, place.id}, place.hash, record, 0};
    EntryResult result;
    auto status = ask_whole(place, allocator::entry_erase_record_number,
                            std::as_bytes(std::span(&request, 1)), result);
    if (!status.is_ok()) return status;
    if (result.effect == Effect::no_room) return no_room(place, 0);
    return result;
}

Result<EntryResult> TableCalls::change(const TablePlace& place,
                                       Bytes key,
                                       const ChangeWords& words) {
    if (key.size() > changed_key_bytes_max) return key_too_long_to_change(key.size());
    auto result = [&]() -> Result<EntryResult> {
        if (place.heap != nullptr) {
            return run_here(place, [&](Here& here) { return change_in(here, place, key, words); });
        }
        OperationMessage message;
        message.add(request_of(place, key.size(), 0)).add(words).add(key);
        EntryResult told;
        auto status = ask_whole(place, allocator::entry_change_number, message.bytes(), told);
        if (!status.is_ok()) return status;
        return told;
    }();
    if (result.is_ok() && result.value().effect == Effect::no_room) {
        return no_room(place, Record::head_bytes + key.size() + sizeof(std::uint64_t));
    }
    if (result.is_ok() && result.value().effect == Effect::out_of_range)
        return no_such_count(key, result.value().number);
    return result;
}

Result<EntryResult> TableCalls::next_of_key(const TablePlace& place,
                                            Bytes key,
                                            table::WalkPlace& after) {
    struct Told {
        EntryResult result;
        table::WalkPlace place;
    };

    if (key.size() > walked_key_bytes_max) {
        return Status(Code::limit, "a key of " + std::to_string(key.size()) +
                                       " bytes is too long to be looked for one entry after the "
                                       "other: " +
                                       std::to_string(walked_key_bytes_max) +
                                       " bytes are the most");
    }
    if (place.heap != nullptr) {
        return run_here(place, [&](Here& here) {
            EntryResult found;
            found.effect = Effect::absent;
            const table::Walked walked = here.tables()->walk_key(
                here.table(), key_at(place, key), after, [&](const table::VisitedEntry& entry) {
                    found.effect = Effect::done;
                    found.value_bytes = entry.value_bytes;
                    found.record = entry.record;
                    after = entry.place;
                    return table::Visited::stop_here;
                });
            if (walked == table::Walked::damaged) found.effect = Effect::damaged;
            return found;
        });
    }
    OperationMessage message;
    message.add(request_of(place, key.size(), 0)).add(after).add(key);
    Told told;
    auto status =
        ask(gma_, {process_of(place.table), allocator::entry_next_of_key_number, message.bytes(),
                   std::as_writable_bytes(std::span(&told, 1)), nullptr});
    if (!status.is_ok()) return status;
    if (told.result.effect == Effect::damaged) return damage(place.table);
    after = told.place;
    return told.result;
}

// Finds a key that fits into no message: walks over the entries of its hash, and reads their keys.
Result<EntryResult> TableCalls::find_by_long_key(const TablePlace& place, Bytes key, Room room) {
    const std::uint64_t position = table::Positions(place.slots).of(place.hash);
    std::vector<std::byte> other(key.size());
    WalkReader reader(gma_, process_of(place.table), {place.table, place.id}, {position, 0});
    for (;;) {
        if (auto status = reader.fetch({1, false}); !status.is_ok()) return status;
        WalkReader::Entry entry;
        if (!reader.take(entry)) {
            if (reader.has_more() && reader.after().position == position) continue;
            return absent();
        }
        if (entry.head.place.position != position) return absent();
        if (entry.head.key_bytes != key.size()) continue;
        const GlobalAddress key_at =
            entry.head.record + Record::head_bytes + Record::rounded(entry.head.value_bytes);
        if (auto status = get(gma_, other.data(), key_at, other.size()); !status.is_ok())
            return status;
        if (!std::equal(key.begin(), key.end(), other.begin())) continue;
        auto found = read(place, entry.head.record, room);
        if (!found.is_ok() || found.value().effect == Effect::done) return found;
        // It was replaced, or erased, since the walk returned it.
        reader = WalkReader(gma_, process_of(place.table), {place.table, place.id}, {position, 0});
    }
}

}  // namespace acp::data
