// SPDX-License-Identifier: BSD-3-Clause
// Registers memory of the program, for several calls of the interface. Any thread.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "local/registry.hpp"

namespace acp::api {

// Registers memory as acp_register_memory says.
//   call   of the interface, for messages
//   color  the program's argument
// Errors: as acp_register_memory, with words that name the call, the memory and this rank.
[[nodiscard]] base::Result<local::Key> add_registration(const char* call,
                                                        void* address,
                                                        std::size_t size,
                                                        int color);

}  // namespace acp::api
