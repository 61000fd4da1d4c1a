// SPDX-License-Identifier: BSD-3-Clause
// The pipe beside a ring (message/ring.hpp): a few slots of memory, mapped by both ends, into which
// the sender copies the pieces of long messages. For each piece it sends a one-line record in the
// ring with the piece's place. The record's header hands the slot to the receiver, and the credit
// that covers the record gives it back. So the slots have no synchronization words of their own:
// the ring handles waiting, lost words and deaths. The receiver stores a zero into each line that
// it has read (sync/lines.hpp), as in the ring. Knows no heap. For the thread that uses the ring's
// end.
// Tests: tests/unit/message/pipe_test.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "local/shared_memory.hpp"
#include "message/ring.hpp"

namespace acp::message {

// The payload of a piece's record.
struct PipePiece {
    std::uint64_t place = 0;          // offset of the piece from an address that both ends know
    std::uint64_t bytes = 0;          // length of the piece
    std::uint64_t message_bytes = 0;  // length of the whole message

    // Whether the piece is in `memory`, the sender's, in which offsets are counted. If so, its
    // lines may be written.
    [[nodiscard]] bool lies_in(const local::SharedRange& memory) const noexcept {
        return place % line_bytes == 0 && memory.has_place(place, bytes);
    }
};

// The memory of the slots.
struct PipeRoom {
    char* data = nullptr;          // aligned to lines; nullptr: no memory
    std::uint64_t place = 0;       // offset of `data`, as in PipePiece
    std::uint64_t slot_bytes = 0;  // whole lines
};

// The sender's side. The receiver needs no class: it calls sync::take_lines(), then
// RingReceiver::release() and tell_released().
template <typename Path>
class PipeSender {
public:
    static constexpr std::uint64_t slots = 4;
    static constexpr std::uint64_t piece_bytes_min = 4096;

    //   ring  must outlive this
    explicit PipeSender(RingSender<Path>& ring) noexcept : ring_(ring) {}

    PipeSender(const PipeSender&) = delete;
    PipeSender& operator=(const PipeSender&) = delete;
    ~PipeSender() = default;

    // Call it before any other function.
    //   room  slots * slot_bytes long; must live as long as the ring is used
    void open(const PipeRoom& room) noexcept { room_ = room; }

    [[nodiscard]] bool is_open() const noexcept { return room_.data != nullptr; }

    // The best length of the pieces of a message: short enough that both ends copy concurrently,
    // long enough that they do not spend their time waiting for records and credits.
    [[nodiscard]] std::uint64_t piece_bytes(std::uint64_t message_bytes) const noexcept {
        const std::uint64_t part = lines_for((message_bytes + slots - 1) / slots) * line_bytes;
        return std::min(std::max(part, piece_bytes_min), room_.slot_bytes);
    }

    // Returns the next slot, for a piece of at most piece_bytes(). Another record of the ring or
    // another reserve() discards it. nullptr: the receiver is still reading it, or the ring is
    // full.
    [[nodiscard]] char* reserve() noexcept {
        if (!ring_.is_released(behind_[slot()])) return nullptr;
        record_ = ring_.reserve(sizeof(PipePiece));
        return record_ != nullptr ? room_.data + offset() : nullptr;
    }

    // Sends the piece that was written into the reserved slot. True: the caller must wake the
    // receiver.
    //   tag  of the record
    [[nodiscard]] bool commit(std::uint64_t bytes,
                              std::uint64_t message_bytes,
                              std::uint8_t tag) noexcept {
        const PipePiece piece{room_.place + offset(), bytes, message_bytes};
        std::memcpy(record_, &piece, sizeof piece);
        const bool is_wake_due = ring_.commit(sizeof piece, tag);
        behind_[slot()] = ring_.next();
        ++pieces_;
        return is_wake_due;
    }

private:
    [[nodiscard]] std::uint64_t slot() const noexcept { return pieces_ % slots; }

    [[nodiscard]] std::uint64_t offset() const noexcept { return slot() * room_.slot_bytes; }

    RingSender<Path>& ring_;
    PipeRoom room_;
    std::uint64_t pieces_ = 0;                   // pieces sent
    char* record_ = nullptr;                     // the record of the reserved piece
    std::array<std::uint64_t, slots> behind_{};  // per slot: the line after its last record
};

}  // namespace acp::message
