// SPDX-License-Identifier: BSD-3-Clause
// The commands of this process that other processes run, from submit() to their one completion:
// ready commands, commands that wait because their receiver has commands_in_flight_max of them,
// running commands, and completions. add() takes all memory that a command needs, that of its
// completion included. Knows no message and no port; the owner reports deaths by on_death(). The
// driver only.
// Tests: tests/unit/mailbox/forwarder_commands_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "local/space.hpp"
#include "mailbox/forwarder_types.hpp"
#include "mailbox/linked_pool.hpp"
#include "memory/command.hpp"

namespace acp::mailbox {

class ForwarderCommands {
public:
    static constexpr std::uint32_t nobody = Chain::nobody;  // no slot, and no record
    // records that exist even if memory allocation fails
    static constexpr std::uint32_t records_min = 64;

    // The state of a command.
    enum class Stage : std::uint8_t {
        none,     // the record is free
        queued,   // not started, or waiting until its receiver has fewer commands of this process
        running,  // a process runs it
        storing   // an atomic was applied, and its old value was sent to the target
    };

    // One command. Written by this class alone.
    struct Record {
        std::uint64_t user_token = 0;
        memory::Command command;
        std::uint32_t generation = 1;  // upper half of the token
        std::uint32_t next = nobody;
        Stage stage = Stage::none;
        bool is_value_wanted = false;      // the completion carries the atomic's old value
        std::uint32_t receiver = nobody;   // the process whose Lane::in_flight counts this command
        std::uint32_t queued_at = nobody;  // the process in whose Lane::queued it waited
        // executor, placer: the processes whose death fails the command
        std::uint32_t executor = nobody;
        std::uint32_t placer = nobody;
        char* into = nullptr;  // destination of a get without a target address
    };

    // A command to be started now and, if it waited, the receiver in whose queue it did.
    struct Ready {
        std::uint32_t index = nobody;
        std::uint32_t queued_at = nobody;
    };

    //   space  for messages about refused addresses and dead processes; must outlive this
    //   slots  number of slots of the node
    // Throws std::bad_alloc. Of the later calls only make_room() needs memory that it may not get.
    ForwarderCommands(const local::Space& space, std::uint32_t slots);

    // Whether there is memory for another command and its completion.
    [[nodiscard]] bool make_room() noexcept;

    // Makes a record for a command, which is outstanding from now on. Call make_room() before.
    // Returns the record's index.
    std::uint32_t add(std::uint64_t user_token, const memory::Command& command) noexcept;

    // Undoes add() for a command that was neither enqueued nor started.
    void withdraw(std::uint32_t index) noexcept;

    // Makes the completion of a command carry the atomic's old value. Call before enqueue(); the
    // command's target is ignored.
    void want_value(std::uint32_t index) noexcept;

    // The bytes of a get are written to `into`.
    void fetch_into(std::uint32_t index, char* into) noexcept { records_[index].into = into; }

    // Appends the command to the queue of ready commands.
    void enqueue(std::uint32_t index) noexcept {
        records_[index].stage = Stage::queued;
        records_.push(ready_, index);
    }

    [[nodiscard]] const Record& operator[](std::uint32_t index) const noexcept {
        return records_[index];
    }

    // The name of a command in messages; not used again after its completion.
    [[nodiscard]] std::uint64_t token_of(std::uint32_t index) const noexcept {
        return std::uint64_t{records_[index].generation} << 32 | index;
    }

    // The command with this token, if its stage is running or storing; else Chain's mark for no
    // record.
    [[nodiscard]] std::uint32_t find(std::uint64_t token) const noexcept {
        const auto index = static_cast<std::uint32_t>(token);
        const bool is_live = index < records_.size() && token_of(index) == token &&
                             records_[index].stage >= Stage::running;
        return is_live ? index : nobody;
    }

    [[nodiscard]] bool is_any_ready() const noexcept { return !ready_.is_empty(); }

    // Removes the command that has been ready for longest; is_any_ready() must be true. The caller,
    // after starting it, calls start_next() for its queued_at: the command may have completed
    // without using its receiver's place.
    [[nodiscard]] Ready take_ready() noexcept;

    // Makes the next command ready that waits for a receiver, if there is one and the receiver is
    // not full.
    void start_next(std::uint32_t receiver) noexcept {
        Lane& lane = lanes_[receiver];
        if (!lane.queued.is_empty() && lane.in_flight < commands_in_flight_max) {
            records_.push(ready_, records_.pop(lane.queued));
        }
    }

    // Whether commands_in_flight_max commands of this process are in flight to a receiver.
    [[nodiscard]] bool is_full(std::uint32_t receiver) const noexcept {
        return lanes_[receiver].in_flight >= commands_in_flight_max;
    }

    // Counts a command as sent to a receiver; its stage becomes running. False when the receiver is
    // full: the command waits in its queue.
    //   placer  another process whose death fails the command, or no slot
    bool send_to(std::uint32_t index, std::uint32_t receiver, std::uint32_t placer) noexcept;

    // Marks a command that runs in this process.
    void run_here(std::uint32_t index) noexcept { records_[index].stage = Stage::running; }

    // Call when the atomic was applied; the process of `slot` then stores its old value.
    void await_store(std::uint32_t index, std::uint32_t slot) noexcept {
        records_[index].stage = Stage::storing;
        records_[index].executor = slot;
    }

    // Completes a command with success, or with an error and its message. The next command that
    // waits for its receiver becomes ready.
    //   value  the atomic's old value, if want_value() was called
    void finish(std::uint32_t index, std::uint64_t value = 0) noexcept {
        end(index, {records_[index].user_token, base::Code::ok, {}, value});
    }

    void fail(std::uint32_t index, const AccessVerdict& verdict) noexcept;

    // Fails a command without a message: the code suffices, or no address caused the failure.
    void fail(std::uint32_t index, base::Code code) noexcept {
        end(index, {records_[index].user_token, code, {}, 0});
    }

    // Fails the commands that a dead process should have run or placed. Commands that wait for that
    // process become ready; their start then fails because the process is dead.
    void on_death(std::uint32_t dead_slot) noexcept;

    // The completions since the last forget_ended(). Valid until the next call of another function.
    [[nodiscard]] std::span<ForwardedEnd> ended() noexcept { return ended_; }

    void forget_ended() noexcept { ended_.clear(); }

    [[nodiscard]] std::uint64_t outstanding() const noexcept { return outstanding_; }

private:
    // The state of one receiver.
    struct Lane {
        std::uint32_t in_flight = 0;  // commands that were sent to it and have not completed
        Chain queued;                 // commands that wait for in_flight to shrink
    };

    void end(std::uint32_t index, ForwardedEnd&& how) noexcept;
    [[nodiscard]] std::string explain(const memory::Command& command,
                                      const AccessVerdict& verdict) const;

    const local::Space& space_;
    LinkedPool<Record> records_{records_min};
    Chain ready_;                      // commands that the next poll starts
    std::vector<Lane> lanes_;          // indexed by slot
    std::vector<ForwardedEnd> ended_;  // has room for all outstanding commands as well
    std::uint64_t outstanding_ = 0;
};

}  // namespace acp::mailbox
