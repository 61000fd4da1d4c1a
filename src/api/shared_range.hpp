// SPDX-License-Identifier: BSD-3-Clause
// Pointers of the program into shared pages of several nodes. A touch of such memory may have to fetch
// the page, so a call that lends it, sends it later or copies it under a lock refuses it: the fetch
// would wait for what the thread itself holds, or another thread would touch the page, whose signals
// are blocked. One comparison. Any thread.
// Tests: tests/conformance/dsm_pointers_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/status.hpp"

namespace acp::dsm {
class Window;
}

namespace acp::api {

// Written by acp_init_dsm and by the end of shared pages; relaxed, for a program has the pointers
// after acp_init_dsm.
struct FaultingRange {
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> bytes{0};  // 0: there are none, or all ranks are on one node
};

extern constinit FaultingRange shared_range __attribute__((visibility("hidden")));

[[nodiscard, gnu::always_inline]] inline bool is_in_shared_range(const void* pointer) noexcept {
    return reinterpret_cast<std::uintptr_t>(pointer) -
               shared_range.begin.load(std::memory_order_relaxed) <
           shared_range.bytes.load(std::memory_order_relaxed);
}

// "buf lies in shared pages ..."
[[nodiscard, gnu::cold, gnu::noinline]] base::Status in_shared_range(const char* name);

// Refuses a buffer that overlaps the range. Errors: unsupported.
[[nodiscard]] inline base::Status refuse_shared(const char* name,
                                                const void* pointer,
                                                std::uint64_t bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(pointer);
    const std::uintptr_t begin = shared_range.begin.load(std::memory_order_relaxed);
    const bool reaches_it =
        begin - first < bytes && shared_range.bytes.load(std::memory_order_relaxed) != 0;
    if (bytes == 0 || !(is_in_shared_range(pointer) || reaches_it)) [[likely]]
        return {};
    return in_shared_range(name);
}

// How a call that takes shared pages uses the memory.
enum class PointerUse : std::uint8_t { read, written };

// Replaces a pointer into shared pages, which are fetched, by one to the same bytes in the plain
// mapping, which raises no fault. Any other pointer stays. A call that writes has to end before the
// next barrier of shared pages. Returns false, and reports the call's failure, which may end the process:
// argument (only a part of the range lies in allocated shared pages), peer (the home of a page is lost).
[[nodiscard]] bool open_pointer(const char* call,
                                char*& pointer,
                                std::uint64_t bytes,
                                PointerUse use);

// The window is there, and is there no more. While no other thread uses it.
void begin_shared_range(const dsm::Window& window) noexcept;
void end_shared_range() noexcept;

}  // namespace acp::api
