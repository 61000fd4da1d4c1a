// SPDX-License-Identifier: BSD-3-Clause
// The tables of one heap while an operation of the calling thread runs on them: the owner of typed
// operations on hashed containers (local/typed_operation.hpp). One thread, one object per call.
// Tests: tests/unit/allocator/table_operations_test.cpp.
#pragma once

#include <cstdint>

#include "allocator/heap_operations.hpp"
#include "allocator/node_tables.hpp"

namespace acp::allocator {

// The table at an address in the heap of a process of this node; 0: none can begin there.
[[nodiscard]] table::BlockNumber table_at(const local::Space& space,
                                          std::uint32_t process,
                                          memory::GlobalAddress address) noexcept;

// The tables of a heap whose address is known.
//   Tables  NodeTables, or NodeFinder for an operation that only finds
template <typename Tables>
class TablesOf {
public:
    //   thread  the caller's number among the threads of its process
    //   start   the address of the heap's first block
    [[gnu::always_inline]] TablesOf(NodeHeap& heap,
                                    std::uint32_t thread,
                                    memory::GlobalAddress start) noexcept
        : start_(start), tables_(heap, thread) {}

    [[gnu::always_inline]] ~TablesOf() = default;
    TablesOf(const TablesOf&) = delete;
    TablesOf& operator=(const TablesOf&) = delete;

    [[nodiscard]] Tables& tables() noexcept { return tables_; }

    // 0: no block.
    [[nodiscard]] memory::GlobalAddress address_of(table::BlockNumber block) const noexcept {
        return block == 0 ? 0 : start_ + table::offset_of(block);
    }

    // 0: no block of this heap begins there.
    [[nodiscard]] table::BlockNumber block_at(memory::GlobalAddress address) noexcept {
        const memory::GlobalAddress offset = address - start_;
        return offset < tables_.heap().limit_bytes() && offset % heap::granule_bytes == 0
                   ? table::number_of(offset)
                   : 0;
    }

private:
    memory::GlobalAddress start_;
    Tables tables_;
};

using HeapTables = TablesOf<NodeTables>;

class OwnedTables : private OwnedHeap, public HeapTables {
public:
    explicit OwnedTables(local::OperationContext& context) noexcept
        : OwnedHeap(context), HeapTables(heap(), thread(), OwnedHeap::address_of(0)) {}

    //   heap    of a process of this node
    //   thread  the caller's number among the threads of its process
    OwnedTables(const local::Space& space, NodeHeap& heap, std::uint32_t thread) noexcept
        : OwnedHeap(space, heap, thread), HeapTables(heap, thread, OwnedHeap::address_of(0)) {}

    ~OwnedTables() = default;
    OwnedTables(const OwnedTables&) = delete;
    OwnedTables& operator=(const OwnedTables&) = delete;

    using HeapTables::address_of;
    using OwnedHeap::is_gateway;

    // Makes a table in memory on loan. 0: it is not on loan, or is shorter.
    //   shape  without a block
    table::BlockNumber make_in(const LentBlock& memory, table::TableShape shape);

    // Destroys a table. The gateway only begins to: destroy_more() does the rest, in later rounds
    // and where the caller asks for it. false: there is no such table.
    bool destroy(table::BlockNumber table, std::uint64_t id);

    // Frees a part of all that the gateway destroys. Returns whether more is left.
    bool destroy_more();

    // The block of this heap at an address; 0: no table or directory can begin there.
    [[nodiscard]] table::BlockNumber at(memory::GlobalAddress address) noexcept {
        return table_at(space(), heap().process(), address);
    }
};

}  // namespace acp::allocator
