// SPDX-License-Identifier: BSD-3-Clause
// Calls on many keys of a hashed container. Keys of one table are handled together: on this node in
// groups with prefetching, for other nodes many in a message, with messages to several tables in
// flight at once. If the container has one table, on this node, keys are not collected first: that
// took as long as finding them. Any thread; blocks while it waits for other nodes. Errors: those of
// data/hashed.hpp, for the first key that failed; the others are done.
// Tests: tests/conformance/hashed_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "data/ask.hpp"
#include "data/batch_rooms.hpp"
#include "data/hashed.hpp"

#include "allocator/entry_batch.hpp"

namespace acp::data {

using allocator::BatchKind;

class HashedBatch {
public:
    static constexpr std::size_t items_max = 2048;

    // All arguments outlive this.
    //   room  used by this alone until the call ends
    HashedBatch(Hashed& hashed, const ContainerName& name, BatchKind kind, BatchRoom& room) noexcept
        : hashed_(hashed), name_(name), kind_(kind), room_(room) {}

    // Runs the items of its room, at most items_max.
    //   first_entry  the number of the first one in the caller's list, for messages
    base::Status run(std::size_t first_entry);

    // Runs calls on keys of a container with one table on this node, without a room. Returns how
    // many: at most allocator::batch_max, and fewer if the table is elsewhere, or if a key
    // failed: run() does the rest.
    //   ask(i, allocator::EntryBatch::One&)      fills in all but the hash; false: the run ends
    //                                            before this key
    //   tell(i, EntryResult, const char* value)  the callback of EntryBatch::run, without a result
    template <typename Ask, typename Tell>
    static std::size_t run_at_once(Hashed& hashed,
                                   const ContainerName& name,
                                   BatchKind kind,
                                   std::size_t count,
                                   const Ask& ask,
                                   const Tell& tell) {
        allocator::EntryBatch batch(kind);
        TablePlace place;
        for (std::size_t i = 0; i < std::min<std::size_t>(count, allocator::batch_max); ++i) {
            allocator::EntryBatch::One& one = batch.next();
            if (!ask(i, one)) break;
            const Bytes key(static_cast<const std::byte*>(one.key.data), one.key.bytes);
            if (i != 0) {
                one.key.hash = hash_of_key(place.function, place.seed, key);
            } else {
                const bool is_known =
                    hashed.directories().find(name, key, place) ||
                    (hashed.begin_use(name).is_ok() && hashed.directories().find(name, key, place));
                if (!is_known || place.tables != 1 || place.heap == nullptr) return 0;
                one.key.hash = place.hash;
            }
            batch.add_next();
        }
        if (batch.count() == 0) return 0;
        local::Hazards& hazards = hashed.tables().gma().hazards();
        local::Hazards::Lease lease(hazards);
        TableCalls::Here here(hazards.index_of(lease.line()), place);
        if (here.table() == 0) return 0;
        std::size_t done = 0;
        batch.run(here.tables(), here.table(),
                  [&](std::uint32_t i, const EntryResult& result, const char* value) {
                      if (table::is_failure(result.effect)) return false;
                      tell(i, result, value);
                      ++done;
                      return true;
                  });
        return done;
    }

private:
    using Aimed = BatchRoom::Aimed;

    // A message in flight to another node; its address must not change.
    struct BatchMessage {
        local::Nothing nothing;
        std::vector<std::byte> told;
        std::uint32_t told_bytes = 0;
        std::size_t first = 0;
        std::size_t count = 0;
    };

    void aim();
    void sort_by_table();
    void run_here(std::span<const Aimed> aimed);
    //   aimed  at most allocator::batch_max, at one table of this node
    void run_at_table(std::span<const Aimed> aimed);
    void send_all(std::span<const Aimed> aimed, Asks& asks, std::deque<BatchMessage>& all);
    bool receive_all(std::span<const Aimed> aimed, const std::deque<BatchMessage>& all);
    void run_once(std::span<const Aimed> aimed);
    std::size_t send(std::span<const Aimed> aimed, Asks& asks, BatchMessage& sent);
    void receive(std::span<const Aimed> aimed, const BatchMessage& sent);
    base::Status run_alone(BatchItem& item);
    base::Result<EntryResult> call(const TablePlace& place, BatchItem& item);

    Hashed& hashed_;
    const ContainerName& name_;
    BatchKind kind_;
    BatchRoom& room_;
};

}  // namespace acp::data
