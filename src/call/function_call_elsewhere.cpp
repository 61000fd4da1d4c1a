// SPDX-License-Identifier: BSD-3-Clause
// The convention of 64-bit ARM (AAPCS64): eight integer registers.
#include "call/register_call.hpp"

namespace acp::call {

std::uint64_t call_function(std::uintptr_t function,
                            const FunctionArguments& arguments,
                            ResultKind result) {
    return call_with_registers<8>(function, arguments, result);
}

}  // namespace acp::call
