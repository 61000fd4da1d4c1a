// SPDX-License-Identifier: BSD-3-Clause
// Checks frames about commands of this node's processes against those commands.
#include "router/answers.hpp"

namespace acp::router {

using base::Code;

Answers::Answers(Nodes& nodes, OwnCommands& own, Resends& resends, Placer& placer, Outbox& outbox)
    : nodes_(nodes), own_(own), resends_(resends), placer_(placer), outbox_(outbox) {}

Fault Answers::on_long(const RouterPeer& from, const LongFrame& frame) {
    if (!nodes_.is_mine(frame.initiator)) return Fault::misdirected;
    const std::uint32_t index = own_.find_involved(from, frame.initiator, frame.token);
    if (index == no_index) return Fault::none;
    if (frame.type == FrameType::value) return on_value(from, index, frame.detail);
    if (!own_[index].is_invoke() && from.has(own_.target_process(own_[index])))
        own_.end_before_answered(index);
    own_.complete(index, {static_cast<Code>(frame.code_and_end & 63U),
                          static_cast<BlamedAddress>(frame.code_and_end >> 6U),
                          static_cast<std::uint32_t>(frame.detail)});
    return Fault::none;
}

// A VALUE comes from the word's node, if the target is here; or from the target's node, if that has
// no room for the value now. This node then sends the value there again later, because the atomic
// must not run twice.
Fault Answers::on_value(const RouterPeer& from, std::uint32_t index, std::uint64_t value) {
    const Outstanding& record = own_[index];
    if (record.is_invoke() || record.operation == 0 || record.is_value_dropped != 0) {
        return Fault::forged;
    }
    if (nodes_.is_mine(nodes_.where(record.target))) {
        if (!from.has(nodes_.where(record.source))) return Fault::forged;
        placer_.place_value(record, value);
        return Fault::none;
    }
    if (!from.has(nodes_.where(record.target))) return Fault::forged;
    resends_.add_value(index, value);
    return Fault::none;
}

// ORD-40: the source's node refuses commands, the target's node refuses pieces.
Fault Answers::on_refused(const RouterPeer& from, const RefusedFrame& frame) {
    if (!nodes_.is_mine(frame.initiator)) return Fault::misdirected;
    const std::uint32_t index = own_.find_involved(from, frame.initiator, frame.token);
    if (index == no_index) return Fault::none;
    const Outstanding& record = own_[index];
    const bool is_command = frame.is_command != 0;
    if (!from.has(is_command ? own_.source_process(record) : own_.target_process(record))) {
        return Fault::forged;
    }
    if (record.operation != 0) {
        if (!is_command) return Fault::forged;
        resends_.add(index, 0, record.bytes);
        return Fault::none;
    }
    const std::uint64_t offset = frame.target - record.target;
    if (offset > record.bytes || frame.bytes > record.bytes - offset) return Fault::overrun;
    resends_.add(index, offset, frame.bytes);
    return Fault::none;
}

Fault Answers::on_result(const RouterPeer& from, const ResultFrame& frame, Bytes result) {
    if (!nodes_.is_mine(frame.initiator)) return Fault::misdirected;
    const std::uint32_t index = own_.find_involved(from, frame.initiator, frame.token);
    if (index == no_index) return Fault::none;
    if (!own_[index].is_invoke()) return Fault::forged;
    own_.complete_invoke(index, static_cast<Code>(frame.code), result);
    return Fault::none;
}

Fault Answers::on_ask(RouterPeer& from, const ShortFrame& frame) {
    if (!nodes_.is_mine(frame.initiator)) return Fault::misdirected;
    if (own_.has(frame.initiator, frame.token)) return Fault::none;
    Note note;
    note.type = FrameType::over;
    note.initiator = frame.initiator;
    note.token = frame.token;
    outbox_.post(from, note);
    return Fault::none;
}

}  // namespace acp::router
