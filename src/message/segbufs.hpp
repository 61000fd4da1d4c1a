// SPDX-License-Identifier: BSD-3-Clause
// The segmented buffers of a process: their ends by handle, and waiting for the other rank. One for each epoch. Any thread.
// Tests: tests/conformance/segbuf_test.cpp.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "base/status.hpp"
#include "message/end_numbers.hpp"
#include "message/pairing.hpp"
#include "message/segbuf_end.hpp"
#include "message/slots.hpp"
#include "node/awaited.hpp"

namespace acp::message {

class Segbufs {
public:
    //   handles_made  handles_made() of the epoch before this one
    //   all else outlives this
    Segbufs(gma::Gma& gma,
            data::Hashed& hashed,
            data::Allocator& allocator,
            std::uint64_t handles_made) noexcept
        : pairing_(gma, hashed), tools_{gma, allocator, pairing_}, ends_(handles_made) {}

    // Ends that are not freed are left as they are: the heaps are emptied before the next epoch.
    ~Segbufs() = default;
    Segbufs(const Segbufs&) = delete;
    Segbufs& operator=(const Segbufs&) = delete;

    // Makes this process's end of its next segmented buffer with a partner.   partner  < procs
    // Errors: argument (the partner is this process; the sizes), and those of SegbufEnd::make.
    base::Result<SlotHandle> make(std::uint32_t partner, Side side, const SegmentRing& ring);

    // Calls call(end) with the end of a handle, locked, and returns the Status or Result that it returns. Errors of its own: stale (no
    // such end).
    template <typename Call>
    auto with(SlotHandle handle, const Call& call) -> decltype(call(std::declval<SegbufEnd&>())) {
        SegbufEnd* const end = ends_.find(handle);
        if (end == nullptr) return stale();
        const std::scoped_lock lock(end->mutex);
        if (!ends_.is_still(*end, handle)) return stale();
        return call(*end);
    }

    // Waits until the partner has made its end. Errors: as SegbufEnd::is_connected; stale.
    base::Status connect(SlotHandle handle);

    // Waits until the partner has disconnected, and frees the end. Errors: as of begin_free() and finish_free(); stale.
    base::Status free(SlotHandle handle);

    // Waits for what ends have begun to send. What of it failed, since a partner has gone, is told by calls on them or by nobody.
    void settle_sent() noexcept;

    // What the next epoch is told, so that no handle of this one means anything there.
    [[nodiscard]] std::uint64_t handles_made() { return ends_.handles_made(); }

private:
    class EndCondition;

    static base::Status stale() {
        return {base::Code::stale,
                "there is no such segmented buffer: it was freed, or never made by this rank"};
    }

    Pairing pairing_;
    SegbufTools tools_;
    Slots<SegbufEnd> ends_;
    EndNumbers numbers_;
};

}  // namespace acp::message
