// SPDX-License-Identifier: BSD-3-Clause
// Hashed containers: makes them and destroys them, and carries calls on one key to the table it
// belongs to. The table may be in the heap of any rank: if it is mapped here the calling thread
// works on it, else the gateway of the owner's node runs the same code (data/table_calls.hpp). One
// object per epoch. Any thread; calls block while they wait for other nodes. Calls on many keys or
// on all entries are in data/hashed_batch.hpp and data/hashed_walk.hpp.
// Tests: tests/conformance/hashed_test.cpp, tests/unit/data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "data/batch_rooms.hpp"
#include "data/directory.hpp"
#include "data/table_calls.hpp"
#include "gma/gma.hpp"

#include "allocator/table_operations.hpp"
#include "table/walk.hpp"

namespace acp::data {

// The place in a walk of the only entry of a key.
[[nodiscard, gnu::always_inline]] inline table::WalkPlace place_by_key(std::uint64_t hash,
                                                                       Bytes key) noexcept {
    return table::WalkPlace::by_hash(hash,
                                     table::tie_of_key(reinterpret_cast<const char*>(key.data()),
                                                       static_cast<std::uint32_t>(key.size())));
}

// The options of a new container.
struct HashedOptions {
    ContainerKind kind = ContainerKind::map;
    std::vector<std::uint32_t> processes;  // on which it has tables, each once
    std::uint32_t directory_process = 0;
    std::uint64_t slots = 8;  // initial number per table, 1 .. allocator::table_slots_max
    bool may_grow = true;
    hash::HashFunction hash = hash::HashFunction::xxh3;
    std::uint64_t seed = 0;  // stored in the directory for all users of the container
};

// The place of an iterator: an entry, or the end.
struct EntryPlace {
    std::uint64_t table = 0;  // its number among those of the container
    table::WalkPlace walk = {};
    GlobalAddress record = 0;  // 0: no entry
    std::uint64_t key_bytes = 0;
    std::uint64_t value_bytes = 0;
    std::uint64_t mark = 0;  // mark of the record (table::RecordName)
};

// The next entries of a key: how many, and the last of them.
struct KeyEntries {
    std::uint64_t count = 0;
    EntryPlace last;
};

class Hashed {
public:
    //   gma, allocator  outlive this
    Hashed(gma::Gma& gma, Allocator& allocator);

    // Until its first use the container is destroyed if this process dies. Errors: memory (no room
    // in a heap), peer, unsupported (the job has no heaps); then nothing is left of it.
    base::Result<ContainerName> create(const HashedOptions& options);

    // Uses a container, so that it survives the death of its maker.
    base::Status begin_use(const ContainerName& name) {
        auto directory = directories_.fetch(name);
        return directory.is_ok() ? base::Status() : std::move(directory).failure();
    }

    // If several processes destroy a container, one succeeds. Errors, here and in all calls below:
    // those of Directories::fetch, peer.
    base::Status destroy(const ContainerName& name);

    // TableCalls::find, put, change and erase on the table of a key.
    //   entry  nullptr, or becomes the place of the key's entry, if there is one; after find() the
    //          end if there is none. change(): only with ChangeKind::count_and_mark
    // An ended count is no entry.
    base::Result<EntryResult> find(const ContainerName& name,
                                   Bytes key,
                                   Room room,
                                   EntryPlace* entry);
    base::Result<EntryResult> put(const ContainerName& name, const Put& put, EntryPlace* entry);
    base::Result<EntryResult> change(const ContainerName& name,
                                     Bytes key,
                                     const ChangeWords& words,
                                     EntryPlace* entry);
    base::Result<EntryResult> erase(const ContainerName& name, Bytes key);

    // Runs such a call inline, if the key's table is on this node and was used before: see
    // TableCalls::run_at_once. false: nothing was done; the calls above do it. Not for a multiset.
    //   Where    TableCalls::Here, or Finding
    //   place    the key's, from Directories::find() or TableViews::place()
    template <typename Where, typename Request>
    [[nodiscard, gnu::always_inline]] bool run_at_once(const memory::HazardLine& line,
                                                       const TablePlace& place,
                                                       EntryResult& result,
                                                       const Request& request) {
        return tables_.run_at_once<Where>(line, place, result, request);
    }

