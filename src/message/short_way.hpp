// SPDX-License-Identifier: BSD-3-Clause
// Sends or receives a one-record message between two ranks of a node in the calling thread, without
// a request. Contract: the message is sent or received in its order among those with requests, from
// whichever thread; or else nothing has happened. Any thread; the lock of the end orders them.
// Nothing here throws, allocates, reads a clock, or is a cancellation point.
//
// Cost beyond the copy: the lock, which is a store and a load for the thread that has adopted the
// end (end_lock.hpp); the ring's own words (ring.hpp); one check of the receiver's bell. No locked
// instruction, no fence, and no shared line that both ends write except the record's. A message
// needs a request instead if one is in flight on the end; if the end has no partner yet, is broken
// or is being freed (ChannelEnd::ring_to_send); if the ring is full or empty; if the message has
// several records; or if it is too long for its buffer.
#pragma once

#include <cstdint>
#include <mutex>

#include "message/channels.hpp"
#include "message/payload_copy.hpp"
#include "os/cpu.hpp"
#include "os/futex.hpp"

namespace acp::message {

// Locks a channel's end for the calling thread, and calls call(ring) with the ring that
// (end.*ring_of)() returns. False: there is no such end or no ring now, or call() returned false.
template <auto ring_of, typename Call>
[[gnu::always_inline]] inline bool Channels::at_ring(SlotHandle channel, Call call) noexcept {
    ChannelEnd* const end = ends_.find(channel);
    if (end == nullptr) [[unlikely]]
        return false;
    if (!end->mutex.lock_as_adopter()) [[unlikely]]
        lock_and_adopt(*end);
    const std::lock_guard lock(end->mutex, std::adopt_lock);
    if (auto* const ring = (end->*ring_of)(); ring != nullptr && ends_.is_still(*end, channel))
        [[likely]] {
        return call(*ring);
    }
    return false;
}

// at_ring() for the thread that has adopted the lock, and for a call() that calls no function: so
// the compiler saves no registers.
template <auto ring_of, typename Call>
[[gnu::always_inline]] inline void Channels::at_own_ring(SlotHandle channel,
                                                         const Call& call) noexcept {
    ChannelEnd* const end = ends_.at(channel);
    if (end == nullptr || !end->mutex.lock_as_adopter()) [[unlikely]]
        return;
    if (auto* const ring = (end->*ring_of)(); ring != nullptr && ends_.is_still(*end, channel))
        [[likely]] {
        call(*ring);
    }
    end->mutex.unlock_as_adopter();
}

[[gnu::always_inline]] inline SendAttempt Channels::send_line(SlotHandle channel,
                                                              const void* source,
                                                              std::uint64_t bytes,
                                                              BellWord*& bell) noexcept {
    SendAttempt outcome = SendAttempt::full;
    if (bytes == 0 || !is_one_line(bytes)) [[unlikely]]
        return outcome;
    at_own_ring<&ChannelEnd::ring_to_send>(
        channel, [&](NearSender & ring) __attribute__((always_inline)) {
            outcome = ring.send_line(source, bytes, static_cast<std::uint8_t>(RecordTag::whole));
            if (outcome == SendAttempt::sent_to_sleeper) [[unlikely]]
                bell = &ring.path().peer().word();
        });
    return outcome;
}

[[gnu::always_inline]] inline LineTaken Channels::receive_line(SlotHandle channel,
                                                               const MessageBuffer& buffer,
                                                               int looks,
                                                               std::uint64_t& length) noexcept {
    LineTaken taken = LineTaken::another;
    if (!is_one_line(buffer.bytes)) [[unlikely]]
        return taken;  // a receive with room for a long message polls in receive_at_once()
    at_own_ring<&ChannelEnd::ring_to_receive>(
        channel, [&](NearReceiver & ring) __attribute__((always_inline)) {
            constexpr auto whole = static_cast<std::uint8_t>(RecordTag::whole);
            for (;;) {
                taken = ring.take_line(whole, buffer.data, buffer.bytes, length);
                if (taken != LineTaken::none || --looks == 0) break;
                os::relax();
            }
        });
    return taken;
}

inline bool Channels::send_at_once(SlotHandle channel,
                                   const void* source,
                                   std::uint64_t bytes,
                                   int looks) noexcept {
    return at_ring<&ChannelEnd::ring_to_send>(
        channel, [source, bytes, looks](NearSender& ring) mutable {
            if (!is_one_line(bytes) && bytes > ring.payload_bytes_max()) [[unlikely]]
                return false;
            for (;;) {
                const SendAttempt outcome =
                    ring.send(source, bytes, static_cast<std::uint8_t>(RecordTag::whole));
                if (outcome == SendAttempt::sent) [[likely]]
                    return true;
                if (outcome == SendAttempt::sent_to_sleeper) {
                    os::futex_wake(ring.path().peer().word(), os::everybody);
                    return true;
                }
                if (--looks == 0) return false;
                os::relax();
            }
        });
}

inline bool Channels::receive_at_once(SlotHandle channel,
                                      const MessageBuffer& buffer,
                                      int looks,
                                      std::uint64_t& length) noexcept {
    return at_ring<&ChannelEnd::ring_to_receive>(
        channel, [buffer, looks, &length](NearReceiver& ring) mutable {
            for (;;) {
                const ReceivedRecord record = ring.receive();
                if (record.data != nullptr) [[likely]] {
                    const bool is_whole = static_cast<RecordTag>(record.tag) == RecordTag::whole;
                    if (!is_whole || record.bytes > buffer.bytes) [[unlikely]]
                        return false;
                    copy_payload(buffer.data, record.data, record.bytes);
                    length = record.bytes;
                    if (ring.release()) [[unlikely]]
                        os::futex_wake(ring.path().peer().word(), os::everybody);
                    return true;
                }
                if (--looks == 0) return false;
                os::relax();
            }
        });
}

}  // namespace acp::message
