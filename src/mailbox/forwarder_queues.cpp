// SPDX-License-Identifier: BSD-3-Clause
// Queues items by receiver, and sends them. A receiver without room delays no other receiver.
#include "mailbox/forwarder_queues.hpp"

#include <algorithm>
#include <utility>

#include "mailbox/forwarder_types.hpp"

namespace acp::mailbox {

ForwarderQueues::ForwarderQueues(Port& port,
                                 std::uint32_t own_slot,
                                 std::uint32_t slots,
                                 std::uint32_t epoch)
    : port_(port),
      own_slot_(own_slot),
      epoch_(epoch),
      datagram_bytes_(port.datagram_bytes()),
      lanes_(slots) {
    listed_.reserve(slots);
}

bool ForwarderQueues::is_wanted(const MessageHead& head) const noexcept {
    const bool is_of_epoch = head.epoch == epoch_ || head.epoch == any_epoch || epoch_ == any_epoch;
    return is_of_epoch && head.origin < lanes_.size() && !lanes_[head.origin].is_dead;
}

void ForwarderQueues::list(std::uint32_t receiver) {
    if (!std::exchange(lanes_[receiver].is_listed, true)) {
        listed_.push_back(receiver);
    }
}

void ForwarderQueues::post(std::uint32_t receiver,
                           const MessageHead& head,
                           std::span<const char> payload) {
    Lane& lane = lanes_[receiver];
    if (lane.is_dead || (lane.messages.is_empty() && send(receiver, head, payload))) {
        return;
    }
    const std::uint32_t item = items_.take();
    Message& message = items_[item].message;
    message.head = head;
    message.head.payload_bytes = static_cast<std::uint32_t>(payload.size());
    std::copy(payload.begin(), payload.end(), message.payload.begin());
    items_.push(lane.messages, item);
    list(receiver);
}

void ForwarderQueues::add_copy(std::uint32_t receiver, const PieceCopy& copy) {
    const std::uint32_t item = items_.take();
    items_[item].copy = copy;
    items_.push(lanes_[receiver].copies, item);
    list(receiver);
}

std::uint32_t ForwarderQueues::send_messages(std::uint32_t receiver) {
    Chain& messages = lanes_[receiver].messages;
    std::uint32_t sent = 0;
    while (!messages.is_empty()) {
        const Message& first = items_[messages.first].message;
        if (!send(receiver, first.head, std::span(first.payload).first(first.head.payload_bytes))) {
            break;
        }
        items_.give(items_.pop(messages));
        ++sent;
    }
    return sent;
}

bool ForwarderQueues::unlist_if_empty(std::size_t position) noexcept {
    Lane& lane = lanes_[listed_[position]];
    if (!lane.messages.is_empty() || !lane.copies.is_empty()) {
        return false;
    }
    lane.is_listed = false;
    listed_[position] = listed_.back();
    listed_.pop_back();
    return true;
}

bool ForwarderQueues::can_send() const noexcept {
    return std::any_of(listed_.begin(), listed_.end(), [this](std::uint32_t receiver) {
        return receiver == own_slot_ || port_.has_room(receiver);
    });
}

bool ForwarderQueues::note_death(std::uint32_t slot) {
    if (slot == own_slot_ || std::exchange(lanes_[slot].is_dead, true)) {
        return false;
    }
    Chain& messages = lanes_[slot].messages;
    while (!messages.is_empty()) {
        items_.give(items_.pop(messages));
    }
    port_.forget(slot);
    return true;
}

void ForwarderQueues::drop_copies_of(std::uint32_t origin,
                                     const std::function<void(PieceCopy&)>& on_drop) {
    for (Lane& lane : lanes_) {
        Chain all = std::exchange(lane.copies, {});
        while (!all.is_empty()) {
            const std::uint32_t item = items_.pop(all);
            if (items_[item].copy.origin == origin) {
                on_drop(items_[item].copy);
                items_.give(item);
            } else {
                items_.push(lane.copies, item);
            }
        }
    }
}

}  // namespace acp::mailbox
