// SPDX-License-Identifier: BSD-3-Clause
// Where in the program a call into this library came from, for messages about mistakes of the program. Walks the stack:
// for slow paths only. Knows nothing of the call. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace acp::os {

struct CallSite {
    std::uintptr_t address = 0;  // of the call's return; 0 = not found
    std::string text;            // "solve+0x2f in ./solver (addr2line -e ./solver 0x11ce)"
};

// The innermost frame that is not in the shared object this function is in; in a program that contains the library,
// the innermost frame.
[[nodiscard]] CallSite find_call_site();

}  // namespace acp::os
