// SPDX-License-Identifier: BSD-3-Clause
// The rows of all layers. A program that links the layers and defines library_operations() itself has a table of its own: this
// is how a test library reaches its ranks and its agents.
#include "operations/library_operations.hpp"

#include "allocator/directory_operations.hpp"
#include "allocator/entry_operations.hpp"
#include "allocator/heap_operations.hpp"
#include "allocator/list_operations.hpp"
#include "allocator/sequence_operations.hpp"
#include "allocator/table_operations.hpp"
#include "operations/leased_put.hpp"
#include "operations/lock_operations.hpp"
#include "operations/page_operations.hpp"
#include "operations/put_signal.hpp"

namespace acp::operations {

namespace {

// No constant expression: pointers among initial values are pages of each process's own, whether it
// uses the table or not.
local::OperationTable all_rows() noexcept {
    local::OperationTable all;
    all.add(put_signal_operations);
    all.add(leased_put_operations);
    all.add(lock_operations);
    all.add(page_operations);
    all.add(allocator::heap_operations);
    all.add(allocator::table_operations);
    all.add(allocator::directory_operations);
    all.add(allocator::entry_operations);
    all.add(allocator::list_operations);
    all.add(allocator::sequence_operations);
    return all;
}

}  // namespace

const local::OperationTable& library_operations() noexcept {
    static const local::OperationTable table = all_rows();
    return table;
}

}  // namespace acp::operations
