// SPDX-License-Identifier: BSD-3-Clause
// What a child of fork() gets when it touches a shared page. The window is not mapped in children,
// so the access raises SIGSEGV, whose default action ends the child. Before that a sentence on
// standard error names the address, the page and fork(); then the signal has its former effect.
// On several nodes FaultService writes the sentence; on one node, where a window needs no faults,
// ChildTouchWatch does. Any thread.
// Tests: tests/conformance/dsm_children_test.cpp, tests/unit/dsm/tracker_conformance.hpp.
#pragma once

#include <memory>

#include "base/status.hpp"
#include "dsm/tracker.hpp"
#include "os/fault_handler.hpp"

namespace acp::dsm {

// Writes the sentence. Async-signal-safe.
//   address  in `memory`
void report_touch_by_child(TrackedMemory memory, const char* address) noexcept;

// Watches the memory of a window on one node, as long as the object lives.
class ChildTouchWatch {
public:
    // Errors: as os::FaultRange::create.
    static base::Result<std::unique_ptr<ChildTouchWatch>> start(TrackedMemory memory);

    ChildTouchWatch(const ChildTouchWatch&) = delete;
    ChildTouchWatch& operator=(const ChildTouchWatch&) = delete;
    ~ChildTouchWatch() = default;

private:
    explicit ChildTouchWatch(TrackedMemory memory) noexcept : memory_(memory) {}

    static bool report(void* self, const os::MemoryFault& fault) noexcept;

    TrackedMemory memory_;
    os::FaultRange range_;
};

}  // namespace acp::dsm
