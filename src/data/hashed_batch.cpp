// SPDX-License-Identifier: BSD-3-Clause
// Items that cannot be run in a batch are run alone at the end: long keys and values, and keys
// whose table had moved since the copy of the directory was made.
#include "data/hashed_batch.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

namespace acp::data {

using allocator::BatchEntry;
using allocator::EntryBatch;
using base::Code;
using base::Result;
using base::Status;

namespace {

// Longer keys are refused when they are run alone.
constexpr std::size_t key_bytes_most = std::numeric_limits<std::uint32_t>::max();

std::uint32_t in_32_bits(std::size_t bytes) noexcept {
    return static_cast<std::uint32_t>(
        std::min<std::size_t>(bytes, std::numeric_limits<std::uint32_t>::max()));
}

void store(BatchItem& item, const EntryResult& result, const std::byte* value) noexcept {
    // Field by field: copying a result just after its parts were stored would stall the processor.
    item.result.effect = result.effect;
    item.result.is_whole = result.is_whole;
    item.result.was_there = result.was_there;
    item.result.value_bytes = result.value_bytes;
    item.result.record = result.record;
    item.result.number = result.number;
    item.is_done = true;
    if (value == nullptr) return;
    const std::size_t some = std::min<std::size_t>(result.value_bytes, item.room.size());
    if (some != 0) std::memcpy(item.room.data(), value, some);
}

}  // namespace

Status HashedBatch::run(std::size_t first_entry) {
    aim();
    run_once(room_.aimed);
    Status first;
    for (std::size_t i = 0; i < room_.items.size(); ++i) {
        BatchItem& item = room_.items[i];
        if (item.is_done && !table::is_failure(item.result.effect)) continue;
        auto status = run_alone(item);
        if (status.is_ok() || !first.is_ok()) continue;
        first = std::move(status).within("entry " + std::to_string(first_entry + i));
    }
    return first;
}

// Finds the tables of keys; keys of one table become neighbours, in their order.
void HashedBatch::aim() {
    room_.aimed.clear();
    bool is_in_order = true;
    std::uint64_t last = 0;
    for (BatchItem& item : room_.items) {
        item.is_done = false;
        if (item.key.size() > key_bytes_most || item.value.size() > key_bytes_most) continue;
        Aimed& one = room_.aimed.emplace_back();
        one.item = &item;
        if (!hashed_.directories().find(name_, item.key, one.place)) [[unlikely]] {
            auto directory = hashed_.directories().fetch(name_);
            if (!directory.is_ok()) {  // reported when it is run alone
                room_.aimed.pop_back();
                continue;
            }
            one.place = hashed_.directories().place_in(directory.value(), item.key);
        }
        is_in_order = is_in_order && last <= one.place.index;
        last = one.place.index;
    }
    if (!is_in_order) sort_by_table();
}

// A counting sort: there are few tables.
void HashedBatch::sort_by_table() {
    room_.aimed.swap(room_.unsorted);
    std::uint64_t tables = 0;
    for (const Aimed& one : room_.unsorted) tables = std::max(tables, one.place.index + 1);
    room_.begins.assign(tables + 1, 0);
    for (const Aimed& one : room_.unsorted) ++room_.begins[one.place.index + 1];
    for (std::size_t i = 1; i < room_.begins.size(); ++i) room_.begins[i] += room_.begins[i - 1];
    room_.aimed.resize(room_.unsorted.size());
    for (const Aimed& one : room_.unsorted) room_.aimed[room_.begins[one.place.index]++] = one;
}

// Runs the keys of tables of this node.
void HashedBatch::run_here(std::span<const Aimed> aimed) {
    for (std::size_t begin = 0, end = 0; begin < aimed.size(); begin = end) {
        while (end < aimed.size() && end - begin < allocator::batch_max &&
               aimed[end].place.index == aimed[begin].place.index) {
            ++end;
        }
        if (aimed[begin].place.heap != nullptr) run_at_table(aimed.subspan(begin, end - begin));
    }
}

void HashedBatch::run_at_table(std::span<const Aimed> aimed) {
    local::Hazards& hazards = hashed_.tables().gma().hazards();
    local::Hazards::Lease lease(hazards);
    const TablePlace& place = aimed.front().place;
    TableCalls::Here here(hazards.index_of(lease.line()), place);
    if (here.table() == 0) return;
    EntryBatch batch(kind_);
    for (const Aimed& one : aimed) {
        const BatchItem& item = *one.item;
        EntryBatch::One& next = batch.next();
        next.key = key_at(one.place, item.key);
        next.value = {item.value.data(), in_32_bits(item.value.size())};
        next.operand = item.operand;
        batch.add_next();
    }
    batch.run(here.tables(), here.table(),
              [&](std::uint32_t index, EntryResult result, const char* value) {
                  result.record = here.address_of(result.record);
                  store(*aimed[index].item, result, reinterpret_cast<const std::byte*>(value));
                  return true;
              });
}

// Packs keys of one table into a message. Returns how many; 0: not even one fits.
std::size_t HashedBatch::send(std::span<const Aimed> aimed, Asks& asks, BatchMessage& sent) {
    using Call = RemoteCall<allocator::RunBatch>;
    std::array<std::byte, allocator::RunBatch::tail_max> entries;  // NOLINT: written as far as read
    const TablePlace& place = aimed.front().place;
    const std::size_t most =
        kind_ == BatchKind::find ? allocator::batch_max : allocator::batch_changes_max;
    const bool has_values = allocator::stores_values(kind_);
    std::size_t used = 0;
    const auto append = [&](const void* bytes, std::size_t size) {
        if (size != 0) std::memcpy(entries.data() + used, bytes, size);
        used += size;
    };
    std::size_t count = 0;
    for (; count < std::min(most, aimed.size()); ++count) {
        const Aimed& one = aimed[count];
        const BatchItem& item = *one.item;
        if (one.place.index != place.index || item.is_done) break;
        const Bytes value = has_values ? item.value : Bytes();
        const std::size_t wanted = has_values ? item.value.size() : item.room.size();
        const std::size_t needed = sizeof(BatchEntry) + item.key.size() + value.size();
        if (needed > entries.size() - used) break;
        const BatchEntry entry{one.place.hash, item.operand, in_32_bits(item.key.size()),
                               in_32_bits(wanted)};
        append(&entry, sizeof entry);
        append(item.key.data(), item.key.size());
        append(value.data(), value.size());
    }
    if (count == 0) return 0;
    sent.count = count;
    sent.told.resize(allocator::RunBatch::result_tail_max);
    asks.add(Call::request(hashed_.tables().process_of(place.table),
                           {{place.table, place.id}, kind_, static_cast<std::uint32_t>(count)},
                           {Bytes(entries).first(used)}, sent.nothing, sent.told, sent.told_bytes));
    return count;
}

// Stores the results in a message; keys without a result are sent again.
void HashedBatch::receive(std::span<const Aimed> aimed, const BatchMessage& sent) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < sent.count; ++i) {
        EntryResult result;
        if (sent.told_bytes - at < sizeof result) return;
        std::memcpy(&result, sent.told.data() + at, sizeof result);
        at += sizeof result;
        const bool has_bytes =
            kind_ == BatchKind::find && result.effect == Effect::done && result.is_whole != 0;
        const std::size_t bytes = has_bytes ? result.value_bytes : 0;
        if (sent.told_bytes - at < bytes) return;  // a faulty gateway has cut the answer
        const std::byte* const value = has_bytes ? sent.told.data() + at : nullptr;
        at += bytes;
        BatchItem& item = *aimed[sent.first + i].item;
        store(item, result, value);
        // A value that fits into no message is fetched alone.
        if (result.effect == Effect::done && result.is_whole == 0) {
            item.result.effect = Effect::no_room;
        }
    }
}

