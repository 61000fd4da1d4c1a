// SPDX-License-Identifier: BSD-3-Clause
// Gives each frame to the part that handles it.
#include "router/frame_receiver.hpp"

namespace acp::router {

void FrameReceiver::on_frames(NodeId node, Bytes frames) {
    RouterPeer& from = to_.nodes.peer(node);
    while (!frames.empty() && !from.is_severed) {
        const Fault fault = on_frame(from, frames);
        if (fault == Fault::none) continue;
        ++to_.activity.counters().faults[static_cast<std::size_t>(fault)];
        to_.losses.sever(node, datagram::SeverReason::told);
        break;
    }
    to_.activity.note_move();
}

// Tries the most frequent types first.
Fault FrameReceiver::on_frame(RouterPeer& from, Bytes& frames) {
    const auto type = static_cast<FrameType>(frames[0]);
    if (type == FrameType::put) {
        return take<PutFrame>(frames, [&](const PutFrame& frame, Bytes bytes) {
            return to_.placer.on_put(from, frame, bytes);
        });
    }
    if (type == FrameType::puts) {
        return take<PutsFrame>(frames, [&](const PutsFrame& frame, Bytes puts) {
            return to_.placer.on_puts(from, frame, puts);
        });
    }
    if (type == FrameType::end) {
        return take<ShortFrame>(frames, [&](const ShortFrame& frame, Bytes /*tail*/) {
            return to_.own.on_end(from, frame);
        });
    }
    return on_other_frame(from, type, frames);
}

Fault FrameReceiver::on_other_frame(RouterPeer& from, FrameType type, Bytes& frames) {
    switch (type) {
        case FrameType::command:
            return take<CommandFrame>(frames, [&](const CommandFrame& frame, Bytes /*tail*/) {
                return to_.executor.on_command(from, frame);
            });
        case FrameType::ask:
        case FrameType::over:
        case FrameType::dead:
        case FrameType::gone:
        case FrameType::watch:
            return take<ShortFrame>(frames, [&](const ShortFrame& frame, Bytes /*tail*/) {
                return on_short(from, frame);
            });
        case FrameType::after:
            return take<ShortFrame>(frames, [&](const ShortFrame& after, Bytes /*tail*/) {
                return on_after(from, after, frames);
            });
        case FrameType::value:
        case FrameType::failed:
            return take<LongFrame>(frames, [&](const LongFrame& frame, Bytes /*tail*/) {
                return to_.answers.on_long(from, frame);
            });
        case FrameType::refused:
            return take<RefusedFrame>(frames, [&](const RefusedFrame& frame, Bytes /*tail*/) {
                return to_.answers.on_refused(from, frame);
            });
        case FrameType::invoke:
            return take<InvokeFrame>(frames, [&](const InvokeFrame& frame, Bytes arguments) {
                return to_.executor.on_invoke(from, frame, arguments);
            });
        case FrameType::result:
            return take<ResultFrame>(frames, [&](const ResultFrame& frame, Bytes result) {
                return to_.answers.on_result(from, frame, result);
            });
        case FrameType::meet:
            return take<MeetFrame>(frames, [&](const MeetFrame& frame, Bytes values) {
                return to_.meetings.on_meet(from, frame, values);
            });
        default:
            return Fault::unknown_type;
    }
}

// AFTER and its PUT or INVOKE are one frame in two parts.
Fault FrameReceiver::on_after(RouterPeer& from, const ShortFrame& after, Bytes& frames) {
    if (frames.empty()) return Fault::short_frame;
    const auto type = static_cast<FrameType>(frames[0]);
    if (type == FrameType::invoke) {
        return take<InvokeFrame>(frames, [&](const InvokeFrame& frame, Bytes arguments) {
            return to_.executor.on_invoke_after(from, after, frame, arguments);
        });
    }
    if (type != FrameType::put) return Fault::unknown_type;
    return take<PutFrame>(frames, [&](const PutFrame& frame, Bytes bytes) {
        return to_.placer.on_put_after(from, after, frame, bytes);
    });
}

Fault FrameReceiver::on_short(RouterPeer& from, const ShortFrame& frame) {
    switch (frame.type) {
        case FrameType::ask:
            return to_.answers.on_ask(from, frame);
        case FrameType::over:
            if (!from.has(frame.initiator)) return Fault::forged;
            to_.partials.drop(frame.initiator, frame.token);
            return Fault::none;
        case FrameType::dead:
            return to_.losses.on_dead(frame);
        case FrameType::watch:  // ORD-33
            to_.watch_list.watch_for(from, frame.initiator);
            return Fault::none;
        default:
            // GONE. The lost node's last frames may still be in the sockets, so the next poll
            // severs it. A GONE that names this node is ignored: the nodes that have severed it
            // stop answering, and the endpoint detects that.
            if (frame.initiator != to_.nodes.self()) to_.nodes.sever_later(frame.initiator);
            return Fault::none;
    }
}

}  // namespace acp::router
