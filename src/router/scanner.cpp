// SPDX-License-Identifier: BSD-3-Clause
// Makes one scan.
#include "router/scanner.hpp"

namespace acp::router {

void Scanner::scan() {
    in_.activity.begin_scan();
    offer_room_again();
    watch_overdue();
    NodeId awaited = 0;
    if (in_.meetings.is_overdue(awaited)) in_.watch_list.want(awaited);
    in_.placer.ask_about_quiet();
    in_.watch_list.drop_unwanted();
    in_.activity.end_scan();
    if (is_any_under_way() || !in_.watch_list.is_empty()) in_.activity.arm_scan();
}

void Scanner::watch_overdue() {
    const std::uint32_t scan = in_.activity.scan_number();
    in_.own.for_each([&](std::uint32_t /*index*/, Outstanding& record) {
        if (((scan - record.age) & 255U) < 2) return;
        record.age = static_cast<std::uint8_t>(scan - 2);  // marks it as old for all later scans
        RouterPeer& target = in_.nodes.peer_of(in_.nodes.named(in_.own.target_process(record)));
        RouterPeer& source = in_.nodes.peer_of(in_.nodes.named(in_.own.source_process(record)));
        in_.watch_list.want(target.node);
        in_.watch_list.want(source.node);
        in_.watch_list.ask(source, target.node);
    });
}

// If the endpoint has no memory for a node's record, it calls neither on_room() nor on_severed()
// for that node. So the scan tries such a node again, or severs it.
void Scanner::offer_room_again() {
    const Time now = in_.activity.now();
    for (RouterPeer& to : in_.nodes.met()) {
        if (!to.is_blocked || to.is_severed) continue;
        const bool is_hopeless = to.refused_at != datagram::never && no_memory_max_ns_ != 0 &&
                                 now - to.refused_at >= no_memory_max_ns_;
        if (is_hopeless) {
            in_.losses.sever(to.node, datagram::SeverReason::no_memory);
            continue;
        }
        in_.outbox.unblock(to);
        in_.meetings.note_room();
    }
}

bool Scanner::is_any_under_way() const noexcept {
    return in_.own.used() != 0 || in_.operations.in_use() != 0 || in_.outbox.waiting() != 0 ||
           in_.partials.used() != 0 || in_.meetings.is_on();
}

}  // namespace acp::router
