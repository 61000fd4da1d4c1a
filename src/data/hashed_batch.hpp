// SPDX-License-Identifier: BSD-3-Clause
// Calls on many keys of a hashed container. Keys of one table go together: on this node in groups for which the processor fetches memory
// ahead, to other nodes many in a message, and messages to several tables at once. Any thread; blocks where other nodes are asked.
// Errors: as data/hashed.hpp, of the first key that failed; the others are done.
// Tests: tests/conformance/hashed_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "data/ask.hpp"
#include "data/hashed.hpp"

#include "allocator/entry_batch.hpp"

namespace acp::data {

using allocator::BatchKind;

// One key of a call on many.
struct BatchItem {
    // Not defaulted: each of a vector would be cleared before it is made.
    BatchItem() noexcept {}  // NOLINT

    Bytes key;
    Bytes value;                // insert, assign: what to store
    Room room;                  // find: for the value
    std::uint64_t operand = 0;  // what is added
    EntryResult result;         // written
    bool is_done = false;       // written: whether `result` was
};

class HashedBatch {
public:
    // What it names outlives this.
    HashedBatch(Hashed& hashed, const ContainerName& name, BatchKind kind) noexcept
        : hashed_(hashed), name_(name), kind_(kind) {}

    base::Status run(std::span<BatchItem> items);

private:
    static constexpr std::size_t window = 1024;  // items that are asked for at once elsewhere

    struct Aimed {
        TablePlace place;
        BatchItem* item = nullptr;
    };

    // A message to another node, while it is under way.
    struct BatchMessage {
        std::vector<std::byte> told;
        std::uint32_t told_bytes = 0;
        std::size_t first = 0;
        std::size_t count = 0;
    };

    void aim(std::span<BatchItem> items);
    template <typename Visit>
    void for_each_table(const Visit& visit) const;
    //   aimed  at most allocator::batch_max, at one table
    void run_here(std::span<const Aimed> aimed);
    std::vector<BatchMessage> send_all(std::span<const Aimed> aimed);
    void run_there(std::span<const Aimed> aimed);
    std::size_t send(std::span<const Aimed> aimed, Asks& asks, BatchMessage& sent);
    void receive(std::span<const Aimed> aimed, const BatchMessage& sent);
    base::Status run_alone(BatchItem& item);
    base::Result<EntryResult> call(const TablePlace& place, BatchItem& item);

    Hashed& hashed_;
    const ContainerName& name_;
    BatchKind kind_;
    std::vector<Aimed> aimed_;
};

}  // namespace acp::data
