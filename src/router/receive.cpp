// SPDX-License-Identifier: BSD-3-Clause
// The frames of a datagram, told apart and checked. A frame that is not of the protocol is counted under what is
// wrong with it, and its sender severed (WIRE-104): the rest of the datagram cannot be read, and nothing is lost
// in silence.
#include "router/state.hpp"

namespace acp::router {

void Router::State::on_frames(NodeId node, Bytes frames) {
    Peer& from = peer(node);
    while (!frames.empty() && !from.is_severed) {
        const Fault fault = on_frame(from, frames);
        if (fault == Fault::none) continue;
        ++counters.faults[static_cast<std::size_t>(fault)];
        sever_later(node);
        break;
    }
    ++moves;
    if (!to_sever.empty()) sever_now();
}

Fault Router::State::on_frame(Peer& from, Bytes& frames) {
    const auto type = static_cast<FrameType>(frames[0]);
    Bytes tail;
    if (type == FrameType::put) {
        PutFrame frame;
        const Fault fault = read(frames, shape, frame, tail);
        return fault != Fault::none ? fault : on_put(from, frame, tail);
    }
    if (type == FrameType::puts) {
        PutsFrame frame;
        const Fault fault = read(frames, shape, frame, tail);
        return fault != Fault::none ? fault : on_puts(from, frame, tail);
    }
    if (type == FrameType::end) {
        ShortFrame frame;
        const Fault fault = read(frames, shape, frame, tail);
        return fault != Fault::none ? fault : on_end(from, frame);
    }
    return on_other_frame(from, type, frames);
}

Fault Router::State::on_other_frame(Peer& from, FrameType type, Bytes& frames) {
    Bytes tail;
    switch (type) {
        case FrameType::command: {
            CommandFrame frame;
            const Fault fault = read(frames, shape, frame, tail);
            return fault != Fault::none ? fault : on_command(from, frame);
        }
        case FrameType::ask:
        case FrameType::over:
        case FrameType::dead:
        case FrameType::gone:
        case FrameType::watch: {
            ShortFrame frame;
            const Fault fault = read(frames, shape, frame, tail);
            return fault != Fault::none ? fault : on_short(from, frame);
        }
        case FrameType::value:
        case FrameType::failed: {
            LongFrame frame;
            const Fault fault = read(frames, shape, frame, tail);
            return fault != Fault::none ? fault : on_long(from, frame);
        }
        case FrameType::refused: {
            RefusedFrame frame;
            const Fault fault = read(frames, shape, frame, tail);
            return fault != Fault::none ? fault : on_refused(from, frame);
        }
        case FrameType::invoke: {
            InvokeFrame frame;
            const Fault fault = read(frames, shape, frame, tail);
            return fault != Fault::none ? fault : on_invoke(from, frame, tail);
        }
        case FrameType::result: {
            ResultFrame frame;
            const Fault fault = read(frames, shape, frame, tail);
            return fault != Fault::none ? fault : on_result(from, frame, tail);
        }
        case FrameType::meet: {
            MeetFrame frame;
            const Fault fault = read(frames, shape, frame, tail);
            return fault != Fault::none ? fault : on_meet(from, frame, tail);
        }
        default:
            return Fault::unknown_type;
    }
}

Fault Router::State::on_short(Peer& from, const ShortFrame& frame) {
    switch (frame.type) {
        case FrameType::ask: {  // ORD-32
            if (!is_mine(frame.initiator)) return Fault::misdirected;
            if (book.find(frame.initiator, frame.token) != no_index) return Fault::none;
            Note note;
            note.type = FrameType::over;
            note.initiator = frame.initiator;
            note.token = frame.token;
            post(from, note);
            return Fault::none;
        }
        case FrameType::over: {
            if (!from.has(frame.initiator)) return Fault::forged;
            const std::uint32_t index = partial_index.find(frame.initiator, frame.token);
            if (index != no_index) drop_partial(index);
            return Fault::none;
        }
        case FrameType::dead:
            if (is_dead(frame.initiator)) return Fault::none;
            // Of its own processes a node hears nothing new.
            if (is_mine(frame.initiator)) return Fault::forged;
            on_death(frame.initiator, static_cast<std::uint32_t>(frame.token), false);
            return Fault::none;
        case FrameType::watch:  // ORD-33
            watch_for_another(from, frame.initiator);
            return Fault::none;
        default:
            // Others may think this node gone: then they answer it no more, which it will notice.
            if (frame.initiator != settings.node) sever_later(frame.initiator);
            return Fault::none;
    }
}

Fault Router::State::on_meet(const Peer& from, const MeetFrame& frame, Bytes values) {
    Meeting::Part part;
    part.number = frame.number;
    part.round = frame.round;
    part.offset = frame.offset;
    part.total = frame.total;
    part.count = frame.count;
    const Fault fault = meeting.hear(from.node, part, values);
    is_meeting_ready = true;
    return fault;
}

}  // namespace acp::router
