// SPDX-License-Identifier: BSD-3-Clause
// Registering memory of the program, for the calls of the interface that do so. Any thread.
#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "local/registry.hpp"

namespace acp::api {

// Registers memory as acp_register_memory says.
//   call   of the interface, for messages
//   color  as the program gave it
// Errors: as acp_register_memory, with words that name the call, the memory and this rank.
[[nodiscard]] base::Result<local::Key> add_registration(const char* call,
                                                        void* address,
                                                        std::size_t size,
                                                        int color);

}  // namespace acp::api
