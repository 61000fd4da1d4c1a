// SPDX-License-Identifier: BSD-3-Clause
// A node or a process is lost: everything that involves it ends, with a code, and the news is passed on along the
// partners of a dissemination (ORD-20 to ORD-26). What is with placement is left until it settles.
#include <algorithm>

#include "router/state.hpp"

namespace acp::router {

using base::Code;

// Severs a node at the next safe point: not in the middle of a frame or a step.
void Router::State::sever_later(NodeId node) {
    Peer& bad = peer(node);
    if (bad.is_severed || bad.is_to_sever) return;
    bad.is_to_sever = true;
    to_sever.push_back(node);
}

void Router::State::sever_now() {
    while (!to_sever.empty()) {
        const NodeId node = to_sever.back();
        to_sever.pop_back();
        peer(node).is_to_sever = false;
        if (peer(node).is_severed) continue;
        endpoint->sever(node);  // may tell us at once
        on_severed(node, true);
    }
}

//   is_news  others may not know
void Router::State::on_severed(NodeId node, bool is_news) {
    Peer& gone = peer(node);
    if (gone.is_severed) return;
    gone.is_severed = true;
    gone.is_blocked = false;
    is_any_lost = true;
    is_meeting_lost = true;
    ++moves;
    ++counters.news;
    if (gone.is_watched) {
        gone.is_watched = false;
        watched.erase(std::find(watched.begin(), watched.end(), node));
        endpoint->unwatch(node);
    }
    end_commands_of_node(gone);
    end_work_of_node(gone);
    end_partials_of_node(gone);
    completions.on_node_dead(node);
    if (!is_news) return;
    Note news;
    news.type = FrameType::gone;
    news.initiator = node;
    pass_on(news);
}

void Router::State::end_commands_of_node(const Peer& gone) {
    for (std::uint32_t index = 0; index < commands.touched(); ++index) {
        const Outstanding& record = commands[index];
        if (record.is_taken == 0) continue;
        const std::uint64_t target = target_process(record);
        const std::uint64_t source = source_process(record);
        if (gone.has(target)) {
            complete(index, {Code::peer, End::target, named(target)});
        } else if (gone.has(source)) {
            complete(index, {Code::peer, End::source, named(source)});
        }
    }
}

void Router::State::end_work_of_node(Peer& gone) {
    while (!gone.notes.is_empty()) notes.give(gone.notes.pop(notes));
    while (!gone.flows.is_empty()) {
        const std::uint32_t found = gone.flows.pop(flows);
        while (!flows[found].work.is_empty()) abandon(flows[found].work.pop(operations));
        flow_index.erase(found);
        flows.give(found);
    }
    for (std::uint32_t index = 0; index < operations.touched(); ++index) {
        Operation& operation = operations[index];
        if (operation.is_taken && index != spare && gone.has(operation.initiator)) {
            operation.is_cancelled = true;
        }
    }
}

void Router::State::end_partials_of_node(const Peer& gone) {
    for (std::uint32_t index = 0; index < partials.touched(); ++index) {
        const Partial partial = partials[index];
        if (!partial.is_taken) continue;
        if (gone.has(partial.initiator)) {
            drop_partial(index);
        } else if (partial.from == gone.node && partial.arrived < partial.total) {
            drop_partial(index);
            if (partial.is_failed) continue;
            fail(partial.initiator, partial.token, {Code::peer, End::source, named(gone.first)});
        }
    }
}

bool Router::State::is_dead(std::uint64_t process) const noexcept {
    return std::binary_search(dead.begin(), dead.end(), process);
}

bool Router::State::is_gone(std::uint32_t process) {
    return is_dead(process) || peer_of(process).is_severed;
}

void Router::State::on_death(std::uint32_t process, std::uint32_t wait_status, bool is_local) {
    const auto at = std::lower_bound(dead.begin(), dead.end(), process);
    if (at != dead.end() && *at == process) return;
    dead.insert(at, process);
    is_any_lost = true;
    ++moves;
    ++counters.news;
    if (is_local) local(process).is_dead = true;
    end_commands_of_process(process);
    end_work_of_process(process);
    if (!is_local) completions.on_process_dead(process, wait_status);
    Note news;
    news.type = FrameType::dead;
    news.initiator = process;
    news.token = wait_status;
    pass_on(news);
}

void Router::State::end_commands_of_process(std::uint32_t process) {
    for (std::uint32_t index = 0; index < commands.touched(); ++index) {
        const Outstanding& record = commands[index];
        if (record.is_taken == 0) continue;
        if (target_process(record) == process) {
            complete(index, {Code::peer, End::target, process});
        } else if (source_process(record) == process || record.initiator == process) {
            complete(index, {Code::peer, End::source, process});
        }
    }
}

void Router::State::end_work_of_process(std::uint32_t process) {
    for (std::uint32_t index = 0; index < operations.touched(); ++index) {
        Operation& operation = operations[index];
        if (!operation.is_taken || operation.is_cancelled || index == spare) continue;
        const bool is_invoke = operation.work == Work::invoke;
        const std::uint64_t target = is_invoke ? operation.target : where(operation.target);
        const std::uint64_t source = is_invoke ? operation.target : where(operation.source);
        if (operation.initiator == process) {
            operation.is_cancelled = true;
        } else if (operation.work == Work::place) {
            if (target != process) continue;
            operation.is_cancelled = true;
            settle_piece(operation, Code::peer);
        } else if (operation.work == Work::request) {
            continue;  // ended with its command
        } else if (target == process || source == process) {
            operation.is_cancelled = true;
            fail(
                operation.initiator, operation.token,
                {Code::peer, target == process && !is_invoke ? End::target : End::source, process});
        }
    }
    for (std::uint32_t index = 0; index < partials.touched(); ++index) {
        if (partials[index].is_taken && partials[index].initiator == process) drop_partial(index);
    }
}

// ORD-25: to the nodes 2^k above and below, each of which passes on what is new to it.
void Router::State::pass_on(const Note& news) {
    const std::uint64_t nodes = settings.nodes;
    for (std::uint64_t distance = 1; distance < nodes; distance *= 2) {
        const auto above = static_cast<NodeId>((settings.node + distance) % nodes);
        const auto below = static_cast<NodeId>((settings.node + nodes - distance) % nodes);
        post(peer(above), news);
        if (below != above) post(peer(below), news);
    }
}

}  // namespace acp::router
