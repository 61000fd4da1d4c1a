// SPDX-License-Identifier: BSD-3-Clause
// Shared by the numbered operations on tables: the heap and its tables for the length of an
// operation.
#pragma once

#include "allocator/heap_operations.hpp"
#include "allocator/operation_bytes.hpp"
#include "allocator/table_operations.hpp"

namespace acp::allocator {

// The heap and its tables for the length of an operation.
class OpenedTables {
public:
    explicit OpenedTables(local::OperationContext& context) noexcept
        : context_(context),
          heap_(context.space().segment(),
                context.space().slot_of(context.process()),
                context.hazards()),
          tables_(heap_, context.thread()) {}

    [[nodiscard]] NodeTables& tables() noexcept { return tables_; }

    [[nodiscard]] NodeHeap& heap() noexcept { return heap_; }

    // 0: no table of this identity is there.
    [[nodiscard]] table::BlockNumber table(const TableName& name) noexcept {
        const table::BlockNumber found = table_at(context_.space(), context_.process(), name.table);
        return found != 0 && tables_->is_table(found, name.id) ? found : 0;
    }

    [[nodiscard]] memory::GlobalAddress address(table::BlockNumber block) const noexcept {
        return address_of(context_.space(), context_.process(), block);
    }

    // The block that begins at an address; 0: none of this heap does.
    [[nodiscard]] table::BlockNumber block_at(memory::GlobalAddress address) const noexcept {
        const heap::Offset offset = offset_in_heap(context_.space(), context_.process(), address);
        const bool is_one = offset != heap::no_block && offset % heap::granule_bytes == 0;
        return is_one ? table::number_of(offset) : 0;
    }

private:
    local::OperationContext& context_;
    NodeHeap heap_;
    NodeTables tables_;
};

}  // namespace acp::allocator
