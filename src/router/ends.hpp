// SPDX-License-Identifier: BSD-3-Clause
// Reports to the initiators of commands: completion, failure, an old value, or that a part was
// refused. A command of this node's processes is completed at once; to another node a short frame
// goes, and ENDs of consecutive commands share one. Does not know how a command is carried out. One
// thread.
// Tests: tests/unit/router/outbox_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "router/activity.hpp"
#include "router/finished_book.hpp"
#include "router/nodes.hpp"
#include "router/outbox.hpp"
#include "router/own_commands.hpp"
#include "router/resends.hpp"

namespace acp::router {

inline constexpr std::uint32_t runs_open_max = 64;  // slots of the table below; a power of two

class Ends {
public:
    Ends(Nodes& nodes, OwnCommands& own, Resends& resends, Outbox& outbox, Activity& activity);

    // ORD-60: completes a command with success. Call when all bytes of a copy, or an atomic's old
    // value, are in place here.
    void finish(std::uint32_t initiator, std::uint64_t token);

    // ORD-21: completes a command with an error, on this node or by a FAILED frame.
    void fail(std::uint32_t initiator, std::uint64_t token, const CommandFailure& failure);

    // WIRE-114: sends the old value of an atomic to the initiator's node.
    //   to  that node, which is not this one
    void send_value(RouterPeer& to,
                    std::uint32_t initiator,
                    std::uint64_t token,
                    std::uint64_t value);

    // WIRE-116: there is no room here for a command; the initiator's node sends it again later.
    // Only the fields written here are used of `task`.
    //   to  the node of the initiator, which is not this one
    void refuse_command(RouterPeer& to, const Task& task);

    // WIRE-116: there is no room here for a piece; its sender sends it again later.
    void refuse_piece(const PutFrame& frame);

    // Whether the command is known to have completed. If its initiator is on another node, returns
    // false and sends that node an ASK (ORD-32), which it answers by OVER if the command is not
    // outstanding.
    [[nodiscard]] bool is_over_or_ask(std::uint32_t initiator, std::uint64_t token);

    // Whether the `count` consecutive commands of another node's process that an AFTER names are
    // known to be in place here: see FinishedBook.
    [[nodiscard]] bool has_finished(const ShortFrame& after) const noexcept {
        return finished_.has_all(after.initiator, after.token, after.count);
    }

    // Sends the ENDs that were collected.
    void flush() {
        if (runs_open_ != 0) flush_all();
    }

    [[nodiscard]] bool is_any_collected() const noexcept { return runs_open_ != 0; }

private:
    // Consecutive ENDs of one initiator, collected for one frame.
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
    std::array<Run, runs_open_max> runs_{};  // hashed by initiator; two may share a slot in turn
    std::uint32_t runs_open_ = 0;
    FinishedBook finished_;
};

}  // namespace acp::router
