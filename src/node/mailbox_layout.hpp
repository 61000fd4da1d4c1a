// SPDX-License-Identifier: BSD-3-Clause
// The layout of the mailboxes in the node segment, by kind. With mpsc every process has one pool of
// cells that it sends from, so memory grows with n; with pairs and bitmap it has one ring per peer,
// so memory grows with n(n-1), as in the paper. Pages are taken as they are touched. Knows sizes
// only; mailbox/ has the mailboxes themselves.
#pragma once

#include <cstdint>

#include "base/config.hpp"
#include "node/control.hpp"

namespace acp::node {

inline constexpr std::uint64_t mailbox_layout_version = 1;
inline constexpr std::uint32_t cell_head_bytes = 128;  // links, state and message head of one cell
inline constexpr std::uint32_t pool_cells = 32;        // mpsc: cells a process sends from
inline constexpr std::uint32_t ring_cells = 8;         // pairs, bitmap: cells per ordered pair
// producer's and consumer's index, a line each
inline constexpr std::uint32_t ring_control_bytes = 128;
inline constexpr std::uint32_t auto_datagram_bytes = 16 * 1024;
// the paper's length: fits an Ethernet frame
inline constexpr std::uint32_t udp_datagram_bytes = 1408;
inline constexpr std::uint32_t datagram_bytes_min = 64;
inline constexpr std::uint32_t datagram_bytes_max = 65000;

struct MailboxLayout {
    std::uint64_t payload_stride = 0;  // per cell
    std::uint64_t ring_stride = 0;     // pairs, bitmap: per ring
    std::uint64_t bytes_per_slot = 0;

    [[nodiscard]] static MailboxLayout of(const Shape& shape) noexcept {
        MailboxLayout layout;
        layout.payload_stride = (std::uint64_t{shape.datagram_bytes} + 63) / 64 * 64;
        if (static_cast<base::MailboxKind>(shape.mailbox_kind) == base::MailboxKind::mpsc) {
            layout.bytes_per_slot = pool_cells * (cell_head_bytes + layout.payload_stride);
        } else {
            layout.ring_stride =
                ring_control_bytes + ring_cells * (cell_head_bytes + layout.payload_stride);
            // indexed by sender's slot
            layout.bytes_per_slot = layout.ring_stride * slots_of(shape);
        }
        return layout;
    }
};

}  // namespace acp::node
