// SPDX-License-Identifier: BSD-3-Clause
// Meetings of all nodes that are carried by the gateway in this very process and not by the node's agent: the thread
// that waits in the barrier asks for one here, and whoever drives the gateway takes it, brings it to the other nodes and
// ends it. No process is woken for it. In such a meeting every node tells the collective call that it makes, so that
// ranks that make different ones are told, and wait for nobody. The node has one process.
// One thread asks, the driver of the gateway does the rest. Tests: tests/unit/node/own_meetings_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "base/status.hpp"
#include "node/awaited.hpp"
#include "node/conclusion.hpp"
#include "node/loss.hpp"
#include "node/segment.hpp"

namespace acp::node {

class OwnMeetings {
public:
    using Words = std::array<std::uint32_t, Conclusion::words_count>;

    //   segment  of this process's node; must outlive this
    explicit OwnMeetings(const Segment& segment) noexcept : segment_(segment) {}

    ~OwnMeetings() = default;
    OwnMeetings(const OwnMeetings&) = delete;
    OwnMeetings& operator=(const OwnMeetings&) = delete;

    // This node has come to the barrier `number`, by this call. The one before is over.
    void ask(std::uint32_t number, AwaitedCall call) noexcept;

    // Whether no meeting can end any more, since a node is lost. Ends the wait for one.
    [[nodiscard]] bool has_failed() const noexcept {
        // acquire: partner is fail()
        return lost_.load(std::memory_order_acquire) != 0;
    }

    // What fails all meetings; when has_failed(). Errors: peer.
    [[nodiscard]] base::Status failure() const;

    // Whether all nodes have made the same call, after the barrier was released. Errors: state.
    [[nodiscard]] base::Status verdict() const;

    // The driver's half.

    // What this node brings to a meeting that was asked for, each once; all nodes are to learn the least of each word.
    [[nodiscard]] std::optional<Words> take() noexcept;

    // The meeting taken last is over: releases the barrier.   least  of all nodes
    void finish(std::span<const std::uint32_t> least) noexcept;

    // A node has been silent for long. Asks the agent's gateway to watch it: if its machine is gone, that one tells. False:
    // it has told so already.
    [[nodiscard]] bool ask_to_watch(std::uint32_t node) noexcept;

    // No meeting ends any more. Only the first call counts.
    void fail(std::uint32_t node, NodeLoss why) noexcept;

private:
    const Segment& segment_;
    std::atomic<std::uint32_t> asked_{0};  // number of the barrier
    Words brought_{};                      // to that one
    std::uint32_t taken_ = 0;
    Words least_{};                       // of the meeting that ended last
    std::atomic<std::uint64_t> lost_{0};  // node + 1, above the NodeLoss
};

}  // namespace acp::node
