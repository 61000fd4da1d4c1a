// SPDX-License-Identifier: BSD-3-Clause
// Parses the frames of a datagram, checks them, and gives each to the part that handles it. A frame
// that violates the protocol is counted under its fault, and its sender is severed (WIRE-104),
// because the rest of the datagram cannot be parsed and no frame may be lost silently. One thread.
// Tests: tests/unit/router/frames_test.cpp, router_test.cpp, failure_test.cpp.
#pragma once

#include "router/activity.hpp"
#include "router/answers.hpp"
#include "router/executor.hpp"
#include "router/losses.hpp"
#include "router/meetings.hpp"
#include "router/nodes.hpp"
#include "router/own_commands.hpp"
#include "router/partial_copies.hpp"
#include "router/placer.hpp"
#include "router/watch_list.hpp"

namespace acp::router {

class FrameReceiver {
public:
    // The parts that handle frames. All must outlive the FrameReceiver.
    struct Addressees {
        Nodes& nodes;
        Placer& placer;
        OwnCommands& own;
        Executor& executor;
        Answers& answers;
        PartialCopies& partials;
        Meetings& meetings;
        WatchList& watch_list;
        Losses& losses;
        Activity& activity;
    };

    explicit FrameReceiver(const Addressees& addressees) noexcept
        : to_(addressees), shape_{to_.nodes.nodes(), to_.nodes.procs()} {}

    // Handles all frames of one datagram.
    void on_frames(NodeId node, Bytes frames);

private:
    [[nodiscard]] Fault on_frame(RouterPeer& from, Bytes& frames);
    [[nodiscard]] Fault on_other_frame(RouterPeer& from, FrameType type, Bytes& frames);
    [[nodiscard]] Fault on_after(RouterPeer& from, const ShortFrame& after, Bytes& frames);
    [[nodiscard]] Fault on_short(RouterPeer& from, const ShortFrame& frame);

    // Takes a frame off the front of `frames` and, if it is valid, passes it with the bytes that
    // follow it to handle().
    template <typename Frame, typename Handle>
    [[nodiscard]] Fault take(Bytes& frames, Handle handle) {
        Frame frame;
        Bytes tail;
        const Fault fault = read(frames, shape_, frame, tail);
        return fault != Fault::none ? fault : handle(frame, tail);
    }

    Addressees to_;
    JobShape shape_;
};

}  // namespace acp::router
