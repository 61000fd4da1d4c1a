// SPDX-License-Identifier: BSD-3-Clause
// Completes commands of this node directly, and reports to other nodes by short frames.
#include "router/ends.hpp"

namespace acp::router {

using base::Code;

Ends::Ends(Nodes& nodes, OwnCommands& own, Resends& resends, Outbox& outbox, Activity& activity)
    : nodes_(nodes), own_(own), resends_(resends), outbox_(outbox), activity_(activity) {}

void Ends::finish(std::uint32_t initiator, std::uint64_t token) {
    if (nodes_.is_mine(initiator)) {
        const std::uint32_t index = own_.find(initiator, token);
        if (index != no_index) own_.complete(index, {Code::ok, BlamedAddress::none, 0});
        return;
    }
    finished_.note(initiator, token);
    // ENDs are collected until flush(), as long as tokens are consecutive and the slot is not
    // needed for another initiator.
    Run& run = runs_[initiator & (runs_open_max - 1)];
    if (run.count != 0) {
        if (run.initiator == initiator && run.token + 2ULL * run.count == token &&
            run.count < 0xffffU) {
            ++run.count;
            return;
        }
        flush_run(run);
    }
    run = {token, initiator, 1};
    ++runs_open_;
}

void Ends::fail(std::uint32_t initiator, std::uint64_t token, const CommandFailure& failure) {
    if (nodes_.is_mine(initiator)) {
        const std::uint32_t index = own_.find(initiator, token);
        if (index != no_index) own_.complete(index, failure);
        return;
    }
    Note note;
    note.type = FrameType::failed;
    note.code_and_end = static_cast<std::uint8_t>(static_cast<unsigned>(failure.code) +
                                                  64U * static_cast<unsigned>(failure.blamed));
    note.initiator = initiator;
    note.token = token;
    note.detail = failure.process;
    outbox_.post(nodes_.peer_of(initiator), note);
}

void Ends::send_value(RouterPeer& to,
                      std::uint32_t initiator,
                      std::uint64_t token,
                      std::uint64_t value) {
    Note note;
    note.type = FrameType::value;
    note.initiator = initiator;
    note.token = token;
    note.detail = value;
    outbox_.post(to, note);
}

void Ends::refuse_command(RouterPeer& to, const Task& task) {
    ++activity_.counters().commands_refused;
    Note note;
    note.type = FrameType::refused;
    note.code_and_end = 1;
    note.initiator = task.initiator;
    note.token = task.token;
    note.detail = task.command.target;
    note.bytes = task.command.bytes;
    outbox_.post(to, note);
}

void Ends::refuse_piece(const PutFrame& frame) {
    if (nodes_.is_mine(frame.initiator)) {
        const std::uint32_t index = own_.find(frame.initiator, frame.token);
        if (index != no_index) resends_.add(index, frame.target - own_[index].target, frame.bytes);
        return;
    }
    Note note;
    note.type = FrameType::refused;
    note.initiator = frame.initiator;
    note.token = frame.token;
    note.detail = frame.target;
    note.bytes = frame.bytes;
    outbox_.post(nodes_.peer_of(frame.initiator), note);
}

bool Ends::is_over_or_ask(std::uint32_t initiator, std::uint64_t token) {
    if (nodes_.is_mine(initiator)) return !own_.has(initiator, token);
    Note note;
    note.type = FrameType::ask;
    note.initiator = initiator;
    note.token = token;
    outbox_.post(nodes_.peer_of(initiator), note);
    return false;
}

void Ends::flush_run(Run& run) {
    Note note;
    note.type = FrameType::end;
    note.count = static_cast<std::uint16_t>(run.count);
    note.initiator = run.initiator;
    note.token = run.token;
    run.count = 0;
    --runs_open_;
    outbox_.post(nodes_.peer_of(note.initiator), note);
}

void Ends::flush_all() {
    for (Run& run : runs_) {
        if (run.count != 0) flush_run(run);
    }
}

}  // namespace acp::router
