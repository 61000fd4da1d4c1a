// SPDX-License-Identifier: BSD-3-Clause
// What the initiator of a command is told: that all is in place, that it failed, an old value, that something was refused.
// An initiator of this node is told at once; the node of another one by a short frame, and ends that follow each other by one
// frame for many. Knows neither how a command is carried out nor what the initiator does then. One thread.
// Tests: tests/unit/router/outbox_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "router/activity.hpp"
#include "router/nodes.hpp"
#include "router/outbox.hpp"
#include "router/own_commands.hpp"
#include "router/resends.hpp"

namespace acp::router {

inline constexpr std::uint32_t runs_open_max = 64;  // a power of two

class Ends {
public:
    Ends(Nodes& nodes, OwnCommands& own, Resends& resends, Outbox& outbox, Activity& activity);

    // All of a copy, or an atomic's old value, is in place here. ORD-60
    void finish(std::uint32_t initiator, std::uint64_t token);

    // A command cannot end well: tells its initiator, on whatever node that is. ORD-21
    void fail(std::uint32_t initiator, std::uint64_t token, const CommandFailure& failure);

    // WIRE-114: the old value of an atomic goes to the node of the initiator.   to  that node, another one
    void send_value(RouterPeer& to,
                    std::uint32_t initiator,
                    std::uint64_t token,
                    std::uint64_t value);

    // WIRE-116: a command, of which only these fields count, finds no room here and is to be sent again.
    //   to  the node of the initiator, another one
    void refuse_command(RouterPeer& to, const Task& task);

    // WIRE-116: a piece that came finds no room here and is to be sent again.
    void refuse_piece(const PutFrame& frame);

    // Whether the command has ended, as far as this node knows; where it does not know it asks the node of the initiator
    // (ORD-32), which answers with OVER.
    [[nodiscard]] bool is_over_or_ask(std::uint32_t initiator, std::uint64_t token);

    // Sends the ends that were collected.
    void flush() {
        if (runs_open_ != 0) flush_all();
    }

    [[nodiscard]] bool is_any_collected() const noexcept { return runs_open_ != 0; }

private:
    // Consecutive ends of one initiator, collected.
    struct Run {
        std::uint64_t token = 0;
        std::uint32_t initiator = 0;
        std::uint32_t count = 0;
    };

    void flush_all();
    void flush_run(Run& run);

    Nodes& nodes_;
    OwnCommands& own_;
    Resends& resends_;
    Outbox& outbox_;
    Activity& activity_;
    std::array<Run, runs_open_max> runs_{};  // by initiator, which may share one
    std::uint32_t runs_open_ = 0;
};

}  // namespace acp::router
