// SPDX-License-Identifier: BSD-3-Clause
// The column of the table of system calls for 64-bit ARM.
#include "call/system_call_record.hpp"

namespace acp::call {

const bool is_elsewhere = true;

}  // namespace acp::call
