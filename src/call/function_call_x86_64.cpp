// SPDX-License-Identifier: BSD-3-Clause
// The System V convention of x86-64: six integer registers.
#include "call/register_call.hpp"

namespace acp::call {

std::uint64_t call_function(std::uintptr_t function,
                            const FunctionArguments& arguments,
                            ResultKind result) {
    return call_with_registers<6>(function, arguments, result);
}

}  // namespace acp::call
