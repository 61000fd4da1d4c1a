// SPDX-License-Identifier: BSD-3-Clause
// The range, the refusal, and the plain mapping in place of shared pages.
#include "api/shared_range.hpp"

#include <string>

#include "api/library.hpp"

namespace acp::api {

constinit FaultingRange shared_range{};

void begin_shared_range(const dsm::Window& window) noexcept {
    if (window.nodes() == 1) return;
    shared_range.begin.store(reinterpret_cast<std::uintptr_t>(window.tracked(0)),
                             std::memory_order_relaxed);
    shared_range.bytes.store(window.bytes(), std::memory_order_relaxed);
}

void end_shared_range() noexcept {
    shared_range.bytes.store(0, std::memory_order_relaxed);
}

base::Status in_shared_range(const char* name) {
    return {base::Code::unsupported,
            std::string(name) +
                " lies in shared pages, which this call does not take in a job of several nodes; "
                "acp_put and acp_get do, and copies to other memory"};
}

base::Result<char*> plain_pointer(void* pointer, std::uint64_t bytes, PointerUse use) {
    if (refuse_shared("", pointer, bytes).is_ok()) return static_cast<char*>(pointer);
    dsm::SharedPages& pages = *library().shared_pages;
    const bool is_inside =
        pages.window().has(pointer) && pages.window().has(static_cast<char*>(pointer) + bytes - 1);
    if (!is_inside || bytes > pages.window().bytes()) {
        return base::Status(base::Code::argument, "only a part of the range lies in shared pages");
    }
    return pages.plain(static_cast<char*>(pointer), bytes, use == PointerUse::written);
}

}  // namespace acp::api
