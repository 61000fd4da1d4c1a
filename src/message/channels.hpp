// SPDX-License-Identifier: BSD-3-Clause
// The channels of a process: their ends and requests by handle, and waiting for requests. One for each epoch. Any thread.
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
    // The handle of a request that has ended already and of which nothing is left but the length of its message. No slot has such a handle.
    //   length  of a receive: at most that of one record; 0 of a send
    [[nodiscard]] static constexpr SlotHandle ended_at_once(std::uint64_t length) noexcept {
        return length << slot_index_bits | no_index;
    }

    [[nodiscard]] static constexpr bool has_ended_at_once(SlotHandle handle) noexcept {
        return (handle & no_index) == no_index && length_of(handle) <= header_bytes_max;
    }

    [[nodiscard]] static constexpr std::uint64_t length_of(SlotHandle ended_at_once) noexcept {
        return ended_at_once >> slot_index_bits;
    }

    // Looks at the ring alone before a thread that waits begins to look at everything.
    static constexpr int looks_at_once = 128;

    //   handles_made  handles_made() of the epoch before this one
    //   all but settings outlive this
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

    // Ends that are not freed are left as they are: the heaps are emptied before the next epoch.
    ~Channels() override = default;
    Channels(const Channels&) = delete;
    Channels& operator=(const Channels&) = delete;

    // Makes this process's end of its next channel with another one.   sender, receiver  < procs
    // Errors: argument (the process is not exactly one of the two), memory, peer, unsupported.
    base::Result<SlotHandle> make(std::uint32_t sender, std::uint32_t receiver);

    // Begins a request, which reads or writes `buffer` until it has ended.
    // Errors: stale (no such end, or it is being freed), argument (not that kind of end), limit, peer.
    base::Result<SlotHandle> begin(SlotHandle channel,
                                   RequestKind kind,
                                   char* buffer,
                                   std::uint64_t bytes);

    // Waits for the end of a request, which is gone then.
    //   timeout_ns  0: only look; < 0: for ever
    //   call        that waits, for people
    // The outer failure: stale (no such request), timeout (it goes on).
    base::Result<RequestEnd> wait(SlotHandle handle,
                                  std::int64_t timeout_ns,
                                  node::AwaitedCall call);

    // Sends a message, or receives one that fits its buffer, without a request: short_way.hpp. true: done. Else nothing has happened, and
    // run() or begin() does it or says why not. Makes no system call that may end a cancelled thread.
    //   looks   > 0: how often it looks for room, or for a message
    //   length  becomes that of the message
    [[nodiscard]] bool send_at_once(SlotHandle channel,
                                    const void* source,
                                    std::uint64_t bytes,
                                    int looks) noexcept;
    [[nodiscard]] bool receive_at_once(SlotHandle channel,
                                       const MessageBuffer& buffer,
                                       int looks,
                                       std::uint64_t& length) noexcept;

    // Of these the part in which nothing is called, for the thread that uses the end most: a message of 1 .. 56 bytes into a buffer no
    // longer than that, one look for room, and no credit to be told.
    //   bell  becomes the word on which the receiver sleeps, whom the caller must wake, with sent_to_sleeper; else it stays
    // none: looked in vain; another: receive_at_once() is to look.
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

    // begin() and wait(), in the call of the kind.
    base::Result<RequestEnd> run(SlotHandle channel,
                                 RequestKind kind,
                                 char* buffer,
                                 std::uint64_t bytes);

    // Waits for what ends have sent. What of it failed, since a partner has gone, is told by requests or by nobody.
    void settle_sent() noexcept;

    // What the next epoch is told, so that no handle of this one means anything there.
    [[nodiscard]] std::uint64_t handles_made() {
        return std::max(ends_.handles_made(), requests_.handles_made());
    }

private:
    class RequestCondition;

    struct Locked {
        ChannelEnd* end;
        std::unique_lock<EndLock> lock;
    };

    // Of all handles of slots only this one's lower bits are ones.
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

    Pairing pairing_;
    ChannelTools tools_;
    bool is_adoption_safe_;  // EndLock::adopt: the kernel has the barrier that it takes
    Slots<ChannelEnd> ends_;
    Slots<ChannelRequest> requests_;
    std::atomic<std::uint32_t> looks_{0};  // of waiting threads
    EndNumbers numbers_;
};

}  // namespace acp::message
