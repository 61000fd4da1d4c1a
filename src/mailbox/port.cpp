// SPDX-License-Identifier: BSD-3-Clause
// Makes the port that the job's shape asks for.
#include "mailbox/port.hpp"

#include "base/config.hpp"
#include "mailbox/port_mpsc.hpp"
#include "mailbox/port_rings.hpp"
#include "mailbox/port_udp.hpp"

namespace acp::mailbox {

base::Result<std::unique_ptr<Port>> Port::open(const node::Segment& segment, std::uint32_t slot) {
    using Made = std::unique_ptr<Port>;
    if (static_cast<base::IntraNode>(segment.shape().intranode) == base::IntraNode::udp) {
        return UdpPort::open(segment, slot);
    }
    switch (static_cast<base::MailboxKind>(segment.shape().mailbox_kind)) {
        case base::MailboxKind::pairs:
            return Made(std::make_unique<RingsPort>(segment, slot, RingsPort::Find::by_polling));
        case base::MailboxKind::bitmap:
            return Made(std::make_unique<RingsPort>(segment, slot, RingsPort::Find::by_bitmap));
        case base::MailboxKind::mpsc:
            break;
    }
    return Made(std::make_unique<MpscPort>(segment, slot));
}

}  // namespace acp::mailbox
