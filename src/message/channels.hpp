// SPDX-License-Identifier: BSD-3-Clause
// The channels of a process: their ends and requests by handle, and waiting for requests. One
// object per epoch. Any thread.
// Tests: tests/conformance/channel_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/status.hpp"
#include "message/channel_end.hpp"
#include "message/end_numbers.hpp"
#include "message/pairing.hpp"
#include "message/request.hpp"
#include "message/slots.hpp"
#include "node/awaited.hpp"

namespace acp::message {

class Channels final : public gma::WorkUnderWay {
public:
    // The handle of a request that ended at its begin; it holds only the length of the message. No
    // slot has such a handle.
    //   length  of a receive: at most that of one record; of a send: 0
    [[nodiscard]] static constexpr SlotHandle ended_at_once(std::uint64_t length) noexcept {
        return length << slot_index_bits | no_index;
    }

    [[nodiscard]] static constexpr bool has_ended_at_once(SlotHandle handle) noexcept {
        return (handle & no_index) == no_index && length_of(handle) <= header_bytes_max;
    }

    [[nodiscard]] static constexpr std::uint64_t length_of(SlotHandle ended_at_once) noexcept {
        return ended_at_once >> slot_index_bits;
    }

    // How often a waiting thread polls a ring of its node alone before it makes progress on everything.
    static constexpr int looks_at_once = 128;

    //   handles_made  handles_made() of the epoch before this one
    //   all arguments but settings must outlive this
    Channels(gma::Gma& gma,
             data::Hashed& hashed,
             data::Allocator& allocator,
             const ChannelSettings& settings,
             std::uint64_t handles_made) noexcept
        : gma::WorkUnderWay(gma.under_way()),
          pairing_(gma, hashed),
          tools_{gma, allocator, pairing_, settings},
          is_adoption_safe_(gma.hazards().has_membarrier()),
          ends_(handles_made),
          requests_(handles_made) {}

    // Ends that were not freed are not freed here: the heaps are emptied before the next epoch.
    ~Channels() override = default;
    Channels(const Channels&) = delete;
    Channels& operator=(const Channels&) = delete;

    // Makes this process's end of its next channel with another process.
    //   sender, receiver  < procs
    // Errors: argument (the process is not exactly one of the two), memory, peer, unsupported.
    base::Result<SlotHandle> make(std::uint32_t sender, std::uint32_t receiver);

    // Begins a request, which reads or writes `buffer` until it has ended.
    // Errors: stale (no such end, or it is being freed), argument (the other kind of end), limit,
    // peer.
    base::Result<SlotHandle> begin(SlotHandle channel,
                                   RequestKind kind,
                                   char* buffer,
                                   std::uint64_t bytes);

    // Waits for the end of a request and retires it. Outer errors: stale (no such request), timeout
    // (the request is still in flight).
    //   timeout_ns  0: only polls; < 0: for ever
    base::Result<RequestEnd> wait(SlotHandle handle, std::int64_t timeout_ns);

    // Sends a message, or receives one that fits its buffer, without a request: short_way.hpp.
    // True: done. False: nothing has happened, and run() or begin() does it or returns the error.
    // Makes no system call that is a cancellation point.
    //   looks   > 0: how often it polls for room, or for a message
    //   length  receives the length of the message
    [[nodiscard]] bool send_at_once(SlotHandle channel,
                                    const void* source,
                                    std::uint64_t bytes,
                                    int looks) noexcept;
    [[nodiscard]] bool receive_at_once(SlotHandle channel,
                                       const MessageBuffer& buffer,
                                       int looks,
                                       std::uint64_t& length) noexcept;

    // The cases of send_at_once() and receive_at_once() that take no function call, for the thread
    // that has adopted the end: a message of 1 .. 56 bytes into a buffer of at most that size, one
    // poll for room, and no credit that is due. none: polled without success; another: use
    // receive_at_once().
    //   bell  set with sent_to_sleeper only: the word on which the caller must wake the receiver
    using BellWord = std::atomic<std::uint32_t>;
    [[nodiscard]] SendAttempt send_line(SlotHandle channel,
                                        const void* source,
                                        std::uint64_t bytes,
                                        BellWord*& bell) noexcept;
    [[nodiscard]] LineTaken receive_line(SlotHandle channel,
                                         const MessageBuffer& buffer,
                                         int looks,
                                         std::uint64_t& length) noexcept;

    void go_on(bool is_thorough) noexcept override;

    // begin() and wait(), with the blocking call of this kind.
    base::Result<RequestEnd> run(SlotHandle channel,
                                 RequestKind kind,
                                 char* buffer,
                                 std::uint64_t bytes);

    // Waits until the commands that ends have issued have ended. Requests report their failures;
    // without a request they are discarded.
    void settle_sent() noexcept;

    // The argument of the next epoch's constructor: no handle of this epoch is valid there.
    [[nodiscard]] std::uint64_t handles_made() {
        return std::max(ends_.handles_made(), requests_.handles_made());
    }

private:
    class RequestCondition;

    struct Locked {
        ChannelEnd* end;
        std::unique_lock<EndLock> lock;
    };

    // No handle of a slot has ones in all of these bits.
    static constexpr SlotHandle no_index = (SlotHandle{1} << slot_index_bits) - 1;

    void lock_and_adopt(ChannelEnd& end) const noexcept;
    template <auto ring_of, typename Call>
    bool at_ring(SlotHandle channel, Call call) noexcept;
    template <auto ring_of, typename Call>
    void at_own_ring(SlotHandle channel, const Call& call) noexcept;
    base::Result<Locked> find(SlotHandle channel, RequestKind kind);
    base::Result<SlotHandle> add(ChannelEnd& end,
                                 RequestKind kind,
                                 char* buffer,
                                 std::uint64_t bytes);
    RequestEnd take(ChannelRequest& request, SlotHandle handle);
    [[nodiscard]] bool is_near(const ChannelEnd& end) const noexcept;
    base::Status with_partner(const ChannelEnd& end, base::Status status) const noexcept;

    Pairing pairing_;
    ChannelTools tools_;
    bool is_adoption_safe_;  // EndLock::adopt may be used: the kernel has the barrier that it needs
    Slots<ChannelEnd> ends_;
    Slots<ChannelRequest> requests_;
    std::atomic<std::uint32_t> looks_{0};  // polls of waiting threads
    EndNumbers numbers_;
};

}  // namespace acp::message
