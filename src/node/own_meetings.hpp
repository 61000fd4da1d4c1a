// SPDX-License-Identifier: BSD-3-Clause
// Meetings of all nodes that the gateway in this very process carries, and not the node's agent.
// The thread that waits in the barrier requests one here; the driver of the gateway takes it,
// carries it to the other nodes and completes it. No process is woken for it. Every node
// contributes the collective call that it makes, so ranks that make different calls get an error
// instead of waiting for ever. The node has one process. One thread requests, the driver of the
// gateway calls the rest. Tests: tests/unit/node/own_meetings_test.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "node/conclusion.hpp"
#include "node/loss.hpp"
#include "node/segment.hpp"

namespace acp::node {

class OwnMeetings {
public:
    using Words = std::array<std::uint32_t, Conclusion::words_count>;

    static constexpr std::uint32_t no_call = 0;

    // The name of a collective call by its number, which all ranks give it alike: "acp_sync".
    using NameOfCall = std::string_view (*)(std::uint32_t call);

    //   segment  of this process's node; must outlive this
    OwnMeetings(const Segment& segment, NameOfCall name_of_call) noexcept
        : segment_(segment), name_of_call_(name_of_call) {}

    ~OwnMeetings() = default;
    OwnMeetings(const OwnMeetings&) = delete;
    OwnMeetings& operator=(const OwnMeetings&) = delete;

    // This node has arrived at the barrier `number`, by this call. The previous barrier is over.
    void ask(std::uint32_t number, std::uint32_t call) noexcept;

    // Whether no meeting can complete, because a node is lost. Ends the wait for one.
    [[nodiscard]] bool has_failed() const noexcept {
        // acquire: partner is fail()
        return lost_.load(std::memory_order_acquire) != 0;
    }

    // The failure of all meetings; only if has_failed(). Errors: peer.
    [[nodiscard]] base::Status failure() const;

    // Whether all nodes have made the same call, after the barrier was released. Errors: state.
    [[nodiscard]] base::Status verdict() const;

    // The driver's half.

    // Returns this node's contribution to a requested meeting, once per meeting; all nodes are to
    // get the minimum of each word.
    [[nodiscard]] std::optional<Words> take() noexcept;

    // The meeting taken last is complete: releases the barrier.   least  minimum over all nodes
    void finish(std::span<const std::uint32_t> least) noexcept;

    // A node has been silent for long: asks the agent's gateway to watch it, which reports if its
    // machine is gone. False: a loss was reported already.
    [[nodiscard]] bool ask_to_watch(std::uint32_t node) noexcept;

    // From now on no meeting completes. Only the first call has an effect.
    void fail(std::uint32_t node, NodeLoss why) noexcept;

private:
    const Segment& segment_;
    NameOfCall name_of_call_;
    std::atomic<std::uint32_t> asked_{0};  // number of the barrier last requested
    Words brought_{};                      // the words for that barrier
    std::uint32_t taken_ = 0;
    Words least_{};                       // result of the meeting completed last
    std::atomic<std::uint64_t> lost_{0};  // node + 1, above the NodeLoss
};

}  // namespace acp::node
