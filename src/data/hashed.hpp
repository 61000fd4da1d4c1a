// SPDX-License-Identifier: BSD-3-Clause
// Hashed containers: makes them and destroys them, and carries calls on one key to the table it belongs to. The table may be in
// the heap of any rank: a call works on it at once where it is mapped here, and else the gateway of the owner's node runs the same
// code (data/table_calls.hpp). One for each epoch. Any thread; calls block where other nodes are asked.
// What a call on many keys or on all entries does is in data/hashed_batch.hpp and data/hashed_walk.hpp.
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

#include "table/walk.hpp"

namespace acp::data {

// Where a walk has an entry of a key that has no other.
[[nodiscard, gnu::always_inline]] inline table::WalkPlace place_by_key(std::uint64_t hash,
                                                                       Bytes key) noexcept {
    return table::WalkPlace::by_hash(hash,
                                     table::tie_of_key(reinterpret_cast<const char*>(key.data()),
                                                       static_cast<std::uint32_t>(key.size())));
}

// How a container is made.
struct HashedOptions {
    ContainerKind kind = ContainerKind::map;
    std::vector<std::uint32_t> processes;  // on which it has tables, each once
    std::uint32_t directory_process = 0;
    std::uint64_t slots = 8;  // of each table at first, 1 .. allocator::table_slots_max
    bool may_grow = true;
    hash::HashFunction hash = hash::HashFunction::xxh3;
    std::uint64_t seed = 0;  // in the directory, where all processes that use the container find it
};

// Where an iterator is: at an entry, or behind all.
struct EntryPlace {
    std::uint64_t table = 0;  // its number among those of the container
    table::WalkPlace walk;
    GlobalAddress record = 0;  // 0: no entry
    std::uint64_t key_bytes = 0;
    std::uint64_t value_bytes = 0;
};

class Hashed {
public:
    //   gma, allocator  outlive this
    Hashed(gma::Gma& gma, Allocator& allocator);

    // Until its first use the container goes with this process, should that die. Errors: memory (no room in a heap), peer,
    // unsupported (the job has no heaps); then nothing is left of it.
    base::Result<ContainerName> create(const HashedOptions& options);

    // Uses a container, so that it stays whoever dies.
    base::Status begin_use(const ContainerName& name) {
        auto directory = directories_.fetch(name);
        return directory.is_ok() ? base::Status() : std::move(directory).failure();
    }

    // Of several that destroy a container one succeeds. Errors, as of all that follows: those of Directories::fetch, peer.
    base::Status destroy(const ContainerName& name);

    // TableCalls::find, put, change and erase on the table of a key.
    //   entry  nullptr, or becomes the place of the entry of the key, if there is one; of find() the place behind all if there is none
    // A count that was ended is no entry.
    base::Result<EntryResult> find(const ContainerName& name,
                                   Bytes key,
                                   Room room,
                                   EntryPlace* entry);
    base::Result<EntryResult> put(const ContainerName& name,
                                  const TableCalls::Put& put,
                                  EntryPlace* entry);
    base::Result<EntryResult> change(const ContainerName& name,
                                     Bytes key,
                                     const ChangeWords& words,
                                     EntryPlace* entry);
    base::Result<EntryResult> erase(const ContainerName& name, Bytes key);

    // The same at once, if the table of the key is of this node and was used before: run(Where&, place) is one of TableCalls::find_in()
    // and its like. false: nothing was done, and the calls above know why not. Not of a multiset.
    //   Where  TableCalls::Here, or Finding
    //   line   the calling thread's own
    //   place  that of the key: of Directories::find() or TableViews::place()
    template <typename Where, typename Run>
    [[nodiscard, gnu::always_inline]] bool run_at_once(const memory::HazardLine& line,
                                                       const TablePlace& place,
                                                       EntryResult& result,
                                                       const Run& run) {
        return tables_.run_at_once<Where>(line, place, result,
                                          [&](Where& here) { return run(here, place); });
    }

    // Where the entry of such a call is, of a map or a set: behind all where there is none.
    [[nodiscard, gnu::always_inline]] static EntryPlace place_after(
        const TablePlace& place, Bytes key, const EntryResult& result) noexcept {
        return result.record != 0 ? place_by_key(place, key, result)
                                  : EntryPlace{place.tables, {}, 0, 0, 0};
    }

    // The entry of a key of a multimap behind a place of a walk; its record is 0 where there is none. Errors, besides: stale (the place
    // is one of another key: who read the key where the entry is had it from another entry that came after it).
    base::Result<EntryPlace> next_of_key(const ContainerName& name,
                                         Bytes key,
                                         table::WalkPlace after);

    // TableCalls::read and erase_record, of the entry of an iterator.
    base::Result<EntryResult> read(const ContainerName& name, const EntryPlace& entry, Room room);
    base::Result<EntryResult> erase_record(const ContainerName& name, const EntryPlace& entry);

    // Calls call(place) with the table of a key, once more where a copy of the directory was out of date. `call` returns a
    // base::Result, and stale where no table of that identity is there.
    template <typename Call>
    auto at_table(const ContainerName& name, Bytes key, const Call& call)
        -> decltype(call(TablePlace())) {
        if (is_too_long(key)) [[unlikely]]
            return too_long();  // before its bytes are hashed
        return by_copy_or_anew(
            [&](TablePlace& place) { return directories_.find(name, key, place); },
            [&](TablePlace& place) { return place_anew(name, key, place); }, call);
    }

    // The same with the table of a number; place.table is 0 where there is none.
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
    //   by_copy(place)  whether a copy of the directory says where the table is
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
        return {place.index, data::place_by_key(place.hash, key), found.record, key.size(),
                found.value_bytes};
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
    base::Status make_tables(const HashedOptions& options, Directory& directory);

    gma::Gma& gma_;
    Allocator& allocator_;
    Directories directories_;
    TableCalls tables_;
    BatchRooms batch_rooms_;
};

}  // namespace acp::data
