// SPDX-License-Identifier: BSD-3-Clause
// The commands of this node's processes that are outstanding, from the moment they are taken to their one completion. Here,
// and nowhere else, a command ends (ORD-20): well, by the END of another node, with a result, or with a failure. Knows whom
// to tell and not how a command is carried out. One thread.
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
    //   completions  is told how commands end, from inside any call that ends one
    // All must outlive this. Throws std::bad_alloc; later calls take no memory but for the index to grow.
    OwnCommands(Nodes& nodes,
                PartialCopies& partials,
                Completions& completions,
                Activity& activity,
                const RouterSettings& settings);

    // A record for a command, for the caller to fill in and to enter(), or to give_back(). no_index: there is none.
    [[nodiscard]] std::uint32_t take() noexcept { return commands_.take(); }

    void give_back(std::uint32_t index) noexcept { commands_.give(index); }

    // A record for an invoke, with a copy of its arguments.
    [[nodiscard]] std::uint32_t take_invoke(Bytes arguments) noexcept;

    // The command whose record is filled in is outstanding from now on.
    void enter(std::uint32_t index) {
        insert(index);
        count_entered(commands_[index].initiator, 1);
    }

    // The same in two steps, for several commands of one process.
    void insert(std::uint32_t index) noexcept { book_.insert(index); }

    void count_entered(std::uint32_t initiator, std::uint32_t count) noexcept {
        outstanding_[nodes_.local_index(initiator)] += count;
        activity_.counters().commands += count;
        activity_.arm_scan();
    }

    // A command that could not begin is as if it had never been handed over.
    void withdraw(std::uint32_t index) noexcept;

    // The command of this name, or no_index: it has ended, or never was.
    [[nodiscard]] std::uint32_t find(std::uint32_t initiator, std::uint64_t token) const noexcept {
        return book_.find(initiator, token);
    }

    [[nodiscard]] bool has(std::uint32_t initiator, std::uint64_t token) const noexcept {
        return find(initiator, token) != no_index;
    }

    [[nodiscard]] Outstanding& operator[](std::uint32_t index) noexcept { return commands_[index]; }

    [[nodiscard]] Bytes arguments_of(const Outstanding& invoke) const noexcept {
        return {arguments_[static_cast<std::uint32_t>(invoke.operand)].bytes, invoke.bytes};
    }

    // The process whose memory it writes, or where the operation runs.
    [[nodiscard]] std::uint64_t target_process(const Outstanding& command) const noexcept {
        return command.operation == invoke_operation ? command.target
                                                     : nodes_.where(command.target);
    }

    // The process whose memory it reads, or where the operation runs.
    [[nodiscard]] std::uint64_t source_process(const Outstanding& command) const noexcept {
        return command.operation == invoke_operation ? command.target
                                                     : nodes_.where(command.source);
    }

    // The command that a frame is about, if it is outstanding and the sender is involved in it; else no_index, counted.
    [[nodiscard]] std::uint32_t find_involved(const RouterPeer& from,
                                              std::uint32_t initiator,
                                              std::uint64_t token) noexcept;

    // Ends a command, with Code::ok or a failure. Of a copy that failed, the part that has come is given up.
    void complete(std::uint32_t index, const CommandFailure& failure);

    // Ends an invoke. The result is told before the completion when it went well.
    void complete_invoke(std::uint32_t index, base::Code code, Bytes result);

    // WIRE-112: another node says that commands are in place. ORD-23: what is not outstanding has ended before.
    [[nodiscard]] Fault on_end(const RouterPeer& from, const ShortFrame& frame);

    // Ends what involves a severed node, or a dead process (ORD-20 to ORD-22).
    void end_all_of(const RouterPeer& gone);
    void end_all_of(std::uint32_t process);

    // Calls see(record) for each. It may end the command it is shown, and no other.
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
    void tell(const CommandEnd& completion);

    Nodes& nodes_;
    PartialCopies& partials_;
    Completions& completions_;
    Activity& activity_;
    Pool<Outstanding> commands_;
    Index<Outstanding> book_;
    Pool<Arguments> arguments_;
    std::vector<std::uint32_t> outstanding_;  // by process of this node
};

}  // namespace acp::router
