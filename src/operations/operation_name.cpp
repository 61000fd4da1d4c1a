// SPDX-License-Identifier: BSD-3-Clause
// Looks the number up.
#include "operations/operation_name.hpp"

#include "operations/library_operations.hpp"

namespace acp::operations {

std::string_view name_of_operation(std::uint32_t number) {
    const local::NumberedOperation* const row = library_operations().find(number);
    return row != nullptr ? row->name : "";
}

}  // namespace acp::operations
