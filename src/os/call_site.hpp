// SPDX-License-Identifier: BSD-3-Clause
// Finds where in the program a call into this library came from, for messages about mistakes of the
// program. Walks the stack, so use it on slow paths only. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace acp::os {

struct CallSite {
    std::uintptr_t address = 0;  // return address of the call; 0 = not found
    std::string text;            // "solve+0x2f in ./solver (addr2line -e ./solver 0x11ce)"
};

// Returns the innermost frame outside the shared object that contains this function; if the program
// contains the library statically, the innermost frame.
[[nodiscard]] CallSite find_call_site();

}  // namespace acp::os