// Sends the unfinished keys of tables on other nodes.
void HashedBatch::send_all(std::span<const Aimed> aimed,
                           Asks& asks,
                           std::deque<BatchMessage>& all) {
    const gma::Gma& gma = hashed_.tables().gma();
    for (std::size_t i = 0; i < aimed.size();) {
        const std::uint32_t process = hashed_.tables().process_of(aimed[i].place.table);
        std::size_t count = 0;
        if (!aimed[i].item->is_done && !gma.space().is_on_node(process)) {
            BatchMessage& sent = all.emplace_back();
            sent.first = i;
            count = send(aimed.subspan(i), asks, sent);
        }
        i += std::max<std::size_t>(count, 1);
    }
}

// Whether keys are left for a further message.
bool HashedBatch::receive_all(std::span<const Aimed> aimed, const std::deque<BatchMessage>& all) {
    bool goes_on = false;
    for (const BatchMessage& sent : all) {
        receive(aimed, sent);
        // Otherwise an answer without a whole result would be asked for again without end.
        const bool is_any_done = sent.count != 0 && aimed[sent.first].item->is_done;
        goes_on = goes_on || (is_any_done && !aimed[sent.first + sent.count - 1].item->is_done);
    }
    return goes_on;
}

// Runs each item once; keys of this node while messages are in flight. Keys without a result are
// sent again as long as messages return results.
void HashedBatch::run_once(std::span<const Aimed> aimed) {
    std::deque<BatchMessage> all;
    Asks asks(hashed_.tables().gma());
    send_all(aimed, asks, all);
    run_here(aimed);
    for (;;) {
        (void)asks.wait();  // a failed key is run alone, which returns the reason
        if (!receive_all(aimed, all)) return;
        all.clear();
        send_all(aimed, asks, all);
    }
}

Status HashedBatch::run_alone(BatchItem& item) {
    item.is_done = false;
    auto result = hashed_.at_table(name_, item.key,
                                   [&](const TablePlace& place) { return call(place, item); });
    if (!result.is_ok()) return std::move(result).failure();
    item.result = result.value();
    item.is_done = true;
    return {};
}

Result<EntryResult> HashedBatch::call(const TablePlace& place, BatchItem& item) {
    using Change = allocator::ChangeKind;
    TableCalls& calls = hashed_.tables();
    switch (kind_) {
        case BatchKind::find:
            return calls.find(place, item.key, item.room);
        case BatchKind::insert:
            return calls.put(place, {item.key, item.value, PutMode::insert, {}});
        case BatchKind::assign:
            return calls.put(place, {item.key, item.value, PutMode::assign, {}});
        case BatchKind::erase:
            return calls.erase(place, item.key);
        case BatchKind::fetch_add_or_insert:
            return calls.change(place, item.key, {Change::fetch_add_or_insert, item.operand, 0});
        case BatchKind::add_to_count:
            break;
    }
    return calls.change(place, item.key, {Change::add_to_count, item.operand, 0});
}

}  // namespace acp::data
