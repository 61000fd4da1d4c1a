// SPDX-License-Identifier: BSD-3-Clause
// The column of the table of system calls for x86-64.
#include "call/system_call_record.hpp"

namespace acp::call {

const bool is_elsewhere = false;

}  // namespace acp::call
