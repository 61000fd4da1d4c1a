// SPDX-License-Identifier: BSD-3-Clause
// <acp/hashed.h>: options of new containers, and calls on many keys.
#include "api/hashed.hpp"

#include <cstring>
#include <vector>

#include "allocator/entry_operations.hpp"

namespace acp::api {

using base::Code;
using base::Result;
using base::Status;
using table::Effect;

namespace {

constexpr std::size_t usual_slots = 8;

Result<std::uint32_t> process_of_rank(int rank) {
    const std::uint32_t procs = library().member->procs();
    if (rank < 0 || static_cast<std::uint32_t>(rank) >= procs) {
        return Status(Code::argument, "rank " + std::to_string(rank) + " is not one of 0 to " +
                                          std::to_string(procs - 1));
    }
    return library().gma->space().segment().process_of(static_cast<std::uint32_t>(rank));
}

// The result of the call on one key.
int result_of(BatchKind kind, const data::BatchItem& item) noexcept {
    if (!item.is_done) return -1;
    const Effect effect = item.result.effect;
    switch (kind) {
        case BatchKind::assign:
            return effect == Effect::done ? 0 : -1;
        case BatchKind::find:
        case BatchKind::erase:
        case BatchKind::insert:
            return effect == Effect::done ? 1 : 0;
        case BatchKind::fetch_add_or_insert:
        case BatchKind::add_to_count:
            break;
    }
    if (effect == Effect::no_number) return -1;
    return effect == Effect::done ? 1 : 0;
}

bool is_of_keys_alone(const ContainerName& name) noexcept {
    return name.kind == ContainerKind::set || name.kind == ContainerKind::multiset;
}

// What the entries of a program ask for. Errors: argument.
Status fill(const ContainerName& name,
            BatchKind kind,
            std::span<const acp_entry_t> entries,
            std::vector<data::BatchItem>& items) {
    const bool stores = kind == BatchKind::insert || kind == BatchKind::assign;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const acp_entry_t& entry = entries[i];
        if (entry.key == nullptr && entry.key_size != 0) {
            return {Code::argument, "the key of entry " + std::to_string(i) + " is NULL"};
        }
        items[i].key = bytes_at(entry.key, entry.key_size);
        items[i].operand = entry.number;
        if (is_of_keys_alone(name)) continue;
        if (!stores) {
            items[i].room = room_at(entry.value, entry.value_size);
            continue;
        }
        if (entry.value == nullptr && entry.value_size != 0) {
            auto value = value_of(entry.value, entry.value_size);
            return std::move(value).failure().within("entry " + std::to_string(i));
        }
        items[i].value = bytes_at(entry.value, entry.value_size);
    }
    return {};
}

// What a call on many tells of one entry.
void tell_entry(BatchKind kind, const data::BatchItem& item, acp_entry_t& entry) noexcept {
    entry.result = result_of(kind, item);
    if (kind == BatchKind::find && entry.result == 1) entry.value_size = item.result.value_bytes;
    if (kind == BatchKind::fetch_add_or_insert || kind == BatchKind::add_to_count) {
        entry.number = item.result.number;
    }
}

}  // namespace

Result<data::HashedOptions> options_of(const acp_hashed_options_t& options, ContainerKind kind) {
    const std::uint32_t procs = library().member->procs();
    data::HashedOptions wanted;
    wanted.kind = kind;
    if (options.num_ranks < 0 || static_cast<std::uint32_t>(options.num_ranks) > procs) {
        return Status(Code::argument, "num_ranks is " + std::to_string(options.num_ranks) +
                                          ": it is 0 for all ranks, or 1 to " +
                                          std::to_string(procs));
    }
    const std::uint32_t count =
        options.num_ranks == 0 ? procs : static_cast<std::uint32_t>(options.num_ranks);
    std::vector<bool> is_named(procs);
    for (std::uint32_t i = 0; i < count; ++i) {
        const bool has_list = options.ranks != nullptr && options.num_ranks != 0;
        const int rank = has_list ? options.ranks[i] : static_cast<int>(i);
        auto process = process_of_rank(rank);
        if (!process.is_ok()) return std::move(process).failure();
        if (is_named[static_cast<std::uint32_t>(rank)]) {
            return Status(Code::argument, "rank " + std::to_string(rank) + " is named twice");
        }
        is_named[static_cast<std::uint32_t>(rank)] = true;
        wanted.processes.push_back(process.value());
    }
    auto process = process_of_rank(options.rank);
    if (!process.is_ok()) return std::move(process).failure().within("the directory's rank");
    wanted.directory_process = process.value();
    wanted.slots = options.num_slots == 0 ? usual_slots : options.num_slots;
    if (wanted.slots > allocator::table_slots_max) {
        return Status(Code::argument, "num_slots is not one of 0 to 2^32");
    }
    wanted.may_grow = options.is_fixed == 0;
    if (options.hash != ACP_HASH_CRC64 && options.hash != ACP_HASH_XXH3) {
        return Status(Code::argument, "hash is neither ACP_HASH_CRC64 nor ACP_HASH_XXH3");
    }
    wanted.hash =
        options.hash == ACP_HASH_CRC64 ? hash::HashFunction::crc64 : hash::HashFunction::xxh3;
    wanted.seed = options.seed;
    return wanted;
}

Result<std::int64_t> run_batch(data::Hashed& hashed,
                               const ContainerName& name,
                               BatchKind kind,
                               std::span<acp_entry_t> entries) {
    std::vector<data::BatchItem> items(entries.size());
    if (auto status = fill(name, kind, entries, items); !status.is_ok()) return status;
    // A count is found as a value of 8 bytes.
    const bool finds_counts = name.kind == ContainerKind::multiset && kind == BatchKind::find;
    std::vector<std::uint64_t> counts(finds_counts ? items.size() : 0);
    for (std::size_t i = 0; i < counts.size(); ++i) {
        items[i].room = std::as_writable_bytes(std::span(&counts[i], 1));
    }
    auto status = data::HashedBatch(hashed, name, kind).run(items);
    const int good_result = kind == BatchKind::assign ? 0 : 1;
    std::int64_t good = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        tell_entry(kind, items[i], entries[i]);
        if (entries[i].result == -1 && status.is_ok()) {
            status = {Code::argument,
                      "the value of entry " + std::to_string(i) + " has not 8 bytes"};
        }
        if (finds_counts) {
            if (counts[i] == table::ended_count) entries[i].result = 0;
            entries[i].number = entries[i].result == 1 ? counts[i] : 0;
        }
        good += entries[i].result == good_result ? 1 : 0;
    }
    if (!status.is_ok()) return status;
    return good;
}

}  // namespace acp::api
