// SPDX-License-Identifier: BSD-3-Clause
// The short way of a message of one record between two ranks of a node, in the calling thread and without a request. Contract: a message
// that goes this way is sent or received in its order among those that take requests, whichever thread calls, or else nothing has happened.
// Threads: any; the lock of the end orders them. Nothing here throws, allocates, reads a clock, or is a cancellation point.
//
// What it costs, beyond the copy: the lock, which is a store and a load for the thread that uses the end most (end_lock.hpp); the ring's
// own words (ring.hpp); one look at the receiver's bell. No locked instruction, no fence, and no line that both ends write but the record's.
// What keeps a message from the short way: a request under way on the end, an end that has not met its partner, is broken or is being freed
// (ChannelEnd::ring_to_send), a full or empty ring, a message of several records, and one that is too long for its buffer.
#pragma once

#include <cstdint>
#include <mutex>

#include "message/channels.hpp"
#include "message/payload_copy.hpp"
#include "os/cpu.hpp"
#include "os/futex.hpp"

namespace acp::message {

// Locks the end of a channel for the calling thread and calls call(ring) with what (end.*ring_of)() says. false: there is no such end, or no
// ring now, or the call says so.
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

// The same for the thread that has adopted the lock, and for a call that makes none itself: then nothing is saved for it on the stack.
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
        return taken;  // where a long message is expected it is not looked for twice
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
