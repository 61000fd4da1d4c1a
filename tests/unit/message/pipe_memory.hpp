// SPDX-License-Identifier: BSD-3-Clause
// A ring with a pipe beside it, for tests: numbered records of which most lie in the pipe, and some
// in the ring between them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "message/pipe.hpp"

#include "ring_memory.hpp"

namespace acp::message {

// Memory that both ends have mapped.
struct PipePages {
    static constexpr std::uint64_t slot_bytes = 320;

    RingShape shape{1024};
    SharedPages ring{shape.bytes()};
    SharedPages slots{PipeSender<MappedPath<>>::slots * slot_bytes};

    // Places are relative to the second byte of the ring's memory, so that a test fails if code
    // omits the base.
    [[nodiscard]] PipeRoom room() const {
        return {slots.data(), static_cast<std::uint64_t>(slots.data() - (ring.data() + 1)),
                slot_bytes};
    }

    [[nodiscard]] const char* at(std::uint64_t place) const { return ring.data() + 1 + place; }
};

[[nodiscard]] inline bool lies_in_pipe(std::uint64_t number) {
    return number % 4 != 3;
}

[[nodiscard]] inline NumberedRecord piped_record(std::uint64_t number) {
    return {number, lies_in_pipe(number) ? PipePages::slot_bytes : 200};
}

// The sender's end.
template <typename Path>
struct PipingSender {
    PipingSender(const Path& path, const PipePages& pages, RingKey key)
        : ring(path, pages.shape, key) {
        pipe.open(pages.room());
    }

    // False: there is no room.   copy(target, source, bytes)
    template <typename Copy>
    bool send(std::uint64_t number, const Copy& copy, bool& is_wake_due) {
        NumberedRecord record = piped_record(number);
        std::vector<char> content(record.bytes);
        record.write(content.data());
        if (!lies_in_pipe(number)) {
            const SendAttempt outcome = ring.send(content.data(), record.bytes, record.tag);
            is_wake_due = outcome == SendAttempt::sent_to_sleeper;
            return outcome != SendAttempt::full;
        }
        char* const slot = pipe.reserve();
        if (slot == nullptr) return false;
        copy(slot, content.data(), record.bytes);
        is_wake_due = pipe.commit(record.bytes, number, record.tag);
        return true;
    }

    RingSender<Path> ring;
    PipeSender<Path> pipe{ring};
};

// Checks the record with a number, in place. Returns "" or the error.
[[nodiscard]] inline std::string check_piped(const PipePages& pages,
                                             std::uint64_t number,
                                             ReceivedRecord& found) {
    if (lies_in_pipe(number)) {
        PipePiece piece;
        std::memcpy(&piece, found.data, sizeof piece);
        if (found.bytes != sizeof piece || piece.message_bytes != number)
            return "no piece of message " + std::to_string(number);
        found = {pages.at(piece.place), static_cast<std::uint32_t>(piece.bytes), found.tag};
    }
    return piped_record(number).check(found);
}

// true: the caller must wake the sender.
template <typename Receiver>
[[nodiscard]] bool release_piped(Receiver& receiver) {
    const bool is_due = receiver.release();
    return receiver.tell_released() || is_due;
}

}  // namespace acp::message
