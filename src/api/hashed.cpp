// SPDX-License-Identifier: BSD-3-Clause
// <acp/hashed.h>: options of new containers, and calls on many keys.
#include "api/hashed.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "api/check.hpp"
#include "os/random_bytes.hpp"

#include "allocator/entry_operations.hpp"
#include "lock/move_leases.hpp"

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
int result_of(BatchKind kind, const data::EntryResult& result) noexcept {
    const Effect effect = result.effect;
    switch (kind) {
        case BatchKind::assign:
            if (effect != Effect::done) return -1;
            return result.was_there != 0 ? 0 : 1;
        case BatchKind::find:
        case BatchKind::erase:
        case BatchKind::insert:
            return effect == Effect::done ? 1 : 0;
        case BatchKind::fetch_add_or_insert:
        case BatchKind::add_to_count:
            break;
    }
    if (effect == Effect::no_number || effect == Effect::out_of_range) return -1;
    const bool is_new = effect != Effect::done;
    return kind == BatchKind::add_to_count || is_new ? 1 : 0;
}

bool is_of_keys_alone(const ContainerName& name) noexcept {
    return name.kind == ContainerKind::set || name.kind == ContainerKind::multiset;
}

bool stores_values(const ContainerName& name, BatchKind kind) noexcept {
    return !is_of_keys_alone(name) && (kind == BatchKind::insert || kind == BatchKind::assign);
}

// "entries[3]"
std::string of_entry(std::size_t index) {
    return "entries[" + std::to_string(index) + "]";
}

// Errors: argument.
Status check(const ContainerName& name, BatchKind kind, std::span<const acp_entry_t> entries) {
    const bool stores = stores_values(name, kind);
    const bool changes = kind == BatchKind::fetch_add_or_insert || kind == BatchKind::add_to_count;
    const bool has_value = stores || (kind == BatchKind::find && !is_of_keys_alone(name));
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const acp_entry_t& entry = entries[i];
        if (entry.key == nullptr && entry.key_size != 0) {
            return null_bytes("key", "key_size", entry.key_size).within(of_entry(i));
        }
        if (has_value && entry.value == nullptr && entry.value_size != 0) {
            return null_bytes("value", "value_size", entry.value_size).within(of_entry(i));
        }
        if (Status status = check_shared(entry); !status.is_ok())
            return std::move(status).within(of_entry(i));
        const bool is_long_key = data::is_too_long(bytes_at(entry.key, entry.key_size));
        if (is_long_key || (stores && data::is_too_long(bytes_at(entry.value, entry.value_size)))) {
            return data::too_long(is_long_key ? entry.key_size : entry.value_size)
                .within("entry " + std::to_string(i));
        }
        if (changes && entry.key_size > data::changed_key_bytes_max) {
            return data::key_too_long_to_change(entry.key_size)
                .within("entry " + std::to_string(i));
        }
    }
    return {};
}

// Converts an entry of the program to a batch item.
void fill(const ContainerName& name,
          BatchKind kind,
          const acp_entry_t& entry,
          data::BatchItem& item) noexcept {
    item = {};
    item.key = bytes_at(entry.key, entry.key_size);
    item.operand = entry.number;
    if (stores_values(name, kind)) {
        item.value = bytes_at(entry.value, entry.value_size);
    } else if (!is_of_keys_alone(name)) {
        item.room = room_at(entry.value, entry.value_size);
    } else if (name.kind == ContainerKind::multiset && kind == BatchKind::find) {
        item.operand = 0;  // becomes the count, which is found as a value of 8 bytes
        item.room = std::as_writable_bytes(std::span(&item.operand, 1));
    }
}

// Counts the results of a call on many entries.
struct Tally {
    std::int64_t good = 0;  // how many results are 1
    // What the caller gave as `number` of the first refused entry; tell_entry() overwrites that.
    std::optional<std::uint64_t> refused_number;
};

// Stores the result of one entry of a call on many.
//   count  after a find in a multiset: the value
void tell_entry(const ContainerName& name,
                BatchKind kind,
                const data::EntryResult& result,
                std::uint64_t count,
                acp_entry_t& entry,
                Tally& tally) noexcept {
    entry.result = result_of(kind, result);
    tally.good += entry.result == 1 ? 1 : 0;
    if (entry.result == -1 && !tally.refused_number) tally.refused_number = entry.number;
    if (kind == BatchKind::fetch_add_or_insert || kind == BatchKind::add_to_count) {
        entry.number = result.number;
    } else if (name.kind == ContainerKind::multiset && kind == BatchKind::find) {
        if (count == table::ended_count) entry.result = 0;
        entry.number = entry.result == 1 ? count : 0;
    } else if (kind == BatchKind::find && entry.result == 1) {
        entry.value_size = result.value_bytes;
    }
}

