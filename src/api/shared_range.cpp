// SPDX-License-Identifier: BSD-3-Clause
// The range, the refusal, and the plain mapping in place of shared pages.
#include "api/shared_range.hpp"

#include <string>
#include <utility>

#include "api/boundary.hpp"
#include "api/fatal.hpp"
#include "api/library.hpp"
#include "base/format.hpp"

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

bool open_pointer(const char* call, char*& pointer, std::uint64_t bytes, PointerUse use) {
    if (refuse_shared("", pointer, bytes).is_ok()) return true;
    dsm::SharedPages& pages = *library().shared_pages;
    const bool is_inside = bytes <= pages.window().bytes() && pages.window().has(pointer) &&
                           pages.window().has(pointer + bytes - 1);
    auto opened = is_inside
                      ? pages.plain(pointer, bytes, use == PointerUse::written)
                      : base::Status(base::Code::argument,
                                     "only a part of the range of " + base::in_bytes(bytes) +
                                         " from address " +
                                         base::hex(reinterpret_cast<std::uintptr_t>(pointer)) +
                                         " lies in shared pages");
    if (opened.is_ok()) {
        pointer = opened.value();
        return true;
    }
    tell(call, in_call(call, std::move(opened).failure()), true);
    return false;
}

}  // namespace acp::api
