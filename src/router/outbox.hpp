// SPDX-License-Identifier: BSD-3-Clause
// What goes to other nodes: room for a frame in the datagram that is being filled, short frames that wait for room, and the
// queue of nodes to which something could be sent now. Knows the endpoint and frames, no command: what waits beside short
// frames lies in a node's flows (backlog.hpp), of which it only sees whether there are any. One thread.
// Tests: tests/unit/router/outbox_test.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "router/activity.hpp"
#include "router/nodes.hpp"

namespace acp::router {

class Outbox {
public:
    //   notes_max  short frames that wait for room, in all. Throws std::bad_alloc; later calls take no memory
    Outbox(Nodes& nodes, Activity& activity, std::uint32_t notes_max);

    // Before anything else is called.   endpoint  must outlive this
    void bind(datagram::Endpoint& endpoint) noexcept { endpoint_ = &endpoint; }

    // Room for a frame of so many bytes, to be filled before anything else is reserved. nullptr: there is none until the
    // endpoint says so, or no memory for what the endpoint keeps of that node. Then nobody says when there is some again, and
    // the scan asks (scanner.hpp).
    [[nodiscard]] std::byte* reserve(RouterPeer& to, std::uint64_t bytes) noexcept;

    // Likewise the rest of a datagram, at least so many bytes; empty: none.
    [[nodiscard]] std::span<std::byte> reserve_rest(RouterPeer& to,
                                                    std::uint64_t bytes_min) noexcept;

    // So many bytes of what was reserved last are a frame, or several.
    void commit(RouterPeer& to, std::uint64_t bytes) {
        endpoint_->commit(to.node, static_cast<std::uint32_t>(bytes));
        activity_.note_move();
    }

    // The same, and `tail` follows them. It is read when the datagram is sealed, and may be read again.
    void commit_with_tail(RouterPeer& to, std::uint64_t bytes, Bytes tail) {
        endpoint_->commit_with_tail(to.node, static_cast<std::uint32_t>(bytes), tail);
        activity_.note_move();
    }

    // Asks the endpoint for the longest frame again; returns it.
    std::uint32_t update_frame_bytes(RouterPeer& to) const noexcept {
        to.frame_bytes = endpoint_->frame_bytes_max(to.node);
        return to.frame_bytes;
    }

    // Sends a short frame, or keeps it until there is room. Nothing for a severed node. A node that has let us send nothing
    // while it had us do more than can be kept is severed later (ORD-51).
    void post(RouterPeer& to, const Note& note);

    // Sends the first short frame that waits, if there is room.   !to.notes.is_empty()
    void send_waiting(RouterPeer& to);

    // Short frames for a severed node are forgotten.
    void drop_waiting(RouterPeer& to) noexcept;

    [[nodiscard]] std::uint32_t waiting() const noexcept { return notes_.used(); }

    // There may be room again.
    void unblock(RouterPeer& to) noexcept {
        to.is_blocked = false;
        wake(to);
    }

    // Puts the node into the queue of those that are ready, if something waits for it and there may be room.
    void wake(RouterPeer& to) noexcept;

    [[nodiscard]] bool is_any_ready() const noexcept { return ready_head_ != nullptr; }

    // Empties the queue of nodes that are ready. Returns the first one, the others follow by next_ready; each stays marked as
    // ready until the caller clears is_ready.
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
    datagram::Endpoint* endpoint_ = nullptr;
    Pool<Note> notes_;
    RouterPeer* ready_head_ = nullptr;
    RouterPeer* ready_tail_ = nullptr;
};

}  // namespace acp::router
