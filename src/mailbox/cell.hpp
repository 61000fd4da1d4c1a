// SPDX-License-Identifier: BSD-3-Clause
// One message in shared memory: a head of two cache lines, and a payload area that the port places.
// The usual small messages (8 bytes of data, an end, a copy command) fill the first line only, so
// that one cache line travels. A Cell knows neither its sender nor how it gets to its receiver. A
// cell of zeros is free. The sender writes it until it publishes it; then the receiver reads it
// until it frees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "local/direct.hpp"
#include "mailbox/port.hpp"
#include "node/control.hpp"
#include "node/mailbox_layout.hpp"

namespace acp::mailbox {

struct alignas(64) Cell {
    // state: 0 = free, else the receiver's slot + 1 and perhaps is_awaited. Writers: the sender
    // (busy, mark), the receiver (free).
    static constexpr std::uint32_t free = 0;
    static constexpr std::uint32_t is_awaited = 1U << 31;  // the sender waits for this cell

    static constexpr std::uint32_t tail_bytes = 16;
    static constexpr std::uint32_t inline_bytes = 56;

    // The content of `tail` in the first line, and whether the second line is used.
    enum class Form : std::uint8_t {
        payload,  // tail is the payload; bytes, operand and expected are zero
        words,    // tail is bytes and operand; no payload, expected is zero
        whole     // tail is bytes and operand; expected and the payload follow
    };

    node::SharedU32 next;  // mpsc: link of the inbox; writers: the sender, then the receiver
    node::SharedU32 state;
    std::uint8_t kind;
    std::uint8_t operation;
    std::uint8_t width;
    std::uint8_t code;
    std::uint16_t origin;
    std::uint8_t is_last : 1;
    std::uint8_t blame : 2;
    Form form;
    std::uint64_t token;
    std::uint64_t target;
    std::uint32_t payload_bytes;
    std::uint32_t epoch;
    std::uint64_t source;
    char tail[tail_bytes];
    // second line
    std::uint64_t expected;
    char small_payload[inline_bytes];

    //   area  room for a payload of more than inline_bytes; unused for a shorter one
    void fill(const MessageHead& head, std::span<const char> payload, char* area) noexcept {
        kind = static_cast<std::uint8_t>(head.kind);
        operation = head.operation;
        width = head.width;
        code = head.code;
        origin = head.origin;
        is_last = head.is_last & 1U;
        blame = head.blame & 3U;
        token = head.token;
        target = head.target;
        payload_bytes = static_cast<std::uint32_t>(payload.size());
        epoch = head.epoch;
        source = head.source;
        if ((head.bytes | head.operand | head.expected) == 0 && payload.size() <= tail_bytes) {
            form = Form::payload;
            local::move_bytes(tail, payload.data(), payload.size());
            return;
        }
        std::memcpy(tail, &head.bytes, 8);
        std::memcpy(tail + 8, &head.operand, 8);
        if (head.expected == 0 && payload.empty()) {
            form = Form::words;
            return;
        }
        form = Form::whole;
        expected = head.expected;
        local::move_bytes(payload.size() <= inline_bytes ? small_payload : area, payload.data(),
                          payload.size());
    }

    // Writes the head and returns where the payload lies: in the cell, or in the area.
    std::span<const char> read(MessageHead& head, const char* area) const noexcept {
        head.kind = static_cast<MessageKind>(kind);
        head.operation = operation;
        head.width = width;
        head.code = code;
        head.origin = origin;
        head.is_last = is_last;
        head.blame = blame;
        head.token = token;
        head.target = target;
        head.source = source;
        head.payload_bytes = payload_bytes;
        head.epoch = epoch;
        if (form == Form::payload) {
            head.bytes = 0;
            head.operand = 0;
            head.expected = 0;
            return {tail, payload_bytes};
        }
        std::memcpy(&head.bytes, tail, 8);
        std::memcpy(&head.operand, tail + 8, 8);
        head.expected = form == Form::whole ? expected : 0;
        return {payload_bytes <= inline_bytes ? small_payload : area, payload_bytes};
    }

    // Marks a busy cell so that the receiver rings the sender's bell when it frees it. False when
    // the cell is free already.
    bool await() noexcept {
        std::uint32_t seen = state.load(std::memory_order_acquire);  // partner: release()
        while (seen != free && (seen & is_awaited) == 0) {
            // acq_rel: either the receiver's exchange comes first and this sender reads `free`, or
            // it comes later and returns the mark
            if (state.compare_exchange_weak(seen, seen | is_awaited, std::memory_order_acq_rel,
                                            std::memory_order_acquire)) {
                return true;
            }
        }
        return seen != free;
    }

    // Whether the receiver has finished reading the cell.
    [[nodiscard]] bool is_free() const noexcept {
        // acquire: partner is release(); the receiver's reads are over. seq_cst because a sender
        // announces its sleep (its bell) before this load, while the receiver frees the cell before
        // it looks at that bell: one of them must see the other.
        return state.load(std::memory_order_seq_cst) == free;
    }

    // Returns the cell to its sender. True when the sender waits for the cell: the caller then
    // rings the sender's bell.
    bool release() noexcept {
        // seq_cst: the receiver's reads are over before the sender writes again, and the store
        // precedes the receiver's load of the sender's bell; partner is is_free()
        return (state.exchange(free, std::memory_order_seq_cst) & is_awaited) != 0;
    }
};

static_assert(sizeof(Cell) == node::cell_head_bytes && offsetof(Cell, expected) == 64);

}  // namespace acp::mailbox
