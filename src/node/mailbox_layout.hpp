// SPDX-License-Identifier: BSD-3-Clause
// How much of the node segment the mailboxes take, by kind, and where their cells lie. The mpsc kind gives every
// process one pool of cells that it sends from, so memory grows with n; pairs and bitmap give every process
// one ring per peer, so it grows with n(n-1), as in the paper. Pages are taken as they are touched.
// Knows sizes only; the mailboxes themselves are in local/.
#pragma once

#include <cstdint>

#include "base/config.hpp"
#include "node/control.hpp"

namespace acp::node {

inline constexpr std::uint64_t mailbox_layout_version = 1;
inline constexpr std::uint32_t cell_head_bytes = 128;  // links, state and message head of one cell
inline constexpr std::uint32_t pool_cells = 32;        // mpsc: cells a process sends from
inline constexpr std::uint32_t ring_cells = 8;         // pairs, bitmap: cells per ordered pair
inline constexpr std::uint32_t ring_control_bytes =
    128;  // producer's and consumer's index, a line each
inline constexpr std::uint32_t auto_datagram_bytes = 16 * 1024;
inline constexpr std::uint32_t udp_datagram_bytes = 1408;  // as the paper's: fits an Ethernet frame
inline constexpr std::uint32_t datagram_bytes_min = 64;
inline constexpr std::uint32_t datagram_bytes_max = 65000;

struct MailboxLayout {
    std::uint64_t payload_stride = 0;  // of one cell's payload
    std::uint64_t ring_stride = 0;     // pairs, bitmap: of one ring
    std::uint64_t bytes_per_slot = 0;

    [[nodiscard]] static MailboxLayout of(const Shape& shape) noexcept {
        MailboxLayout layout;
        layout.payload_stride = (std::uint64_t{shape.datagram_bytes} + 63) / 64 * 64;
        if (static_cast<base::MailboxKind>(shape.mailbox_kind) == base::MailboxKind::mpsc) {
            layout.bytes_per_slot = pool_cells * (cell_head_bytes + layout.payload_stride);
        } else {
            layout.ring_stride =
                ring_control_bytes + ring_cells * (cell_head_bytes + layout.payload_stride);
            layout.bytes_per_slot =
                layout.ring_stride * slots_of(shape);  // indexed by sender's slot
        }
        return layout;
    }
};

}  // namespace acp::node
