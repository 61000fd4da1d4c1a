// SPDX-License-Identifier: BSD-3-Clause
// Shared by the calls on ends of channels and of segmented buffers: handles that have the type of a
// pointer, and ranks as arguments. Any thread. Tests: tests/unit/api/ends_test.cpp,
// tests/conformance/channel_test.cpp, segbuf_test.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "api/library.hpp"
#include "base/status.hpp"

namespace acp::api {

template <typename Pointer>
std::uint64_t number_of(Pointer handle) noexcept {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));
}

template <typename Pointer>
Pointer handle_of(std::uint64_t number) noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle is a number of a pointer type
    return reinterpret_cast<Pointer>(static_cast<std::uintptr_t>(number));
}

// The process of a call's rank argument.   end  the argument's name, for messages
// Errors: argument.
inline base::Result<std::uint32_t> process_of(const char* end, int rank) {
    const std::uint32_t procs = library().member->procs();
    if (rank < 0 || static_cast<std::uint32_t>(rank) >= procs) {
        return base::Status(base::Code::argument, std::string(end) + " " + std::to_string(rank) +
                                                      " is not one of ranks 0 to " +
                                                      std::to_string(procs - 1));
    }
    return library().gma->space().segment().process_of(static_cast<std::uint32_t>(rank));
}

}  // namespace acp::api
