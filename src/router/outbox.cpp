// SPDX-License-Identifier: BSD-3-Clause
// Asks the endpoint for room, and keeps short frames while there is none.
#include "router/outbox.hpp"

#include <new>

namespace acp::router {

Outbox::Outbox(Nodes& nodes, Activity& activity, std::uint32_t notes_max)
    : nodes_(nodes), activity_(activity), notes_(notes_max) {}

std::byte* Outbox::reserve(RouterPeer& to, std::uint64_t bytes) noexcept {
    std::byte* room = nullptr;
    try {
        room = to.endpoint->reserve(to.node, static_cast<std::uint32_t>(bytes));
        to.refused_at = datagram::never;
    } catch (const std::bad_alloc&) {
        note_no_memory(to);
    }
    if (room == nullptr) note_blocked(to);
    return room;
}

std::span<std::byte> Outbox::reserve_rest(RouterPeer& to, std::uint64_t bytes_min) noexcept {
    std::span<std::byte> room;
    try {
        room = to.endpoint->reserve_rest(to.node, static_cast<std::uint32_t>(bytes_min));
        to.refused_at = datagram::never;
    } catch (const std::bad_alloc&) {
        note_no_memory(to);
    }
    if (room.empty()) note_blocked(to);
    return room;
}

void Outbox::note_no_memory(RouterPeer& to) noexcept {
    ++activity_.counters().no_memory;
    if (to.refused_at == datagram::never) to.refused_at = activity_.now();
}

void Outbox::note_blocked(RouterPeer& to) noexcept {
    to.is_blocked = true;
    activity_.arm_scan();
}

void Outbox::wake(RouterPeer& to) noexcept {
    if (to.is_ready || to.is_blocked || to.is_severed) return;
    if (to.notes.is_empty() && to.flows.is_empty()) return;
    to.is_ready = true;
    to.next_ready = nullptr;
    (ready_head_ == nullptr ? ready_head_ : ready_tail_->next_ready) = &to;
    ready_tail_ = &to;
}

bool Outbox::write_note(RouterPeer& to, const Note& note) {
    const auto send = [&](const auto& frame) {
        std::byte* room = reserve(to, sizeof frame);
        if (room == nullptr) return false;
        write(room, frame);
        commit(to, sizeof frame);
        return true;
    };
    if (note.type == FrameType::value || note.type == FrameType::failed) {
        return send(
            LongFrame{note.type, note.code_and_end, 0, note.initiator, note.token, note.detail});
    }
    if (note.type == FrameType::refused) {
        return send(RefusedFrame{note.type, note.code_and_end, 0, note.initiator, note.token,
                                 note.detail, note.bytes});
    }
    return send(ShortFrame{note.type, note.code_and_end, note.count, note.initiator, note.token});
}

void Outbox::post(RouterPeer& to, const Note& note) {
    if (to.is_severed) return;
    // Short frames keep their order: a new one is sent at once only if none waits.
    if (to.notes.is_empty() && !to.is_blocked && write_note(to, note)) return;
    const std::uint32_t index = notes_.take();
    if (index == no_index) {
        ++activity_.counters().ends_overflows;
        nodes_.sever_later(to.node);
        return;
    }
    const std::uint32_t next = notes_[index].next;
    notes_[index] = note;
    notes_[index].next = next;
    notes_[index].is_taken = true;
    to.notes.push(notes_, index);
    wake(to);
}

void Outbox::send_waiting(RouterPeer& to) {
    if (write_note(to, notes_[to.notes.head])) notes_.give(to.notes.pop(notes_));
}

void Outbox::drop_waiting(RouterPeer& to) noexcept {
    while (!to.notes.is_empty()) notes_.give(to.notes.pop(notes_));
}

}  // namespace acp::router
