// SPDX-License-Identifier: BSD-3-Clause
// Begins requests, waits for them, and retires them.
#include "message/channels.hpp"

#include <string>
#include <utility>

#include "base/fence.hpp"
#include "gma/condition.hpp"
#include "os/cpu.hpp"
#include "os/membarrier.hpp"

namespace acp::message {

using base::Code;
using base::Result;
using base::Status;

namespace {

// A waiting thread makes progress on its own channel at every poll, and on all channels at every
// 8th.
constexpr std::uint32_t looks_per_round = 8;

// The partner's awaited action, for diagnostics (node/awaited.hpp).
std::string_view awaited_action(RequestKind kind) noexcept {
    switch (kind) {
        case RequestKind::send:
            return "to send to rank %";
        case RequestKind::receive:
            return "for a message from rank %";
        case RequestKind::free:
            break;
    }
    return "for rank % to free the channel too";
}

}  // namespace

// Condition: a request has ended, or another thread has retired it.
class Channels::RequestCondition final : public gma::Condition {
public:
    RequestCondition(Channels& channels, ChannelRequest& request, SlotHandle handle) noexcept
        : channels_(channels),
          request_(request),
          handle_(handle),
          end_(*request.end.load(std::memory_order_relaxed)) {}

    [[nodiscard]] bool is_done() const noexcept {
        // acquire: makes the result visible; partner: RequestQueue::end_front
        return request_.is_done.load(std::memory_order_acquire) ||
               !Slots<ChannelRequest>::is_still(request_, handle_);
    }

    // Polls this end alone.
    gma::LookResult look_here() noexcept {
        if (is_done()) return gma::LookResult::all;
        // A thread that has locked the end makes the same progress.
        const std::unique_lock lock(end_.mutex, std::try_to_lock);
        const bool is_mine = lock && has_end();
        if (is_mine) is_far_ = !channels_.is_near(end_);
        const bool has_moved = is_mine && end_.go_on();
        if (is_done()) return gma::LookResult::all;
        return has_moved ? gma::LookResult::progress : gma::LookResult::nothing;
    }

    gma::LookResult look() override { return look_here(); }

    // Whether the partner is on another node, as of the last poll.
    [[nodiscard]] bool is_far() const noexcept { return is_far_; }

    // Polls once, after waiting for the lock.
    [[nodiscard]] bool look_thoroughly() noexcept {
        const std::scoped_lock lock(end_.mutex);
        if (has_end()) end_.go_on_thoroughly();
        return is_done();
    }

    // While the request is in flight, so that the end is the request's.
    [[nodiscard]] Status with_partner(Status status) const noexcept {
        const std::scoped_lock lock(end_.mutex);
        return has_end() ? channels_.with_partner(end_, std::move(status)) : std::move(status);
    }

    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override {
        const local::Space& space = channels_.tools_.gma.space();
        const ChannelName& name = end_.name();
        memory::Command told;
        told.source = space.starter_address(name.sender);
        told.target = space.starter_address(name.receiver);
        entry.tell(node::WaitFor::partner, since_ns, &told, awaited_action(request_.kind));
    }

private:
    // The caller holds the end's lock: the request is in flight, so no thread has freed the end,
    // whose last request ends after it.
    [[nodiscard]] bool has_end() const noexcept { return !is_done(); }

