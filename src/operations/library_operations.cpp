// SPDX-License-Identifier: BSD-3-Clause
// The rows of all layers. A program that links the layers and defines library_operations() itself has a table of its own: this
// is how a test library reaches its ranks and its agents.
#include "operations/library_operations.hpp"

#include <array>

#include "allocator/entry_operations.hpp"
#include "allocator/list_operations.hpp"
#include "allocator/operations.hpp"
#include "allocator/sequence_operations.hpp"
#include "allocator/table_operations.hpp"
#include "operations/put_notify.hpp"
#include "operations/put_signal.hpp"

namespace acp::operations {

namespace {

constexpr std::array rows{
    local::NumberedOperation{put_signal_number, "acp_put_signal", memory::invoke_bytes_max, 0,
                             put_signal, put_signal_places},
    local::NumberedOperation{put_notify_number, "a message of a channel", memory::invoke_bytes_max,
                             0, put_notify, put_notify_places},
};

}  // namespace

const local::OperationTable& library_operations() noexcept {
    static const local::OperationTable table = [] {
        local::OperationTable all;
        all.add(rows);
        all.add(allocator::operations());
        all.add(allocator::table_operations());
        all.add(allocator::entry_operations());
        all.add(allocator::list_operations());
        all.add(allocator::sequence_operations());
        return all;
    }();
    return table;
}

}  // namespace acp::operations
