// SPDX-License-Identifier: BSD-3-Clause
// Handles each kind of message, and does the owner's part of each command.
#include "mailbox/forwarder_server.hpp"

namespace acp::mailbox {

void ForwarderServer::on_message(const MessageHead& head, std::span<const char> payload) {
    if (!queues_.is_wanted(head)) {
        return;
    }
    switch (head.kind) {
        case MessageKind::command:
            serve(head);
            break;
        case MessageKind::data:
            place_data(head, payload);
            break;
        case MessageKind::end:
            ends_.on_end(head.token, {static_cast<base::Code>(head.code),
                                      static_cast<Blame>(head.blame), head.operand});
            break;
    }
}

void ForwarderServer::serve(const MessageHead& head) {
    if (static_cast<memory::Operation>(head.operation) != memory::Operation::copy) {
        serve_atomic(head);
    } else if (head.target == 0) {
        serve_fetch(head);
    } else {
        serve_copy(head);
    }
}

void ForwarderServer::serve_copy(const MessageHead& head) {
    const ForwarderMemory::Naming naming(memory_, head.target, head.source);
    local::Place target;
    local::Place source;
    AccessVerdict verdict = memory_.find(head.target, head.source, head.bytes, target, source);
    if (verdict.is_ok() && !memory_.reaches_here(source)) verdict.code = base::Code::address;
    if (verdict.is_ok()) {
        run_copy(head, target, source);
    } else {
        ends_.report(head.origin, head.token, verdict);
    }
}

void ForwarderServer::run_copy(const MessageHead& head,
                               const local::Place& target,
                               const local::Place& source) {
    const PieceCopy copy{head.token, head.target, head.source, head.bytes, 0, head.origin};
    if (memory_.reaches_here(target)) {
        if (head.bytes > move_bytes_max || devices_.is_own(target) || devices_.is_own(source)) {
            copies_.move_in_turns(copy);
            return;
        }
        memory_.move({memory::Operation::copy, 0, head.target, head.source, head.bytes, 0, 0},
                     target, source, head.origin);
        ends_.report(head.origin, head.token, {});
    } else if (queues_.is_dead(target.slot)) {
        ends_.report(head.origin, head.token, {base::Code::peer, Blame::nothing, target.slot});
    } else {
        copies_.send(target.slot, copy, source);
    }
}

void ForwarderServer::serve_atomic(const MessageHead& head) {
    const memory::Command command{static_cast<memory::Operation>(head.operation),
                                  head.width,
                                  head.target,
                                  head.source,
                                  head.bytes,
                                  head.operand,
                                  head.expected};
    const ForwarderMemory::Naming naming(memory_, command.target_or_word(), command.source);
    local::Place word;
    AccessVerdict verdict = memory_.find_source(head.source, head.width, word);
    if (verdict.is_ok() && !memory_.reaches_here(word)) verdict.code = base::Code::address;
    if (verdict.is_ok() && devices_.is_own(word)) {
        copies_.run_on_device(command, word, head.token, head.origin);
        return;
    }
    if (verdict.is_ok()) verdict = memory_.run_atomic(command, word, head.origin);
    ends_.report(head.origin, head.token, verdict);
}

// A copy without a target: its origin has no global address, so this process sends the bytes back
// in one message, now or when there is room.
void ForwarderServer::serve_fetch(const MessageHead& head) {
    const ForwarderMemory::Naming naming(memory_, head.source, head.source);
    local::Place source;
    AccessVerdict verdict = memory_.find_source(head.source, head.bytes, source);
    if (verdict.is_ok() && !memory_.reaches_here(source)) verdict.code = base::Code::address;
    if (verdict.is_ok() && head.bytes > queues_.datagram_bytes()) {
        verdict.code = base::Code::argument;
    }
    if (!verdict.is_ok()) {
        ends_.report(head.origin, head.token, verdict);
        return;
    }
    copies_.send(head.origin, {head.token, 0, head.source, head.bytes, 0, head.origin}, source);
    counters_.note_served_command();
    counters_.note_served_bytes(head.bytes);
}

// Places the bytes of a copy that another process runs. The last piece completes the copy. If an
// earlier piece failed, the origin has received that failure first and no longer knows the token.
void ForwarderServer::place_data(const MessageHead& head, std::span<const char> payload) {
    if (head.target == 0) {
        ends_.on_fetched(head.origin, head.token, payload);
        return;
    }
    if (devices_.place(head, payload)) return;
    const AccessVerdict verdict = memory_.write(head.target, payload, head.source, head.origin);
    if (head.is_last != 0 || !verdict.is_ok()) {
        ends_.report(head.origin, head.token, verdict);
    }
}

}  // namespace acp::mailbox
