// SPDX-License-Identifier: BSD-3-Clause
// Starts a tracker by its kind.
#include "dsm/tracker.hpp"

#include "dsm/watched_pages.hpp"

namespace acp::dsm {

namespace {

class NoTracker final : public Tracker {
public:
    os::PageOutcome map(PageRange /*pages*/, MapAs /*as*/) noexcept override { return {}; }

    os::PageOutcome admit(pages::PageNumber /*page*/,
                          os::FaultAccess /*access*/) noexcept override {
        return {};
    }

    os::PageOutcome unmap(PageRange /*pages*/) noexcept override { return {}; }

    os::PageOutcome arm(PageRange /*pages*/) noexcept override { return {}; }

    base::Status harvest(WrittenPages& /*written*/) noexcept override { return {}; }

    base::Status find_written(PageRange /*pages*/,
                              WrittenPages& /*written*/) const noexcept override {
        return {};
    }

    [[nodiscard]] TrackerKind kind() const noexcept override { return TrackerKind::none; }
};

}  // namespace

base::Result<std::unique_ptr<Tracker>> Tracker::start(TrackerKind kind,
                                                      TrackedMemory memory,
                                                      MappedPages<>& mapped) {
    switch (kind) {
        case TrackerKind::none:
            break;
        case TrackerKind::async:
            return start_async(memory, mapped);
        case TrackerKind::sync:
            return start_sync(memory, mapped);
        case TrackerKind::protect:
            return start_protect(memory, mapped);
    }
    return std::unique_ptr<Tracker>(std::make_unique<NoTracker>());
}

}  // namespace acp::dsm
