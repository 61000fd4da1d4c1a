// SPDX-License-Identifier: BSD-3-Clause
// Mail: commands of other processes on memory of this one, bytes for it, and ends of own commands.
#include "local/direct.hpp"
#include "local/forwarder_state.hpp"

namespace acp::local {

void Forwarder::State::on_message(const MessageHead& head, std::span<const char> payload) {
    const bool is_of_epoch = head.epoch == epoch || head.epoch == any_epoch || epoch == any_epoch;
    if (!is_of_epoch || head.origin >= peers.size() || peers[head.origin].is_dead) {
        return;  // of an earlier epoch, or nobody waits for it any more
    }
    switch (head.kind) {
        case MessageKind::command:
            serve(head);
            break;
        case MessageKind::data:
            place_data(head, payload);
            break;
        case MessageKind::end:
            on_end(head.token, {static_cast<base::Code>(head.code), static_cast<Blame>(head.width),
                                head.operand});
            break;
    }
}

void Forwarder::State::serve(const MessageHead& head) {
    const bool is_copy = static_cast<memory::Operation>(head.operation) == memory::Operation::copy;
    if (is_copy && head.target == 0) {
        serve_fetch(head);
        return;
    }
    const memory::Command command{static_cast<memory::Operation>(head.operation),
                                  head.width,
                                  head.target,
                                  head.source,
                                  head.bytes,
                                  head.operand,
                                  head.expected};
    const Naming naming(*this, command.target_or_word(), command.source);
    Place target;
    Place source;
    if (command.is_copy()) {
        const Verdict verdict = find(head.target, head.source, head.bytes, target, source);
        if (verdict.code != base::Code::ok) {
            report(head.origin, head.token, verdict);
        } else if (!reaches(own_slot, source)) {
            report(head.origin, head.token, {base::Code::address, Blame::source, 0});
        } else {
            serve_copy(head, target, source);
        }
        return;
    }
    Verdict verdict{space.find(head.source, head.width, source), Blame::source, 0};
    if (verdict.code == base::Code::ok) {
        verdict = reaches(own_slot, source) ? run_atomic(command, source, head.origin)
                                            : Verdict{base::Code::address, Blame::source, 0};
    }
    report(head.origin, head.token, verdict);
}

void Forwarder::State::serve_copy(const MessageHead& head,
                                  const Place& target,
                                  const Place& source) {
    const Job job{head.token, head.target, head.source, head.bytes, 0, head.origin};
    if (reaches(own_slot, target)) {
        if (head.bytes > move_bytes_max) {
            add_job(own_slot, job);
            return;
        }
        const memory::Command command{
            memory::Operation::copy, 0, head.target, head.source, head.bytes, 0, 0};
        move_here(command, target, source, head.origin);
        report(head.origin, head.token, {});
    } else if (peers[target.slot].is_dead) {
        report(head.origin, head.token, {base::Code::peer, Blame::nothing, target.slot});
    } else if (!send_only_piece(target.slot, job, source)) {
        add_job(target.slot, job);
    }
}

Forwarder::State::Verdict Forwarder::State::run_atomic(const memory::Command& command,
                                                       const Place& word,
                                                       std::uint32_t origin) const {
    if (command.width == 0 || word.owner_address % command.width != 0) {
        return {base::Code::alignment, Blame::source, 0};
    }
    const std::uint64_t old = apply(command, word.direct);
    if (observer) observer(command, origin);
    return {base::Code::ok, Blame::nothing, old};
}

// The bytes of a copy that another process runs. The last piece ends it, unless an earlier one failed: then
// the failure was told first, and the origin knows the token no more.
void Forwarder::State::place_data(const MessageHead& head, std::span<const char> payload) {
    if (head.target == 0) {
        take_fetched(head, payload);
        return;
    }
    Verdict verdict;
    {
        const Naming naming(*this, head.target, head.target);
        Place target;
        verdict.code = space.find(head.target, payload.size(), target);
        if (verdict.code == base::Code::ok && !reaches(own_slot, target))
            verdict.code = base::Code::address;
        if (verdict.code == base::Code::ok) {
            move_bytes(target.direct, payload.data(), payload.size());
            if (observer) {
                observer(
                    {memory::Operation::copy, 0, head.target, head.source, payload.size(), 0, 0},
                    head.origin);
            }
        } else {
            verdict.blame = Blame::target;
        }
    }
    if (head.origin != own_slot) add(counters.served_bytes, payload.size());
    if (head.is_last != 0 || verdict.code != base::Code::ok) {
        report(head.origin, head.token, verdict);
    }
}

}  // namespace acp::local