    Channels& channels_;
    ChannelRequest& request_;
    SlotHandle handle_;
    ChannelEnd& end_;  // valid while the handle names the request
    bool is_far_ = false;
};

Result<SlotHandle> Channels::make(std::uint32_t sender, std::uint32_t receiver) {
    const std::uint32_t own = tools_.gma.space().process();
    if ((sender == own) == (receiver == own)) {
        return Status(Code::argument,
                      sender == receiver
                          ? "sender and receiver are the same rank"
                          : "the calling rank is neither the sender nor the receiver");
    }
    ChannelEnd* const end = ends_.take();
    if (end == nullptr) return Status(Code::limit, "this process has too many ends of channels");
    // No thread finds the end before show(), so none waits for this lock while make() waits for
    // other nodes.
    const std::unique_lock lock(end->mutex);
    Status status = numbers_.make_next(sender, receiver, [&](std::uint64_t number) {
        return end->make(tools_, {sender, receiver, number},
                         sender == own ? Side::sender : Side::receiver);
    });
    if (status.is_ok()) return ends_.show(*end);
    ends_.give_back(*end);
    return status;
}

Status Channels::with_partner(const ChannelEnd& end, Status status) const noexcept {
    return name_partner(tools_.gma.space().segment(), end.name(), end.side(), std::move(status));
}

// Finds the end of a handle and locks it.
Result<Channels::Locked> Channels::find(SlotHandle channel, RequestKind kind) {
    ChannelEnd* const end = ends_.find(channel);
    if (end != nullptr) [[likely]] {
        Locked locked{end, std::unique_lock(end->mutex)};
        if (ends_.is_still(*end, channel) && !end->is_being_freed()) [[likely]] {
            const bool is_fit = kind == RequestKind::free ||
                                (kind == RequestKind::send) == (end->side() == Side::sender);
            if (is_fit) [[likely]] {
                // A request with a dead partner fails at once. acquire: makes the deaths visible;
                // partner: node::mark_dead
                const node::Segment& segment = tools_.gma.space().segment();
                end->heed_deaths(segment.control().deaths.load(std::memory_order_acquire));
                return locked;
            }
            return with_partner(*end, {Code::argument, kind == RequestKind::send
                                                           ? "this rank is the channel's receiver"
                                                           : "this rank is the channel's sender"});
        }
    }
    return Status(Code::stale,
                  "there is no such channel: it was freed, or never made by this rank");
}

// Appends a request to the end's queue. The caller holds the end's lock.
Result<SlotHandle> Channels::add(ChannelEnd& end,
                                 RequestKind kind,
                                 char* buffer,
                                 std::uint64_t bytes) {
    if (end.queue().size() >= tools_.settings.requests_max) {
        return with_partner(
            end, Status::worded(Code::limit, [this] {
                return std::to_string(tools_.settings.requests_max) +
                       " requests are under way on the channel; ACP_CHANNEL_DEPTH allows no more";
            }));
    }
    ChannelRequest* const request = requests_.take();
    if (request == nullptr) return Status(Code::limit, "this process has too many requests");
    request->end.store(&end, std::memory_order_relaxed);
    request->is_done.store(false, std::memory_order_relaxed);
    request->kind = kind;
    request->buffer = buffer;
    request->bytes = bytes;
    request->length = request->moved = request->offer = 0;
    request->lent = {};
    try {
        end.queue().add(*request);
    } catch (const std::bad_alloc&) {
        requests_.give_back(*request);
        throw;
    }
    count_begun();
    if (kind == RequestKind::free) end.begin_free();
    const SlotHandle handle = requests_.show(*request);
    (void)end.go_on();
    return handle;
}

// Locks the end for a thread that has not adopted it; the thread adopts it if no thread ever has.
void Channels::lock_and_adopt(ChannelEnd& end) const noexcept {
    end.mutex.lock();
    if (is_adoption_safe_) end.mutex.adopt();
}

Result<SlotHandle> Channels::begin(SlotHandle channel,
                                   RequestKind kind,
                                   char* buffer,
                                   std::uint64_t bytes) {
    auto found = find(channel, kind);
    if (!found.is_ok()) return std::move(found).failure();
    return add(*found.value().end, kind, buffer, bytes);
}

Result<RequestEnd> Channels::run(SlotHandle channel,
                                 RequestKind kind,
                                 char* buffer,
                                 std::uint64_t bytes) {
    auto request = begin(channel, kind, buffer, bytes);
    if (!request.is_ok()) return std::move(request).failure();
    return wait(request.value(), -1);
}

Result<RequestEnd> Channels::wait(SlotHandle handle, std::int64_t timeout_ns) {
    if (has_ended_at_once(handle)) return RequestEnd{{}, length_of(handle)};
    ChannelRequest* const request = requests_.find(handle);
    if (request == nullptr) {
        return Status(Code::stale, "there is no such request: it has ended, or was never made");
    }
    RequestCondition condition(*this, *request, handle);
    bool is_done = condition.is_done();
    const int looks = timeout_ns == 0 ? 1 : looks_at_once;
    for (int i = 0; i < looks && !is_done; ++i) {
        is_done = condition.look_here() == gma::LookResult::all;
        // What a partner on another node sends arrives only while a gateway runs, perhaps in this
        // thread or on its CPU: the full wait is due.
        if (condition.is_far()) break;
        if (!is_done) os::relax();
    }
    if (!is_done && timeout_ns == 0) {
        is_done = condition.look_thoroughly();
        if (!is_done) tools_.gma.under_way().look_in_vain();
    }
    if (!is_done) {
        const node::Outcome outcome = tools_.gma.wait_until(condition, timeout_ns);
        if (outcome == node::Outcome::timeout) {
            return condition.with_partner(Status::worded(Code::timeout, [timeout_ns] {
                return "the request has not ended after " + std::to_string(timeout_ns) + " ns";
            }));
        }
    }
    return take(*request, handle);
}

// Retires a completed request. If several threads wait for it, exactly one gets the result and the
// others get `stale`.
RequestEnd Channels::take(ChannelRequest& request, SlotHandle handle) {
    ChannelEnd& end = *request.end.load(std::memory_order_relaxed);
    const std::scoped_lock lock(end.mutex);
    if (!requests_.is_still(request, handle)) {
        return {Status(Code::stale, "another thread has got the result of this request"), 0};
    }
    RequestEnd ended = std::move(request.result);
    request.result = {};
    ended.status = with_partner(end, std::move(ended.status));
    ended.channel = end.slot.next;
    count_ended();
    const bool is_free = request.kind == RequestKind::free;
    requests_.give_back(request);
    if (is_free) {
        end.drop();
        ends_.give_back(end);
    }
    return ended;
}

bool Channels::is_near(const ChannelEnd& end) const noexcept {
    const local::Space& space = tools_.gma.space();
    return space.is_on_node(end.name().sender) && space.is_on_node(end.name().receiver);
}

void Channels::settle_sent() noexcept {
    ends_.for_each([](ChannelEnd& end) {
        const std::scoped_lock lock(end.mutex);
        end.settle_sent();
    });
}

void Channels::go_on(bool is_thorough) noexcept {
    if (!is_thorough && looks_.fetch_add(1, std::memory_order_relaxed) % looks_per_round != 0)
        return;
    ends_.for_each([is_thorough](ChannelEnd& end) {
        std::unique_lock lock(end.mutex, std::defer_lock);
        if (is_thorough) {
            lock.lock();
        } else if (!lock.try_lock()) {
            return;  // the thread that has locked it makes progress
        }
        if (end.queue().is_empty()) return;
        if (is_thorough) return end.go_on_thoroughly();
        (void)end.go_on();
    });
}

}  // namespace acp::message
