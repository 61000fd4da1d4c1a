// SPDX-License-Identifier: BSD-3-Clause
// The sending side of a router: room for a frame in the datagram being filled, short frames that
// wait for room, and the queue of ready lanes, on which frames can be sent now. Knows the endpoints
// and frames, but no command: the work that waits in a lane's flows belongs to backlog.hpp; this
// class only sees whether there is any. One thread.
// Tests: tests/unit/router/outbox_test.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "router/activity.hpp"
#include "router/nodes.hpp"

namespace acp::router {

class Outbox {
public:
    //   notes_max  the most short frames that may wait, all nodes together
    // Throws std::bad_alloc; later calls allocate nothing.
    Outbox(Nodes& nodes, Activity& activity, std::uint32_t notes_max);

    // Returns room for a frame of this length, which must be filled before the next reserve().
    // Returns nullptr if there is none until the endpoint calls on_room(), or if there is no memory
    // for its record of the node; in that case on_room() is not called, and the scan tries again
    // (scanner.hpp).
    [[nodiscard]] std::byte* reserve(RouterPeer& to, std::uint64_t bytes) noexcept;

    // Like reserve(), for the rest of a datagram, at least bytes_min long; empty if there is none.
    [[nodiscard]] std::span<std::byte> reserve_rest(RouterPeer& to,
                                                    std::uint64_t bytes_min) noexcept;

    // Commits the first `bytes` bytes of the room reserved last: one frame or several.
    void commit(RouterPeer& to, std::uint64_t bytes) {
        to.endpoint->commit(to.node, static_cast<std::uint32_t>(bytes));
        activity_.note_move();
    }

    // commit() of a frame that `tail` continues. The endpoint reads `tail` when it seals the
    // datagram, and again when it retransmits it.
    void commit_with_tail(RouterPeer& to, std::uint64_t bytes, Bytes tail) {
        to.endpoint->commit_with_tail(to.node, static_cast<std::uint32_t>(bytes), tail);
        activity_.note_move();
    }

    // The longest frame that the path carries in one piece now. A longer one, up to the longest
    // INVOKE, travels in fragments. 0: this node, to which nothing is sent.
    [[nodiscard]] std::uint32_t frame_bytes_max(const RouterPeer& to) const noexcept {
        return to.node == nodes_.self() ? 0 : to.endpoint->frame_bytes_max(to.node);
    }

    // Sends a short frame, or keeps it until there is room. Drops it if the node is severed. If too
    // many frames wait, the node is severed later: it has sent work to this node, but gives its
    // endpoint no room to answer (ORD-51).
    void post(RouterPeer& to, const Note& note);

    // Sends the first short frame that waits, if there is room. Only if !to.notes.is_empty().
    void send_waiting(RouterPeer& to);

    // Drops the short frames that wait for a severed node.
    void drop_waiting(RouterPeer& to) noexcept;

    [[nodiscard]] std::uint32_t waiting() const noexcept { return notes_.used(); }

    // Call when the endpoint may have room again.
    void unblock(RouterPeer& to) noexcept {
        to.is_blocked = false;
        wake(to);
    }

    // Appends a node to the queue of ready nodes if frames or work wait for it and there may be
    // room.
    void wake(RouterPeer& to) noexcept;

    [[nodiscard]] bool is_any_ready() const noexcept { return ready_head_ != nullptr; }

    // Empties the queue of ready nodes. Returns the first one; the others follow by next_ready.
    // Each stays marked as ready until the caller clears is_ready.
    [[nodiscard]] RouterPeer* take_ready() noexcept {
        RouterPeer* const first = ready_head_;
        ready_head_ = nullptr;
        ready_tail_ = nullptr;
        return first;
    }

private:
    [[nodiscard]] bool write_note(RouterPeer& to, const Note& note);
    void note_no_memory(RouterPeer& to) noexcept;
    void note_blocked(RouterPeer& to) noexcept;

    Nodes& nodes_;
    Activity& activity_;
    Pool<Note> notes_;
    RouterPeer* ready_head_ = nullptr;
    RouterPeer* ready_tail_ = nullptr;
};

}  // namespace acp::router
