// SPDX-License-Identifier: BSD-3-Clause
// Requests, and what is too long for them.
#include "data/table_calls.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "data/ask.hpp"
#include "data/walk_reader.hpp"

namespace acp::data {

using base::Code;
using base::Result;
using base::Status;
using Record = table::EntryRecord<std::atomic>;

namespace {

EntryResult absent() noexcept {
    EntryResult none;
    none.effect = Effect::absent;
    return none;
}

// The length of an entry's record.
std::uint64_t bytes_of(const Put& put) noexcept {
    return Record::head_bytes + put.key.size() + put.value.size();
}

// "key "abc"", cut.
std::string name_of_key(Bytes key) {
    constexpr std::size_t shown_max = 64;
    const std::size_t shown = std::min(key.size(), shown_max);
    return "key \"" + base::printable({reinterpret_cast<const char*>(key.data()), shown}) + "\"" +
           (shown < key.size() ? "..." : "");
}

}  // namespace

Status too_long(std::uint64_t bytes) {
    return {Code::argument, "keys and values have less than 4 GiB, and this one has " +
                                std::to_string(bytes) + " bytes"};
}

Status key_too_long_to_change(std::size_t bytes) {
    return {Code::limit, "a key of " + std::to_string(bytes) +
                             " bytes is too long for its value to be changed: " +
                             std::to_string(changed_key_bytes_max) + " bytes are the most"};
}

Status no_number(Bytes key) {
    return {Code::argument, name_of_key(key) + ": its value has not 8 bytes"};
}

Status no_such_count(Bytes key, std::uint64_t count, std::uint64_t added) {
    std::string text = name_of_key(key);
    if (count != 0) text += " of count " + std::to_string(count);
    return {Code::argument, text + ": the number to add is " + std::to_string(added) +
                                "; it is at least 1, and the sum is at most 2^64 - 2"};
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

// Runs an operation whose output is an EntryResult. Further errors: memory.
//   bytes  for which there may be no room; 0: the container's own records
template <typename Operation>
Result<EntryResult> TableCalls::run_on_entry(const TablePlace& place,
                                             const TableRequest<Operation>& request,
                                             std::uint64_t bytes) {
    auto returned = run(place, request);
    if (!returned.is_ok()) return std::move(returned).failure();
    const EntryResult& result = returned.value().output;
    if (result.effect == Effect::no_room) [[unlikely]]
        return no_room(place, bytes);
    return result;
}

Result<EntryResult> TableCalls::find(const TablePlace& place, Bytes key, Room room) {
    if (place.heap == nullptr && key.size() > allocator::FindEntry::tail_max)
        return find_by_long_key(place, key, room);
    for (;;) {
        auto found = run_on_entry(place, finding(place, key, room));
        if (!found.is_ok() || found.value().is_whole != 0) return found;
        // A value that was replaced while it was copied in pieces is looked up again.
        found = fetch_value(place, found.value(), room);
        if (!found.is_ok() || found.value().is_whole != 0) return found;
    }
}

Result<EntryResult> TableCalls::read(const TablePlace& place, const EntryName& entry, Room room) {
    auto read = run<allocator::ReadEntry>(
        place,
        {{{place.table, place.id}, place.hash, entry.record, room.size(), entry.mark}, {}, room});
    if (!read.is_ok()) return std::move(read).failure();
    if (read.value().output.is_whole != 0) return read.value().output;
    auto fetched = fetch_value(place, read.value().output, room);
    if (fetched.is_ok() && fetched.value().is_whole == 0) fetched.value().effect = Effect::absent;
    return fetched;
}

Result<EntryResult> TableCalls::fetch_value(const TablePlace& place,
                                            const EntryResult& found,
                                            Room room) {
    EntryResult result = found;
    const std::size_t some = std::min<std::size_t>(found.value_bytes, room.size());
    if (auto status = get(gma_, room.data(), found.record + Record::head_bytes, some);
        !status.is_ok()) {
        return status;
    }
    auto now = run<allocator::ReadEntry>(
        place, {{{place.table, place.id}, place.hash, found.record, 0, found.number}});
    if (!now.is_ok()) return std::move(now).failure();
    result.is_whole = now.value().output.effect == Effect::done ? 1 : 0;
    return result;
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

Result<EntryResult> TableCalls::put_block(const TablePlace& place, const Put& put) {
    auto block = stage(process_of(place.table), put);
    if (!block.is_ok()) return std::move(block).failure();
    const TableRequest<allocator::PutBlock> request{
        {request_of(place, put.key, put.value.size()), words_of(put), block.value()},
        {{}, {}, put.expected}};
    auto ran = run(place, request);
    if (!ran.is_ok()) {
        allocator_.give_back(block.value());  // if the operation did not take it
        return std::move(ran).failure();
    }
    if (ran.value().output.effect == Effect::no_room) return no_room(place, bytes_of(put));
    return ran.value().output;
}

Result<EntryResult> TableCalls::put(const TablePlace& place, const Put& put) {
    if (is_too_long(put.value)) return too_long(put.value.size());
    if (is_too_long(put.expected)) return too_long(put.expected.size());
    if (put.expected.size() > compared_value_bytes_max) {
        return Status(Code::limit, "a value of " + std::to_string(put.expected.size()) +
                                       " bytes is too long to be compared: " +
                                       std::to_string(compared_value_bytes_max) +
                                       " bytes are the most");
    }
    const TableRequest<allocator::PutEntry> request = putting(place, put);
    const bool is_staged =
        place.heap == nullptr && request.tail.bytes() > allocator::PutEntry::tail_max;
    return is_staged ? put_block(place, put) : run_on_entry(place, request, bytes_of(put));
}

Result<EntryResult> TableCalls::erase(const TablePlace& place, Bytes key) {
    const TableRequest<allocator::EraseEntry> request = erasing(place, key);
    while (place.heap == nullptr && key.size() > allocator::EraseEntry::tail_max) {
        auto found = find_by_long_key(place, key, {});
        if (!found.is_ok() || found.value().effect != Effect::done) return found;
        auto erased = erase_record(place, name_in(found.value()));
        // Otherwise its value was replaced since the lookup, or it was erased.
        if (!erased.is_ok() || erased.value().effect == Effect::done) return erased;
    }
    return run_on_entry(place, request);
}

Result<EntryResult> TableCalls::erase_record(const TablePlace& place, const EntryName& entry) {
    return run_on_entry<allocator::EraseRecord>(
        place, {{{place.table, place.id}, place.hash, entry.record, 0, entry.mark}});
}

Result<EntryResult> TableCalls::change(const TablePlace& place,
                                       Bytes key,
                                       const ChangeWords& words) {
    if (key.size() > changed_key_bytes_max) return key_too_long_to_change(key.size());
    auto result = run_on_entry(place, changing(place, key, words),
                               Record::head_bytes + key.size() + sizeof words.operand);
    if (result.is_ok() && result.value().effect == Effect::out_of_range)
        return no_such_count(key, result.value().number, words.operand);
    return result;
}

Result<allocator::NextFound> TableCalls::next_of_key(const TablePlace& place,
                                                     Bytes key,
                                                     const table::WalkPlace& after,
                                                     std::uint32_t wanted) {
    if (key.size() > walked_key_bytes_max) {
        return Status(Code::limit, "a key of " + std::to_string(key.size()) +
                                       " bytes is too long to be looked for one entry after the "
                                       "other: " +
                                       std::to_string(walked_key_bytes_max) +
                                       " bytes are the most");
    }
    auto found = run<allocator::NextOfKey>(place, {{request_of(place, key, wanted), after}, {key}});
    if (!found.is_ok()) return std::move(found).failure();
    return static_cast<const allocator::NextFound&>(found.value().output);
}

// Finds a key that fits into no request: walks over the entries of its hash, and reads their keys.
Result<EntryResult> TableCalls::find_by_long_key(const TablePlace& place, Bytes key, Room room) {
    const std::uint64_t position = table::Positions(place.slots).of(place.hash);
    std::vector<std::byte> other(key.size());
    WalkReader reader(*this, place, {position, 0});
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
        auto found = read(place, {entry.head.record, entry.head.mark()}, room);
        if (!found.is_ok() || found.value().effect == Effect::done) return found;
        // It was replaced, or erased, since the walk returned it.
        reader.go_back({position, 0});
    }
}

}  // namespace acp::data
