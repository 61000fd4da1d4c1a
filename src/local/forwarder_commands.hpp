// SPDX-License-Identifier: BSD-3-Clause
// The commands of this process that others have to run, from submit() to their one end: which wait to be started, which
// wait because their receiver has commands_in_flight_max of them, which run, and how they ended. A command takes all its
// memory, that of its end too, when it is added. Knows no message, no port and no death but those it is told of. The
// driver only.
// Tests: tests/unit/local/forwarder_commands_test.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "local/forwarder_types.hpp"
#include "local/linked_pool.hpp"
#include "local/space.hpp"
#include "memory/command.hpp"

namespace acp::local {

class ForwarderCommands {
public:
    static constexpr std::uint32_t nobody = Chain::nobody;  // no slot, and no record
    static constexpr std::uint32_t records_min = 64;        // to be had though no memory is left

    // How far a command is.
    enum class Stage : std::uint8_t {
        none,     // the record is free
        queued,   // not started, or waits until its receiver has fewer of our commands
        running,  // somebody runs it
        storing   // an atomic is done; its old value is under way to the target
    };

    // One command. Written by this class alone.
    struct Record {
        std::uint64_t user_token = 0;
        memory::Command command;
        std::uint32_t generation = 1;  // upper half of the token
        std::uint32_t next = nobody;
        Stage stage = Stage::none;
        bool is_value_wanted = false;      // an atomic's old value goes into its end
        std::uint32_t receiver = nobody;   // whose in_flight counts it
        std::uint32_t queued_at = nobody;  // in whose queue it waited
        std::uint32_t executor = nobody;   // the processes that must live until it ends
        std::uint32_t placer = nobody;
        char* into = nullptr;  // where a get without a target address puts its bytes
    };

    // A command whose turn it is to be started, and the receiver in whose queue it waited, or nobody.
    struct Ready {
        std::uint32_t index = nobody;
        std::uint32_t queued_at = nobody;
    };

    //   space  says what is wrong with an address, and who died; must outlive this
    //   slots  of the node
    // Throws std::bad_alloc; later calls but make_room() take no memory that they cannot do without.
    ForwarderCommands(const Space& space, std::uint32_t slots);

    // Whether there is memory for another command and its end.
    [[nodiscard]] bool make_room() noexcept;

    // A record for a command that is outstanding from now on. After make_room(). Returns its index.
    std::uint32_t add(std::uint64_t user_token, const memory::Command& command) noexcept;

    // One that was neither enqueued nor started: as if it had not been added.
    void withdraw(std::uint32_t index) noexcept;

    // The end tells an atomic's old value. Before enqueue(); the command's target is not looked at.
    void want_value(std::uint32_t index) noexcept;

    // The bytes of a get go there.
    void fetch_into(std::uint32_t index, char* into) noexcept { records_[index].into = into; }

    // Its turn to be started will come.
    void enqueue(std::uint32_t index) noexcept {
        records_[index].stage = Stage::queued;
        records_.push(ready_, index);
    }

    [[nodiscard]] const Record& operator[](std::uint32_t index) const noexcept {
        return records_[index];
    }

    // The name of a command in messages; never used again once it has ended.
    [[nodiscard]] std::uint64_t token_of(std::uint32_t index) const noexcept {
        return std::uint64_t{records_[index].generation} << 32 | index;
    }

    // The command of a token that runs or stores, or nobody: it has ended, or was never started.
    [[nodiscard]] std::uint32_t find(std::uint64_t token) const noexcept {
        const auto index = static_cast<std::uint32_t>(token);
        const bool is_live = index < records_.size() && token_of(index) == token &&
                             records_[index].stage >= Stage::running;
        return is_live ? index : nobody;
    }

    [[nodiscard]] bool is_any_ready() const noexcept { return !ready_.is_empty(); }

    // The command that has been ready for longest. is_any_ready() is true. Who starts it calls start_next() for its
    // queued_at afterwards, for it may have ended without taking its place.
    [[nodiscard]] Ready take_ready() noexcept;

    // Makes the next command that waits for a receiver ready, if there is one and the receiver may be sent more.
    void start_next(std::uint32_t receiver) noexcept {
        Lane& lane = lanes_[receiver];
        if (!lane.queued.is_empty() && lane.in_flight < commands_in_flight_max) {
            records_.push(ready_, records_.pop(lane.queued));
        }
    }

    // Whether a receiver has as many of our commands as it may have.
    [[nodiscard]] bool is_full(std::uint32_t receiver) const noexcept {
        return lanes_[receiver].in_flight >= commands_in_flight_max;
    }

    // Counts a command as sent to a receiver; it runs now. False when the receiver is full: it waits in its queue.
    //   placer  who must live as well until it ends, or nobody
    bool send_to(std::uint32_t index, std::uint32_t receiver, std::uint32_t placer) noexcept;

    // It runs in this process.
    void run_here(std::uint32_t index) noexcept { records_[index].stage = Stage::running; }

    // An atomic is done; the process of a slot stores its old value.
    void await_store(std::uint32_t index, std::uint32_t slot) noexcept {
        records_[index].stage = Stage::storing;
        records_[index].executor = slot;
    }

    // Ends a command: well, or with what is wrong in words. What waited for its place becomes ready.
    //   value  the old one, of want_value()
    void finish(std::uint32_t index, std::uint64_t value = 0) noexcept {
        end(index, {records_[index].user_token, base::Code::ok, {}, value});
    }

    void fail(std::uint32_t index, const AccessVerdict& verdict) noexcept;

    // Without words: the code says it all, or nobody is to blame.
    void fail(std::uint32_t index, base::Code code) noexcept {
        end(index, {records_[index].user_token, code, {}, 0});
    }

    // Ends the commands that a dead process should have run or placed. Those that waited for it become ready, and who
    // starts them finds it dead.
    void on_death(std::uint32_t dead_slot) noexcept;

    // The ends since the last forget_ended(). Valid until the next call of anything else.
    [[nodiscard]] std::span<ForwardedEnd> ended() noexcept { return ended_; }

    void forget_ended() noexcept { ended_.clear(); }

    [[nodiscard]] std::uint64_t outstanding() const noexcept { return outstanding_; }

private:
    // Of one receiver.
    struct Lane {
        std::uint32_t in_flight = 0;  // commands it was sent and that have not ended
        Chain queued;                 // commands that wait for in_flight to shrink
    };

    void end(std::uint32_t index, ForwardedEnd&& how) noexcept;
    [[nodiscard]] std::string explain(const memory::Command& command,
                                      const AccessVerdict& verdict) const;

    const Space& space_;
    LinkedPool<Record> records_{records_min};
    Chain ready_;                      // to be started in the next turn
    std::vector<Lane> lanes_;          // by slot
    std::vector<ForwardedEnd> ended_;  // room for all that are outstanding, besides
    std::uint64_t outstanding_ = 0;
};

}  // namespace acp::local
