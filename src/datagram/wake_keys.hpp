// SPDX-License-Identifier: BSD-3-Clause
// Keys with which a datagram for a folded peer is authenticated before the peer is woken. They are
// cached for a while, so that a forger causes only one key derivation, and every node still gets
// its own key while forged datagrams arrive in its name. Knows no packet. One thread.
// Tests: tests/unit/datagram/wake_keys_test.cpp.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "datagram/key_schedule.hpp"

namespace acp::datagram {

class WakeKeys {
public:
    // How long a slot is kept before another node may take it.
    static constexpr Time kept_ns = 100'000'000;
    // Least interval between keys beyond the next epoch, all nodes together.
    static constexpr Time skip_every_ns = 10'000'000;
    static constexpr std::uint32_t slots_max = 256;  // nodes that share a slot take turns

    explicit WakeKeys(NodeId nodes) : slots_(std::bit_ceil(std::min(nodes, slots_max))) {}

    // Returns the key for a packet of a folded peer; nullptr if its epoch is over, if another node
    // occupies the slot, or if there is no memory.
    //   connection, first_epoch  of the folded peer: its secret, and the epoch of the largest
    //                            packet received
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

    // Frees the slot of a node that was woken.
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
