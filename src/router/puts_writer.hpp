// SPDX-License-Identifier: BSD-3-Clause
// Writes short copies of one process into a datagram. Copies of equal length with consecutive
// tokens share a PUTS frame (WIRE-120). One thread.
// Tests: tests/unit/router/puts_writer_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "memory/command.hpp"
#include "router/frames.hpp"

namespace acp::router {

class PutsWriter {
public:
    //   room  the rest of a datagram; may be empty
    explicit PutsWriter(std::span<std::byte> room) noexcept : room_(room) {}

    [[nodiscard]] bool has_room() const noexcept { return !room_.empty(); }

    // The address to which the caller writes the bytes of the next copy; nullptr if they do not
    // fit.
    [[nodiscard]] std::byte* room_for(std::uint64_t token, std::uint64_t bytes) const noexcept {
        const std::size_t before = used_ + (goes_on(token, bytes) ? 0 : sizeof(PutsFrame));
        const std::size_t head = before + sizeof(std::uint64_t);
        if (room_.size() < head || room_.size() - head < bytes) return nullptr;
        return room_.data() + head;
    }

    // Adds a copy whose bytes the caller has written to room_for().
    void add(std::uint32_t initiator, std::uint64_t token, const memory::Command& copy) noexcept {
        if (!goes_on(token, copy.bytes)) {
            write_head();
            head_at_ = used_;
            used_ += sizeof(PutsFrame);
            head_.count = 0;
            head_.bytes = static_cast<std::uint16_t>(copy.bytes);
            head_.initiator = initiator;
            head_.token = token;
        }
        const std::uint64_t target = copy.target;
        std::memcpy(room_.data() + used_, &target, sizeof target);
        used_ += sizeof target + copy.bytes;
        copied_bytes_ += copy.bytes;
        ++head_.count;
        ++count_;
    }

    // Completes the last frame. Nothing may be added afterwards. Returns the number of bytes
    // written.
    std::uint32_t end() noexcept {
        write_head();
        return static_cast<std::uint32_t>(used_);
    }

    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

    [[nodiscard]] std::uint64_t copied_bytes() const noexcept { return copied_bytes_; }

private:
    // Whether a copy fits into the frame begun last.
    [[nodiscard]] bool goes_on(std::uint64_t token, std::uint64_t bytes) const noexcept {
        return head_.count != 0 && head_.count != puts_count_max && bytes == head_.bytes &&
               token == head_.token + std::uint64_t{2} * head_.count;
    }

    void write_head() noexcept {
        if (head_.count != 0) write(room_.data() + head_at_, head_);
    }

    std::span<std::byte> room_;
    // the fixed part of the frame begun last; written when the frame is complete
    PutsFrame head_;
    std::size_t head_at_ = 0;
    std::size_t used_ = 0;
    std::uint64_t copied_bytes_ = 0;
    std::uint32_t count_ = 0;
};

}  // namespace acp::router
