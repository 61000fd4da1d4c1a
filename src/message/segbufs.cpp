// SPDX-License-Identifier: BSD-3-Clause
// Makes ends, connects them and frees them.
#include "message/segbufs.hpp"

#include <string>
#include <utility>

#include "gma/condition.hpp"

namespace acp::message {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::uint64_t buffer_bytes_end = std::uint64_t{1} << 61;

Status check(const SegmentRing& ring) {
    const auto sizes = [&] {
        return std::to_string(ring.segments) + " segments of " +
               std::to_string(ring.segment_bytes) + " bytes";
    };
    if (ring.segment_bytes == 0 || ring.segments == 0) {
        return {Code::argument, sizes() + ": both numbers are 1 or more"};
    }
    if (ring.segments > (buffer_bytes_end - 1) / ring.segment_bytes) {
        return {Code::argument, sizes() + " are not below 2^61 bytes"};
    }
    if (ring.buffer == nullptr) return {Code::argument, "buf is NULL"};
    return {};
}

}  // namespace

// Condition: an end is connected, or may be freed.
class Segbufs::EndCondition final : public gma::Condition {
public:
    enum class Awaited { connection, disconnection };

    EndCondition(const SegbufTools& tools,
                 SegbufEnd& end,
                 SlotHandle handle,
                 Awaited awaited) noexcept
        : tools_(tools), end_(end), handle_(handle), awaited_(awaited) {}

    gma::LookResult look() override {
        // The lock is held only for steps that do not wait.
        const std::scoped_lock lock(end_.mutex);
        if (awaited_ == Awaited::disconnection) {
            return end_.is_over() ? gma::LookResult::all : gma::LookResult::nothing;
        }
        if (!Slots<SegbufEnd>::is_still(end_, handle_)) {
            failure = stale();
            return gma::LookResult::all;
        }
        auto connected = end_.is_connected();
        if (!connected.is_ok()) {
            failure = std::move(connected).failure();
            return gma::LookResult::all;
        }
        return connected.value() ? gma::LookResult::all : gma::LookResult::nothing;
    }

    // The partner's operation (operations::put_signal_set) rings without being asked, and so does a
    // death.
    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override {
        const local::Space& space = tools_.gma.space();
        memory::Command told;
        told.source = space.starter_address(end_.name().sender);
        told.target = space.starter_address(end_.name().receiver);
        entry.tell(node::WaitFor::partner, since_ns, &told,
                   awaited_ == Awaited::connection ? "for rank % to make its end"
                                                   : "for rank % to disconnect too");
    }

    Status failure;

private:
    const SegbufTools& tools_;
    SegbufEnd& end_;
    SlotHandle handle_;
    Awaited awaited_;
};

Result<SlotHandle> Segbufs::make(std::uint32_t partner, Side side, const SegmentRing& ring) {
    const std::uint32_t own = tools_.gma.space().process();
    if (partner == own) return Status(Code::argument, "the other rank is the calling one");
    if (Status status = check(ring); !status.is_ok()) return status;
    SegbufEnd* const end = ends_.take();
    if (end == nullptr) {
        return Status(Code::limit, "this process has too many ends of segmented buffers");
    }
    const std::scoped_lock lock(end->mutex);
    const bool is_source = side == Side::sender;
    ChannelName name{is_source ? own : partner, is_source ? partner : own, 0, EndKind::segbuf};
    Status status = numbers_.make_next(name.sender, name.receiver, [&](std::uint64_t number) {
        name.number = number;
        return end->make(tools_, name, side, ring);
    });
    if (status.is_ok()) return ends_.show(*end);
    ends_.give_back(*end);
    return status;
}

void Segbufs::settle_sent() noexcept {
    ends_.for_each([](SegbufEnd& end) {
        const std::scoped_lock lock(end.mutex);
        end.settle_sent();
    });
}

Status Segbufs::connect(SlotHandle handle) {
    SegbufEnd* const end = ends_.find(handle);
    if (end == nullptr) return stale();
    EndCondition condition(tools_, *end, handle, EndCondition::Awaited::connection);
    (void)tools_.gma.wait_until(condition, -1);
    if (condition.failure.code() == Code::stale) return std::move(condition.failure);
    const std::scoped_lock lock(end->mutex);
    return ends_.is_still(*end, handle) ? with_partner(*end, std::move(condition.failure))
                                        : std::move(condition.failure);
}

Status Segbufs::free(SlotHandle handle) {
    Status status = with(handle, [](SegbufEnd& end) { return end.begin_free(); });
    if (!status.is_ok()) return status;
    // No other thread can free it now, so it stays valid.
    SegbufEnd& end = *ends_.find(handle);
    EndCondition condition(tools_, end, handle, EndCondition::Awaited::disconnection);
    (void)tools_.gma.wait_until(condition, -1);
    const std::scoped_lock lock(end.mutex);
    status = with_partner(end, end.finish_free());
    ends_.give_back(end);
    return status;
}

}  // namespace acp::message
