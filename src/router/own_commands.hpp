// SPDX-License-Identifier: BSD-3-Clause
// The outstanding commands of this node's processes, from their acceptance to their one completion.
// Only this class completes a command (ORD-20): on success, on an END of another node, with a
// result, or with an error. Knows the observer of completions, but not how a command is carried
// out. One thread.
// Tests: tests/unit/router/own_commands_test.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "router/activity.hpp"
#include "router/nodes.hpp"
#include "router/partial_copies.hpp"

namespace acp::router {

class OwnCommands {
public:
    //   completions  the observer; called from within each call that completes a command
    // All arguments must outlive this. Throws std::bad_alloc; later calls throw nothing: the index
    // grows only if there is memory.
    OwnCommands(Nodes& nodes,
                PartialCopies& partials,
                Completions& completions,
                Activity& activity,
                const RouterSettings& settings);

    // Takes a record for a command; no_index if there is none. The caller fills it in and calls
    // enter(), or give_back().
    [[nodiscard]] std::uint32_t take() noexcept { return commands_.take(); }

    void give_back(std::uint32_t index) noexcept { commands_.give(index); }

    // Makes the command outstanding. Its record is filled in.
    void enter(std::uint32_t index) {
        insert(index);
        count_entered(commands_[index].initiator, 1);
    }

    // The two steps of enter(), for several commands of one process: insert() for each, then
    // count_entered() once.
    void insert(std::uint32_t index) noexcept { book_.insert(index); }

    void count_entered(std::uint32_t initiator, std::uint32_t count) noexcept {
        outstanding_[nodes_.local_index(initiator)] += count;
        activity_.counters().commands += count;
        activity_.arm_scan();
    }

    // Undoes enter() for a command that could not be begun.
    void withdraw(std::uint32_t index) noexcept;

    // The record of a command; no_index if it has ended, or never was.
    [[nodiscard]] std::uint32_t find(std::uint32_t initiator, std::uint64_t token) const noexcept {
        return book_.find(initiator, token);
    }

    [[nodiscard]] bool has(std::uint32_t initiator, std::uint64_t token) const noexcept {
        return find(initiator, token) != no_index;
    }

    [[nodiscard]] Outstanding& operator[](std::uint32_t index) noexcept { return commands_[index]; }

    // The process whose memory a command writes, or where the operation runs.
    [[nodiscard]] std::uint64_t target_process(const Outstanding& command) const noexcept {
        return command.is_invoke() ? command.called().process : nodes_.where(command.target);
    }

    // The process whose memory a command reads, or where the operation runs.
    [[nodiscard]] std::uint64_t source_process(const Outstanding& command) const noexcept {
        return command.is_invoke() ? command.called().process : nodes_.where(command.source);
    }

    // The record of the command that a frame is about. If the command is not outstanding or does
    // not involve the sender, counts that and returns no_index.
    [[nodiscard]] std::uint32_t find_involved(const RouterPeer& from,
                                              std::uint32_t initiator,
                                              std::uint64_t token) noexcept;

    // Marks the outstanding ones of the copies that an ordered command is ordered after. False: none
    // is outstanding.
    [[nodiscard]] bool mark_followed(const Outstanding& ordered) noexcept;

    // ORD-66: the target's node has carried out a command, whatever came of it. Completes the copies
    // that it was ordered after.
    void end_before_answered(std::uint32_t index);

    // Completes a command, with Code::ok or an error. Drops the record of a failed copy that has
    // arrived in part.
    void complete(std::uint32_t index, const CommandFailure& failure);

    // Completes an invoke. On ok the result is delivered before the completion.
    void complete_invoke(std::uint32_t index, base::Code code, Bytes result);

    // WIRE-112: another node reports that commands are in place. ORD-23: tokens that are not
    // outstanding are ignored.
    [[nodiscard]] Fault on_end(const RouterPeer& from, const ShortFrame& frame);

    // Fails all commands that involve a severed node, or whose initiator has died (ORD-20 to
    // ORD-22).
    void end_all_of(const RouterPeer& gone);
    void end_all_of(std::uint32_t initiator);

    // Calls see(index, record) for each outstanding command. It may complete the command that it is
    // given, and no other.
    template <typename See>
    void for_each(See see) {
        for (std::uint32_t index = 0; index < commands_.touched(); ++index) {
            if (commands_[index].is_taken != 0) see(index, commands_[index]);
        }
    }

    [[nodiscard]] std::uint32_t used() const noexcept { return commands_.used(); }

    [[nodiscard]] std::uint32_t outstanding_of(std::uint32_t initiator) const noexcept {
        return nodes_.is_mine(initiator) ? outstanding_[nodes_.local_index(initiator)] : 0;
    }

private:
    void forget(std::uint32_t index) noexcept;
    void end_before(const Outstanding& ordered);
    void fail_ordered_after(std::uint32_t initiator, std::uint64_t token);
    void tell(const CommandEnd& completion);

    Nodes& nodes_;
    PartialCopies& partials_;
    Completions& completions_;
    Activity& activity_;
    Pool<Outstanding> commands_;
    Index<Outstanding> book_;  // finds commands by initiator and token
    // Outstanding commands, one count per process of this node.
    std::vector<std::uint32_t> outstanding_;
};

}  // namespace acp::router
