// SPDX-License-Identifier: BSD-3-Clause
// The rows of all layers. A program that links the layers and defines library_operations() itself has its own table: a test
// library comes to its ranks and its agents so.
#include "operations/library_operations.hpp"

namespace acp::operations {

const local::OperationTable& library_operations() noexcept {
    static constexpr local::OperationTable table;  // no layer that is built has operations
    return table;
}

}  // namespace acp::operations
