// SPDX-License-Identifier: BSD-3-Clause
// The segmented buffers of a process: their ends by handle, and waiting for the partner. One object
// per epoch. Any thread.
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
    //   all other arguments must outlive this
    Segbufs(gma::Gma& gma,
            data::Hashed& hashed,
            data::Allocator& allocator,
            std::uint64_t handles_made) noexcept
        : pairing_(gma, hashed), tools_{gma, allocator, pairing_}, ends_(handles_made) {}

    // Ends that were not freed are not freed here: the heaps are emptied before the next epoch.
    ~Segbufs() = default;
    Segbufs(const Segbufs&) = delete;
    Segbufs& operator=(const Segbufs&) = delete;

    // Makes this process's end of its next segmented buffer with a partner.
    //   partner  < procs
    // Errors: argument (the partner is this process; the sizes), and those of SegbufEnd::make.
    base::Result<SlotHandle> make(std::uint32_t partner, Side side, const SegmentRing& ring);

    // Locks the end of a handle, and returns the result of call(end), a Status or Result. Error of
    // its own: stale (no such end).
    template <typename Call>
    auto with(SlotHandle handle, const Call& call) -> decltype(call(std::declval<SegbufEnd&>())) {
        SegbufEnd* const end = ends_.find(handle);
        if (end == nullptr) return stale();
        const std::scoped_lock lock(end->mutex);
        if (!ends_.is_still(*end, handle)) return stale();
        auto result = call(*end);
        if (result.is_ok()) return result;
        return with_partner(*end, failure_of(std::move(result)));
    }

    // Waits until the partner has made its end. Errors: those of SegbufEnd::is_connected; stale.
    base::Status connect(SlotHandle handle);

    // Waits until the partner has disconnected, and frees the end. Errors: those of begin_free()
    // and finish_free(); stale.
    base::Status free(SlotHandle handle);

    // Waits until the commands of all ends have ended. Later calls on an end report its failure;
    // without one it is discarded.
    void settle_sent() noexcept;

    // The argument of the next epoch's constructor: no handle of this epoch is valid there.
    [[nodiscard]] std::uint64_t handles_made() { return ends_.handles_made(); }

private:
    class EndCondition;

    static base::Status failure_of(base::Status&& status) noexcept { return std::move(status); }

    template <typename T>
    static base::Status failure_of(base::Result<T>&& result) noexcept {
        return std::move(result).failure();
    }

    [[nodiscard]] base::Status with_partner(const SegbufEnd& end,
                                            base::Status status) const noexcept {
        return name_partner(tools_.gma.space().segment(), end.name(), end.side(),
                            std::move(status));
    }

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