    // The place of the entry that such a call on a map or a set found; the end if there is none.
    [[nodiscard, gnu::always_inline]] static EntryPlace place_after(
        const TablePlace& place, Bytes key, const EntryResult& result) noexcept {
        return result.record != 0 ? place_by_key(place, key, result) : EntryPlace{place.tables};
    }

    // The next entries of a multimap's key behind a place of a walk. Further errors: stale (the
    // place belongs to another key: the caller has read the key from a record that was reused for a
    // later entry).
    //   wanted  how many at most, 1 .. allocator::key_entries_max
    base::Result<KeyEntries> next_of_key(const ContainerName& name,
                                         Bytes key,
                                         const table::WalkPlace& after,
                                         std::uint32_t wanted = 1);

    // TableCalls::read and erase_record for an iterator's entry.
    base::Result<EntryResult> read(const ContainerName& name, const EntryPlace& entry, Room room);
    base::Result<EntryResult> erase_record(const ContainerName& name, const EntryPlace& entry);

    // Calls call(place) with the table of a key, and once more if the copy of the directory was
    // outdated. `call` returns a base::Result, stale if no table of that identity is there.
    template <typename Call>
    auto at_table(const ContainerName& name, Bytes key, const Call& call)
        -> decltype(call(TablePlace())) {
        if (is_too_long(key)) [[unlikely]]
            return too_long(key.size());  // before its bytes are hashed
        return by_copy_or_anew(
            [&](TablePlace& place) { return directories_.find(name, key, place); },
            [&](TablePlace& place) { return place_anew(name, key, place); }, call);
    }

    // Does so with the table of a number; place.table is 0 if there is none.
    template <typename Call>
    auto at_table(const ContainerName& name, std::uint64_t index, const Call& call)
        -> decltype(call(TablePlace())) {
        return by_copy_or_anew(
            [&](TablePlace& place) { return directories_.find_table(name, index, place); },
            [&](TablePlace& place) { return table_anew(name, index, place); }, call);
    }

    [[nodiscard]] Directories& directories() noexcept { return directories_; }

    [[nodiscard]] TableCalls& tables() noexcept { return tables_; }

    [[nodiscard]] BatchRooms& batch_rooms() noexcept { return batch_rooms_; }

private:
    //   by_copy(place)  finds the table in a copy of the directory; false: there is no copy
    //   anew(place)     reads the directory; a status
    template <typename ByCopy, typename Anew, typename Call>
    [[gnu::always_inline]] static auto by_copy_or_anew(const ByCopy& by_copy,
                                                       const Anew& anew,
                                                       const Call& call)
        -> decltype(call(TablePlace())) {
        TablePlace place;
        if (by_copy(place)) [[likely]] {
            auto result = call(place);
            if (result.is_ok() || result.failure().code() != base::Code::stale) [[likely]]
                return result;
        }
        if (auto status = anew(place); !status.is_ok()) return status;
        return call(place);
    }

    [[nodiscard]] static EntryPlace place_by_key(const TablePlace& place,
                                                 Bytes key,
                                                 const EntryResult& found) noexcept {
        return {place.index,       data::place_by_key(place.hash, key),
                found.record,      key.size(),
                found.value_bytes, found.number};
    }

    [[nodiscard]] EntryPlace place_of(const ContainerName& name,
                                      const TablePlace& place,
                                      Bytes key,
                                      const EntryResult& found) const noexcept;
    template <typename Call>
    base::Result<EntryResult> at_entry(const ContainerName& name,
                                       const EntryPlace& entry,
                                       const Call& call);
    base::Status place_anew(const ContainerName& name, Bytes key, TablePlace& place);
    base::Status table_anew(const ContainerName& name, std::uint64_t index, TablePlace& place);
    //   made, memory  room for as many as options.processes
    base::Status make_tables(const HashedOptions& options,
                             Directory& directory,
                             std::span<allocator::MadeTable> made,
                             std::span<allocator::LentBlock> memory);

    gma::Gma& gma_;
    Allocator& allocator_;
    Directories directories_;
    TableCalls tables_;
    BatchRooms batch_rooms_;
};

}  // namespace acp::data
