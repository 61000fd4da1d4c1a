// SPDX-License-Identifier: BSD-3-Clause
// The peers that may have something to send, first in, first out. The links are in the peers
// themselves, and each is in the queue at most once. Does not know what they have to send. One
// thread.
// Tests: tests/unit/datagram/ready_queue_test.cpp.
#pragma once

#include "datagram/peer.hpp"

namespace acp::datagram {

class ReadyQueue {
public:
    [[nodiscard]] bool is_empty() const noexcept { return first_ == nullptr; }

    // Appends a peer unless it is in the queue already.
    void push(Peer& peer) noexcept {
        if (peer.is_ready) return;
        peer.is_ready = true;
        peer.next_ready = nullptr;
        if (last_ == nullptr) {
            first_ = &peer;
        } else {
            last_->next_ready = &peer;
        }
        last_ = &peer;
    }

    // Removes and returns the first peer; nullptr if the queue is empty.
    [[nodiscard]] Peer* take() noexcept {
        Peer* peer = first_;
        if (peer == nullptr) return nullptr;
        first_ = peer->next_ready;
        if (first_ == nullptr) last_ = nullptr;
        peer->is_ready = false;
        return peer;
    }

    // Removes a peer that is about to be deleted. This is rare, so the queue is searched for the
    // one before it.
    void remove(Peer& peer) noexcept {
        if (!peer.is_ready) return;
        Peer* before = nullptr;
        for (Peer* other = first_; other != &peer; other = other->next_ready) before = other;
        (before == nullptr ? first_ : before->next_ready) = peer.next_ready;
        if (last_ == &peer) last_ = before;
        peer.is_ready = false;
    }

private:
    Peer* first_ = nullptr;
    Peer* last_ = nullptr;
};

}  // namespace acp::datagram
