// SPDX-License-Identifier: BSD-3-Clause
// A send, a receive or a free under way on a channel.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "message/slots.hpp"

namespace acp::message {

class ChannelEnd;

// What is sent, or where what is received goes.
struct MessageBuffer {
    char* data = nullptr;
    std::uint64_t bytes = 0;
};

// How a request has ended.
struct RequestEnd {
    base::Status status;  // ok, or why it has failed; truncated: the rest of the message is lost
    std::uint64_t bytes = 0;  // put into the buffer of a receive
};

// Of a call that takes something whole, for which its buffer is too short.   what  "message", ...; static text
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

// Of its end, whose lock guards it, but for `slot`, `end` and `is_done`.
struct ChannelRequest {
    static constexpr SlotKind slot_kind = SlotKind::request;

    SlotEntry slot;
    std::atomic<ChannelEnd*> end{nullptr};
    std::atomic<bool> is_done{false};
    RequestKind kind = RequestKind::send;
    char* buffer = nullptr;
    std::uint64_t bytes = 0;   // of the buffer
    std::uint64_t length = 0;  // of the message, once its first record has been sent or received
    std::uint64_t moved = 0;   // of the message, from or to the ring
    std::uint64_t offer = 0;   // send: the number of its offer, from 1 on; 0: none
    std::uint64_t key = 0;     // send: the registration of an offered buffer
    RequestEnd result;
};

}  // namespace acp::message
