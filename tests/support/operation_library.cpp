// SPDX-License-Identifier: BSD-3-Clause
// Makes the test library's table the table of the program: the linker takes this definition before
// that of the layer operations.
#include "support/operation_library.hpp"

#include "operations/library_operations.hpp"

namespace acp::operations {

const local::OperationTable& library_operations() noexcept {
    return acp::test::operation_table;
}

}  // namespace acp::operations
