// SPDX-License-Identifier: BSD-3-Clause
// Finds where in the program a call into this library came from, for messages about mistakes of the
// program. Walks the stack, so use it on slow paths only. Any thread. Tests:
// tests/unit/os/call_site_test.cpp.
#pragma once

#include <cstdint>
#include <string>

namespace acp::os {

struct CallSite {
    // Differs between any two calls in the program: the return address of the call, or a hash of
    // the return addresses of its stack. 0: not found.
    std::uintptr_t identity = 0;
    std::string text;  // "solve+0x2f in ./solver (addr2line -e ./solver 0x11ce)"
};

// Returns the innermost frame outside the shared object that contains this function. A program that
// is linked with libacp.a contains both: its text lists all frames of the program, the innermost
// first, since nothing says which of them belong to the library.
[[nodiscard]] CallSite find_call_site();

}  // namespace acp::os
