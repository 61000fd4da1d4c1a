// SPDX-License-Identifier: BSD-3-Clause
// The sentence, and a range of faults that are reported and not repaired.
#include "dsm/child_touch.hpp"

#include <cstdint>
#include <utility>

#include "dsm/signal_line.hpp"

namespace acp::dsm {

void report_touch_by_child(TrackedMemory memory, const char* address) noexcept {
    const auto page = static_cast<std::uint64_t>(address - memory.begin) / pages::page_bytes;
    (SignalLine() << "acp: this process touched address " << static_cast<const void*>(address)
                  << " in shared page " << page
                  << ", which it does not have: a child of fork() does not inherit shared pages")
        .write();
}

base::Result<std::unique_ptr<ChildTouchWatch>> ChildTouchWatch::start(TrackedMemory memory) {
    std::unique_ptr<ChildTouchWatch> watch(new ChildTouchWatch(memory));
    auto range =
        os::FaultRange::create(memory.begin, memory.pages * pages::page_bytes, report, watch.get());
    if (!range.is_ok()) return std::move(range).failure();
    watch->range_ = std::move(range).value();
    return watch;
}

// Returns false: the page cannot be mapped here.
bool ChildTouchWatch::report(void* self, const os::MemoryFault& fault) noexcept {
    if (fault.cause == os::FaultCause::unmapped) {
        report_touch_by_child(static_cast<ChildTouchWatch*>(self)->memory_, fault.address);
    }
    return false;
}

}  // namespace acp::dsm
