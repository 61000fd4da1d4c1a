// SPDX-License-Identifier: BSD-3-Clause
// A send, a receive or a free in flight on a channel.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "gma/registration_cache.hpp"
#include "message/slots.hpp"

namespace acp::message {

class ChannelEnd;

// The bytes to send, or the room for a received message.
struct MessageBuffer {
    char* data = nullptr;
    std::uint64_t bytes = 0;
};

// The result of a request.
struct RequestEnd {
    base::Status status;           // ok, or the error; truncated: the rest of the message is lost
    std::uint64_t bytes = 0;       // receive: bytes put into the buffer
    SlotHandle channel = no_slot;  // failure: the end's handle, for messages
};

// The error of a call whose buffer is too short for a message.
//   what  "message", ...; static text
[[nodiscard]] inline base::Status truncated(const char* what,
                                            std::uint64_t length,
                                            std::uint64_t bytes) noexcept {
    return base::Status::worded(base::Code::truncated, [what, length, bytes] {
        return std::string("the ") + what + " has " + std::to_string(length) +
               " bytes, the buffer " + std::to_string(bytes) + "; the rest of the " + what +
               " is lost";
    });
}

enum class RequestKind : std::uint8_t { send, receive, free };

// Guarded by the lock of its end, except `slot`, `end` and `is_done`.
struct ChannelRequest {
    static constexpr SlotKind slot_kind = SlotKind::request;

    SlotEntry slot;
    std::atomic<ChannelEnd*> end{nullptr};
    std::atomic<bool> is_done{false};
    RequestKind kind = RequestKind::send;
    char* buffer = nullptr;
    std::uint64_t bytes = 0;   // length of the buffer
    std::uint64_t length = 0;  // length of the message, once its first record was sent or received
    std::uint64_t moved = 0;   // bytes of the message moved so far, to or from the ring
    std::uint64_t offer = 0;   // send: the number of its offer or loan, from 1; 0: none
    // send: the registration of an offered buffer; its number is 0 if there is none
    gma::RegistrationCache::Use lent;
    RequestEnd result;
};

}  // namespace acp::message
