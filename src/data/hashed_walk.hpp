// SPDX-License-Identifier: BSD-3-Clause
// Calls on all entries of a hashed container, or on those that are stored on the calling rank:
// iterators, counts, clearing, and copies to another container. Each entry is handled by itself,
// while other calls change the container. Any thread; each call blocks while it waits for other
// nodes. Errors: those of data/hashed.hpp.
// Tests: tests/conformance/hashed_test.cpp, hashed_pair_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.hpp"
#include "data/hashed.hpp"
#include "data/walk_reader.hpp"

#include "table/walk.hpp"

namespace acp::data {

enum class Scope : std::uint8_t {
    all,
    local,  // entries stored on the calling rank
};

class HashedWalk {
public:
    //   hashed  outlives this
    explicit HashedWalk(Hashed& hashed) noexcept : hashed_(hashed) {}

    base::Result<std::uint64_t> entries(const ContainerName& name, Scope scope);

    // The next entry behind a place, in the tables of `scope`; the end if there is none.
    base::Result<EntryPlace> next(const ContainerName& name, EntryPlace after, Scope scope);

    // Does so inline, if the tables that it visits are on this node and were used before. false:
    // next() continues from `at`.
    //   line  the calling thread's own
    //   at    the place; becomes what next() returns
    [[nodiscard]] bool next_at_once(const memory::HazardLine& line,
                                    const ContainerName& name,
                                    EntryPlace& at,
                                    Scope scope);

    // The entries that a scan reads, and the memory for keys and values.
    struct Scan {
        std::uint64_t entries_max = 0;
        Room room;
        std::function<void(Bytes key, Room value)> take;  // called with each entry, in the room
    };

    // Copies entries from a place on, as far as there is room, the value and then the key of each,
    // at multiples of 8 bytes. `at` becomes the place of the next entry, or the end. Returns how
    // many were copied. Further errors: limit (no room for the first one, whose place is `at`
    // then).
    base::Result<std::uint64_t> scan(const ContainerName& name,
                                     EntryPlace& at,
                                     Scope scope,
                                     const Scan& wish);

    // The start of a walk over `scope`: before all entries.
    base::Result<EntryPlace> beginning(const ContainerName& name, Scope scope);
    // The end. For scope `all` this reads a table, in one round trip if it is on another node.
    base::Result<EntryPlace> end(const ContainerName& name, Scope scope);

    // Clears the other tables also after a failure, and returns the first one.
    base::Status clear(const ContainerName& name, Scope scope);

    // Calls visit(key, value) -> bool (continue) with copies of the entries of the calling rank; it
    // may make any call. Returns how many were visited.
    using Visit = std::function<bool(Bytes key, Bytes value)>;
    base::Result<std::uint64_t> visit_local(const ContainerName& name, const Visit& visit);

    // Inserts the entries of `from` into `into`, unless it has an entry of the key; multisets add
    // the counts. If both are the same container, this and the next two calls change nothing.
    base::Status merge(const ContainerName& into, const ContainerName& from, Scope scope);

    // Empties `into`, and puts the entries of `from` there.
    base::Status assign(const ContainerName& into, const ContainerName& from, Scope scope);

    // The caller holds the leases (lock/move_leases.hpp), unless both are the same container. Does
    // merge(), and erases each inserted entry from `from` if it is unchanged since. An entry that
    // other calls insert or replace during this is moved, or stays; a change in place of an 8-byte
    // value may be lost.
    base::Status move(const ContainerName& into, const ContainerName& from, Scope scope);

private:
    static constexpr std::uint32_t unseen_row_max = 64;

    base::Status look_for(const ContainerName& into, const ContainerName& from);
    base::Result<EntryPlace> next_in(const ContainerName& name,
                                     const TablePlace& place,
                                     const EntryPlace& after);
    enum class ScanEnd : std::uint8_t { table, filled };

    struct ScanState {
        const Scan& wish;
        std::uint64_t taken = 0;
        std::size_t used = 0;  // bytes of the room

        [[nodiscard]] bool has_room_for(const EntryPlace& entry) const noexcept;
        void take(Bytes key, Bytes value);
    };

    base::Result<ScanEnd> scan_table(const TablePlace& place,
                                     const ContainerName& name,
                                     EntryPlace& at,
                                     ScanState& state);
    base::Result<std::vector<TablePlace>> tables(const ContainerName& name, Scope scope);
    template <typename Each, typename Flush>
    base::Status visit_table(const TablePlace& place,
                             const ContainerName& name,
                             const Each& each,
                             const Flush& flush);
    template <typename Each, typename Flush>
    base::Status visit_tables(const ContainerName& name,
                              Scope scope,
                              const Each& each,
                              const Flush& flush);
    base::Status clear_table(const TablePlace& place);
    base::Status put_copy(const ContainerName& into, const WalkReader::Entry& entry);
    base::Status add_count(const ContainerName& into, const WalkReader::Entry& entry);
    base::Status take_count(const ContainerName& from, const WalkReader::Entry& entry);

    // The result for an entry of a walk: its key and value were read; it was erased; or its record
    // was reused in between, so that the walk must visit it again.
    enum class LongEntry : std::uint8_t { read, gone, unseen };

    struct LongBytes {
        std::vector<std::byte> key;
        std::vector<std::byte> value;
        GlobalAddress unseen = 0;      // record of the last entry that was unseen
        std::uint32_t unseen_row = 0;  // times in a row that it was
    };

    // Fetches key and value of an entry that the reader visited without them; for an unseen one the
    // reader steps back.
    //   bytes  memory for key and value, for one walk
    // Errors: those of fetch_long(); system (a key whose hash is never that of its entry: the
    // program has overwritten it).
    base::Result<LongEntry> read_whole(WalkReader& reader,
                                       const TablePlace& place,
                                       const ContainerName& name,
                                       WalkReader::Entry& entry,
                                       LongBytes& bytes);
    base::Result<LongEntry> fetch_long(const TablePlace& place,
                                       const ContainerName& name,
                                       const allocator::WalkedEntry& entry,
                                       std::vector<std::byte>& key,
                                       std::vector<std::byte>& value);

    Hashed& hashed_;
};

}  // namespace acp::data
