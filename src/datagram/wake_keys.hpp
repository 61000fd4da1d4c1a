// SPDX-License-Identifier: BSD-3-Clause
// Keys to tell whether a datagram for an idle peer is its own, before the peer is woken: kept for a while, so that a
// forger makes none derived but the first, and every node has one while it is spoken for. Knows no packet. One
// thread. Tests: tests/unit/datagram/wake_keys_test.cpp.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "datagram/key_schedule.hpp"

namespace acp::datagram {

class WakeKeys {
public:
    static constexpr Time kept_ns = 100'000'000;       // then another node may have the slot
    static constexpr Time skip_every_ns = 10'000'000;  // keys beyond the next epoch's, of all nodes
    static constexpr std::uint32_t slots_max = 256;    // nodes that share one take turns

    explicit WakeKeys(NodeId nodes) : slots_(std::bit_ceil(std::min(nodes, slots_max))) {}

    // The key for a packet of an idle peer; nullptr when its epoch is over, or it is not the node's turn, or no
    // memory is left.
    //   connection, first_epoch  of the idle peer
    [[nodiscard]] DirectionKey* find(Time now,
                                     NodeId node,
                                     const Secret& connection,
                                     std::uint64_t first_epoch,
                                     std::uint64_t epoch,
                                     CipherSuite& suite) {
        KeptKeys& slot = slots_[node % slots_.size()];
        if (!slot.is_used || slot.node != node || slot.first_epoch != first_epoch) {
            if (slot.is_used && slot.node != node && now < slot.made + kept_ns) return nullptr;
            slot.is_used = slot.keys.begin(connection, node, first_epoch, suite);
            slot.node = node;
            slot.first_epoch = first_epoch;
            slot.made = now;
            if (!slot.is_used) return nullptr;
        }
        if (epoch > first_epoch + 1) {
            if (now < may_skip_) return nullptr;
            may_skip_ = now + skip_every_ns;
        }
        return slot.keys.find(now, connection, epoch, suite);
    }

    // The node is idle no more.
    void forget(NodeId node) noexcept {
        KeptKeys& slot = slots_[node % slots_.size()];
        if (slot.is_used && slot.node == node) slot = {};
    }

private:
    struct KeptKeys {
        NodeId node = 0;
        bool is_used = false;
        std::uint64_t first_epoch = 0;
        Time made = 0;
        ReceiveKeys keys;
    };

    std::vector<KeptKeys> slots_;
    Time may_skip_ = 0;
};

}  // namespace acp::datagram
