// SPDX-License-Identifier: BSD-3-Clause
// The lower parts of the router of node 0 of three, connected as router.cpp connects them, over a
// network that delivers all datagrams at once, or has no room. Keeps the frames that the other
// nodes get. Knows no Router. One thread.
#pragma once

#include <array>
#include <vector>

#include "router/backlog.hpp"

#include "unit/router/fake_node.hpp"

namespace acp::router::test {

// A node that keeps its received frames.
class FrameLog final : public datagram::EndpointHandler {
public:
    void on_frames(NodeId /*from*/, datagram::Bytes frames) override {
        bytes.insert(bytes.end(), frames.begin(), frames.end());
    }

    void on_room(NodeId /*node*/) override {}

    void on_severed(NodeId /*node*/, datagram::SeverReason /*reason*/) override {}

    // The received frames, if all are short ones.
    [[nodiscard]] std::vector<ShortFrame> short_frames() const {
        std::vector<ShortFrame> frames(bytes.size() / sizeof(ShortFrame));
        std::memcpy(frames.data(), bytes.data(), frames.size() * sizeof(ShortFrame));
        return frames;
    }

    std::vector<std::byte> bytes;
};

inline RouterSettings small_settings() {
    RouterSettings settings;
    settings.nodes = 3;
    settings.procs = 5;
    settings.commands_max = 4;
    settings.executions_max = 3;
    settings.invokes_max = 2;
    settings.notes_max = 4;
    settings.staging_buffers = 1;
    settings.undelivered_bytes_max = 1000;
    return settings;
}

// Processes 0 and 1 are of node 0, 2 and 3 of node 1, 4 of node 2.
struct LowerParts {
    // has_room  false: no datagram can be sent
    explicit LowerParts(bool has_room = true, const RouterSettings& settings = small_settings())
        : map({2, 2, 1}),
          layout(map.procs()),
          network(3, 1, {1436, has_room ? 4U : 0U, 100}),
          nodes(settings, layout, map),
          outbox(nodes, activity, settings.notes_max),
          partials(activity, settings.executions_max),
          own(nodes, partials, told, activity, settings),
          resends(own, activity, settings.commands_max),
          ends(nodes, own, resends, outbox, activity),
          operations(settings),
          backlog(nodes, operations, outbox, ends, activity, settings.undelivered_bytes_max) {
        for (NodeId node = 0; node < 3; ++node) network.bind(node, logs[node]);
        const std::vector<datagram::Endpoint*> endpoints(settings.rails, &network.endpoint(0));
        nodes.bind(endpoints);
        activity.set_now(1'000'000);
    }

    void deliver() {
        while (network.step()) {
        }
    }

    // A copy from process 2 to process 0, outstanding.
    std::uint32_t enter_get(std::uint64_t token, std::uint64_t bytes = 64) {
        const std::uint32_t index = own.take();
        if (index == no_index) return no_index;
        Outstanding& record = own[index];
        record = Outstanding{};
        record.is_taken = 1;
        record.token = token;
        record.target = address(0);
        record.source = address(2);
        record.bytes = bytes;
        own.enter(index);
        return index;
    }

    [[nodiscard]] GlobalAddress address(std::uint32_t process) const {
        return layout.segment_start(process, 0, 1);
    }

    FakeMap map;
    memory::GaLayout layout;
    FakeNetwork network;
    std::array<FrameLog, 3> logs;
    FakeEnds told;
    Activity activity;
    Nodes nodes;
    Outbox outbox;
    PartialCopies partials;
    OwnCommands own;
    Resends resends;
    Ends ends;
    Operations operations;
    Backlog backlog;
};

}  // namespace acp::router::test
