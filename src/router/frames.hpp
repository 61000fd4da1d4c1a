// SPDX-License-Identifier: BSD-3-Clause
// The frames that routers send each other, as they lie in a datagram: little endian, back to back,
// without alignment. Each struct is the fixed part of a frame. read() takes a frame off the front
// and makes all checks that need no state of commands or meetings. Has no state. Any thread.
// Protocol: docs/spec/frames.md.
// Tests: tests/unit/router/frames_test.cpp.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/process_end.hpp"
#include "memory/command.hpp"
#include "router/counters.hpp"

namespace acp::router {

using Bytes = std::span<const std::byte>;

static_assert(std::endian::native == std::endian::little);

// WIRE-101
enum class FrameType : std::uint8_t {
    put = 1,
    command = 2,
    end = 3,
    value = 4,
    failed = 5,
    refused = 6,
    ask = 7,
    over = 8,
    invoke = 9,
    result = 10,
    dead = 11,
    gone = 12,
    meet = 13,
    watch = 14,
    puts = 15,
    after = 16
};

// WIRE-110. PUT: a piece of a copy, whose `bytes` bytes follow.
struct PutFrame {
    FrameType type = FrameType::put;
    std::uint8_t is_value = 0;  // 1: the old value of an atomic, which its sender does not keep
    std::uint16_t bytes = 0;
    std::uint32_t initiator = 0;
    std::uint64_t token = 0;
    std::uint64_t target = 0;  // address of this piece's first byte
    std::uint64_t total = 0;   // bytes of the whole copy
};

// WIRE-111. COMMAND: asks the source's node for a copy, a part of one, or an atomic.
struct CommandFrame {
    FrameType type = FrameType::command;
    memory::Operation operation = memory::Operation::copy;
    std::uint8_t width = 0;  // 4 or 8; copy: 0
    std::uint8_t reserved = 0;
    std::uint32_t initiator = 0;
    std::uint64_t token = 0;
    std::uint64_t target = 0;
    std::uint64_t source = 0;
    std::uint64_t operand = 0;   // copy: bytes to do
    std::uint64_t expected = 0;  // copy: bytes of the whole copy
};

// WIRE-112. END: commands token, token + 2, ... are in place.
// WIRE-113. ASK, OVER: count is 0. DEAD: initiator is the process, token its wait status + 2^32 *
// its process number. GONE, WATCH: initiator is the node, token is 0.
// WIRE-121. AFTER: the PUT that follows is placed, or the INVOKE run, if commands token, token + 2, ...
// are in place, and refused otherwise.
struct ShortFrame {
    FrameType type = FrameType::end;
    std::uint8_t state = 0;  // DEAD: base::ProcessEnd::state; otherwise 0
    std::uint16_t count = 0;
    std::uint32_t initiator = 0;
    std::uint64_t token = 0;
};

// WIRE-114. VALUE: detail is the old value; code and end are 0.
// WIRE-115. FAILED: code, end (memory::BlamedAddress), detail is the process.
struct LongFrame {
    FrameType type = FrameType::value;
    std::uint8_t code_and_end = 0;  // code + 64 * end
    std::uint16_t reserved = 0;
    std::uint32_t initiator = 0;
    std::uint64_t token = 0;
    std::uint64_t detail = 0;
};

// WIRE-116. REFUSED: names the part of a command to send again; for a copy, `bytes` bytes from
// `target` on.
struct RefusedFrame {
    FrameType type = FrameType::refused;
    std::uint8_t is_command = 0;  // 1: a COMMAND or INVOKE, 0: a PUT
    std::uint16_t reserved = 0;
    std::uint32_t initiator = 0;
    std::uint64_t token = 0;
    std::uint64_t target = 0;
    std::uint64_t bytes = 0;
};

// WIRE-117. INVOKE: `bytes` bytes of arguments follow.
struct InvokeFrame {
    FrameType type = FrameType::invoke;
    std::uint8_t reserved = 0;
    std::uint16_t bytes = 0;
    std::uint32_t initiator = 0;
    std::uint64_t token = 0;
    std::uint32_t operation = 0;
    std::uint32_t process = 0;
};

// WIRE-118. RESULT: `bytes` bytes of the result follow.
struct ResultFrame {
    FrameType type = FrameType::result;
    std::uint8_t code = 0;
    std::uint16_t bytes = 0;
    std::uint32_t initiator = 0;
    std::uint64_t token = 0;
};

// WIRE-119. MEET: `count` values of four bytes follow.
struct MeetFrame {
    FrameType type = FrameType::meet;
    std::uint8_t round = 0;
    std::uint16_t count = 0;
    std::uint32_t number = 0;
    // Index of the first value in the round's message, or Meeting::offset_of_least.
    std::uint32_t offset = 0;
    std::uint32_t total = 0;  // values in the round's message
};

// WIRE-120. PUTS: short copies. For each of `count`, its target and its `bytes` bytes follow.
struct PutsFrame {
    FrameType type = FrameType::puts;
    std::uint8_t count = 0;
    std::uint16_t bytes = 0;  // bytes of each copy
    std::uint32_t initiator = 0;
    std::uint64_t token = 0;  // token of the first copy; each next one is greater by 2
};

inline constexpr std::uint32_t puts_count_max = 255;
inline constexpr std::uint32_t after_count_max = memory::commands_before_max;

static_assert(sizeof(PutFrame) == 32 && sizeof(CommandFrame) == 48 && sizeof(ShortFrame) == 16);
static_assert(sizeof(LongFrame) == 24 && sizeof(InvokeFrame) == 24 && sizeof(ResultFrame) == 16);
static_assert(sizeof(MeetFrame) == 16 && sizeof(RefusedFrame) == 32);
static_assert(sizeof(PutsFrame) == 16);

template <typename Frame>
inline void write(std::byte* at, const Frame& frame) noexcept {
    std::memcpy(at, &frame, sizeof frame);
}

// Writes whole words. If a frame were assembled field by field in memory and then copied, the wide
// loads would stall on the narrow stores.
inline void write(std::byte* at, const PutFrame& frame) noexcept {
    const std::array<std::uint64_t, 4> words = {
        static_cast<std::uint64_t>(frame.type) | std::uint64_t{frame.is_value} << 8U |
            std::uint64_t{frame.bytes} << 16U | std::uint64_t{frame.initiator} << 32U,
        frame.token, frame.target, frame.total};
    std::memcpy(at, words.data(), sizeof words);
}

// The frame for the end of a process, and its inverse for a frame that check() has accepted.
[[nodiscard]] ShortFrame dead_frame(std::uint32_t process, const base::ProcessEnd& end) noexcept;
[[nodiscard]] base::ProcessEnd end_in(const ShortFrame& dead) noexcept;

// The limits of node and process numbers in a frame.
struct JobShape {
    std::uint32_t nodes = 1;
    std::uint32_t procs = 1;
};

[[nodiscard]] Fault check(const CommandFrame& frame, JobShape shape) noexcept;
[[nodiscard]] Fault check(const ShortFrame& frame, JobShape shape) noexcept;
[[nodiscard]] Fault check(const LongFrame& frame, JobShape shape) noexcept;
[[nodiscard]] Fault check(const RefusedFrame& frame, JobShape shape) noexcept;
[[nodiscard]] Fault check(const InvokeFrame& frame, JobShape shape) noexcept;
[[nodiscard]] Fault check(const ResultFrame& frame, JobShape shape) noexcept;
[[nodiscard]] Fault check(const MeetFrame& frame, JobShape shape) noexcept;

[[nodiscard]] inline Fault check(const PutFrame& frame, JobShape shape) noexcept {
    if (frame.initiator >= shape.procs) return Fault::bad_process;
    if (frame.bytes > frame.total || (frame.bytes == 0 && frame.total != 0)) {
        return Fault::bad_length;
    }
    if (frame.is_value != 0 && (frame.is_value != 1 || frame.bytes != frame.total ||
                                (frame.bytes != 4 && frame.bytes != 8))) {
        return Fault::bad_reserved;
    }
    return Fault::none;
}

[[nodiscard]] inline Fault check(const PutsFrame& frame, JobShape shape) noexcept {
    if (frame.initiator >= shape.procs) return Fault::bad_process;
    return frame.count == 0 ? Fault::bad_count : Fault::none;
}

// The number of bytes that follow the fixed part.
[[nodiscard]] inline std::size_t tail_bytes(const PutFrame& frame) noexcept {
    return frame.bytes;
}

[[nodiscard]] inline std::size_t tail_bytes(const PutsFrame& frame) noexcept {
    return frame.count * (sizeof(std::uint64_t) + frame.bytes);
}

[[nodiscard]] inline std::size_t tail_bytes(const InvokeFrame& frame) noexcept {
    return frame.bytes;
}

[[nodiscard]] inline std::size_t tail_bytes(const ResultFrame& frame) noexcept {
    return frame.bytes;
}

[[nodiscard]] inline std::size_t tail_bytes(const MeetFrame& frame) noexcept {
    return std::size_t{frame.count} * sizeof(std::uint32_t);
}

template <typename Frame>
[[nodiscard]] inline std::size_t tail_bytes(const Frame& /*frame*/) noexcept {
    return 0;
}

// Takes a frame and the bytes that follow it off `rest`. On a fault all three are unspecified
// (WIRE-102, WIRE-103).
template <typename Frame>
[[nodiscard]] inline Fault read(Bytes& rest, JobShape shape, Frame& frame, Bytes& tail) noexcept {
    if (rest.size() < sizeof frame) return Fault::short_frame;
    std::memcpy(&frame, rest.data(), sizeof frame);
    const Fault fault = check(frame, shape);
    if (fault != Fault::none) return fault;
    const std::size_t following = tail_bytes(frame);
    if (rest.size() - sizeof frame < following) return Fault::short_frame;
    tail = rest.subspan(sizeof frame, following);
    rest = rest.subspan(sizeof frame + following);
    return Fault::none;
}

}  // namespace acp::router
