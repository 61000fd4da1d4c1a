// SPDX-License-Identifier: BSD-3-Clause
// Fails the commands and drops the work that a loss involves, and forwards the loss to other nodes.
#include "router/losses.hpp"

namespace acp::router {

void Losses::sever(NodeId node, datagram::SeverReason reason) {
    in_.nodes.sever(node, reason);  // this may call on_severed() at once
    on_severed(node, true);
}

void Losses::sever_noted() {
    while (in_.nodes.has_to_sever()) {
        const NodeId node = in_.nodes.take_to_sever();
        if (in_.nodes.peer(node).is_severed) continue;
        sever(node, datagram::SeverReason::told);
    }
}

void Losses::on_severed(NodeId node, bool is_news) {
    if (!in_.nodes.note_severed(node)) return;
    RouterPeer& gone = in_.nodes.peer(node);
    in_.meetings.give_up();
    in_.activity.note_move();
    ++in_.activity.counters().news;
    in_.watch_list.forget(gone);
    in_.own.end_all_of(gone);
    in_.nodes.for_lanes_of(node, [this](RouterPeer& lane) {
        in_.outbox.drop_waiting(lane);
        in_.backlog.abandon_all(lane);
    });
    in_.operations.cancel_of(gone);
    in_.placer.end_copies_of(gone);
    in_.completions.on_node_dead(node);
    if (!is_news) return;
    Note news;
    news.type = FrameType::gone;
    news.initiator = node;
    pass_on(news);
}

Fault Losses::on_dead(const ShortFrame& frame) {
    if (in_.nodes.is_dead(frame.initiator)) return Fault::none;
    // The router's owner reports the deaths of this node's processes; no other node does.
    if (in_.nodes.is_mine(frame.initiator)) return Fault::forged;
    on_death(frame.initiator, end_in(frame), false);
    return Fault::none;
}

void Losses::on_death(std::uint32_t process, const base::ProcessEnd& end, bool is_local) {
    if (!in_.nodes.note_dead(process)) return;
    in_.activity.note_move();
    ++in_.activity.counters().news;
    in_.own.end_all_of(process);
    cancel_work_of(process);
    in_.placer.drop_copies_of(process);
    if (!is_local) in_.completions.on_process_dead(process, end);
    Note news;
    const ShortFrame dead = dead_frame(process, end);
    news.type = dead.type;
    news.code_and_end = dead.state;
    news.initiator = dead.initiator;
    news.token = dead.token;
    pass_on(news);
}

void Losses::cancel_work_of(std::uint32_t initiator) {
    in_.operations.for_each([&](OperationRecord& operation) {
        if (operation.initiator == initiator) operation.is_cancelled = true;
    });
}

// ORD-25: sends the loss to the nodes 2^k above and below. Each of them forwards a loss that it did
// not know.
void Losses::pass_on(const Note& news) {
    const std::uint64_t self = in_.nodes.self();
    const std::uint64_t nodes = in_.nodes.nodes();
    for (std::uint64_t distance = 1; distance < nodes; distance *= 2) {
        const auto above = static_cast<NodeId>((self + distance) % nodes);
        const auto below = static_cast<NodeId>((self + nodes - distance) % nodes);
        in_.outbox.post(in_.nodes.peer(above), news);
        if (below != above) in_.outbox.post(in_.nodes.peer(below), news);
    }
}

}  // namespace acp::router