// Runs entries inline, from the first one on. Returns how many were run.
std::size_t run_at_once(data::Hashed& hashed,
                        const ContainerName& name,
                        BatchKind kind,
                        std::span<acp_entry_t> entries,
                        Tally& tally) {
    const bool stores = stores_values(name, kind);
    const auto copies = [&](const acp_entry_t& entry) {
        return kind == BatchKind::find && !is_of_keys_alone(name) && entry.value != nullptr;
    };
    constexpr std::size_t bytes_most = std::numeric_limits<std::uint32_t>::max();
    std::size_t done = 0;
    for (std::size_t some = allocator::batch_max; some == allocator::batch_max; done += some) {
        const auto rest = entries.subspan(done);
        some = data::HashedBatch::run_at_once(
            hashed, name, kind, rest.size(),
            [&](std::size_t i, allocator::EntryBatch::One& one) {
                const acp_entry_t& entry = rest[i];
                const std::size_t value_bytes = stores ? entry.value_size : 0;
                one.key.data = entry.key;
                one.key.bytes = static_cast<std::uint32_t>(entry.key_size);
                one.value = {entry.value, static_cast<std::uint32_t>(value_bytes)};
                one.operand = entry.number;
                return entry.key_size <= bytes_most && value_bytes <= bytes_most;
            },
            [&](std::size_t i, const data::EntryResult& result, const char* value) {
                acp_entry_t& entry = rest[i];
                std::uint64_t count = 0;
                if (value != nullptr && copies(entry)) {
                    std::memcpy(entry.value, value,
                                std::min<std::size_t>(result.value_bytes, entry.value_size));
                } else if (value != nullptr && name.kind == ContainerKind::multiset) {
                    std::memcpy(&count, value, sizeof count);
                }
                tell_entry(name, kind, result, count, entry, tally);
            });
    }
    return done;
}

// Runs at most HashedBatch::items_max entries; the first one has the number `first_entry` in the
// caller's list. Returns the first failure.
Status run_some(data::Hashed& hashed,
                const ContainerName& name,
                BatchKind kind,
                std::span<acp_entry_t> entries,
                std::size_t first_entry,
                Tally& tally) {
    data::BatchRooms::Lease lease(hashed.batch_rooms());
    std::vector<data::BatchItem>& items = lease.room().items;
    items.resize(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) fill(name, kind, entries[i], items[i]);
    auto status = data::HashedBatch(hashed, name, kind, lease.room()).run(first_entry);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const data::BatchItem& item = items[i];
        if (item.is_done) {
            tell_entry(name, kind, item.result, item.operand, entries[i], tally);
        } else {
            entries[i].result = -1;
        }
    }
    return status;
}

// Sets how keys are hashed. Errors: argument
Status choose_hash(const acp_hashed_options_t& options, data::HashedOptions& wanted) {
    switch (options.hash) {
        case ACP_HASH_DEFAULT:
            wanted.hash = hash::HashFunction::xxh3;
            os::fill_random(std::as_writable_bytes(std::span(&wanted.seed, 1)));
            return {};
        case ACP_HASH_CRC64:
            wanted.hash = hash::HashFunction::crc64;
            return {};
        case ACP_HASH_XXH3:
            wanted.hash = hash::HashFunction::xxh3;
            wanted.seed = options.seed;
            return {};
        case ACP_HASH_CRC64_REFLECTED:
            wanted.hash = hash::HashFunction::crc64_reflected;
            return {};
    }
    return {Code::argument,
            "hash is " + std::to_string(static_cast<int>(options.hash)) +
                ", which is none of ACP_HASH_DEFAULT, ACP_HASH_CRC64, ACP_HASH_XXH3 and "
                "ACP_HASH_CRC64_REFLECTED"};
}

}  // namespace

bool find_place_anew(const ContainerName& name,
                     std::span<const std::byte> key,
                     data::TablePlace& place) noexcept {
    if (!hashed_at_hand->directories().find(name, key, place)) return false;
    keep_table_view(name, place);
    return true;
}

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
        // A number from 2^63 on is a negative one of the program, converted.
        const auto number = static_cast<std::int64_t>(options.num_slots);
        return Status(Code::argument,
                      "num_slots is " + std::to_string(number) + ": it is 0 to 2^32");
    }
    wanted.may_grow = options.is_fixed == 0;
    auto status = choose_hash(options, wanted);
    if (!status.is_ok()) return status;
    return wanted;
}

Result<std::int64_t> run_batch(data::Hashed& hashed,
                               const ContainerName& name,
                               BatchKind kind,
                               std::span<acp_entry_t> entries) {
    if (auto status = check(name, kind, entries); !status.is_ok()) return status;
    Status first;
    Tally tally;
    for (std::size_t done = run_at_once(hashed, name, kind, entries, tally); done < entries.size();
         done += data::HashedBatch::items_max) {
        const auto some =
            entries.subspan(done, std::min(data::HashedBatch::items_max, entries.size() - done));
        auto status = run_some(hashed, name, kind, some, done, tally);
        if (first.is_ok()) first = std::move(status);
    }
    if (!first.is_ok()) return first;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].result != -1) continue;
        if (kind == BatchKind::add_to_count) {
            return data::no_such_count(bytes_at(entries[i].key, entries[i].key_size),
                                       entries[i].number, tally.refused_number.value_or(0))
                .within("entry " + std::to_string(i));
        }
        return Status(Code::argument,
                      "the value of entry " + std::to_string(i) + " has not 8 bytes");
    }
    return tally.good;
}

Status move_entries(const char* call,
                    data::Hashed& hashed,
                    const MovePair& pair,
                    data::Scope scope) {
    if (inline_line == nullptr) open_inline_path();  // the locks know the thread by its line
    lock::MoveLeases leases(*library().locks, hashed);
    if (pair.into.directory != pair.from.directory) {
        auto status = leases.take(pair.into, pair.from, report_of_long_wait(call));
        if (!status.is_ok()) return status;
    }
    return data::HashedWalk(hashed).move(pair.into, pair.from, scope);
}

}  // namespace acp::api
