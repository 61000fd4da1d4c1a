// SPDX-License-Identifier: BSD-3-Clause
// The commands of one process that could not run at once: their numbers, the order of each, and which prefix of them is complete.
// A pure structure: no lock, no clock, no memory access, no thread; the caller locks, runs commands that become ready, and
// reports their result. All memory that a command needs is taken when it is admitted; nothing throws afterwards. Only the three
// words in Marks are read by others without the lock. Queued commands have even numbers 2, 4, 6, ...; one that ran at once takes
// no number and returns the odd handle after the newest number, which stands for all that was issued before it.
// Tests: tests/unit/gma/command_queue_test.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "gma/command_list.hpp"
#include "gma/failure_book.hpp"
#include "gma/layer_command.hpp"
#include "gma/loan_tally.hpp"
#include "gma/marks.hpp"
#include "gma/queued_command.hpp"
#include "gma/record_blocks.hpp"
#include "memory/command.hpp"

namespace acp::gma {

inline constexpr std::uint64_t commands_outstanding_max = 1ULL << 16;

class CommandQueue {
public:
    //   marks      must outlive this; opened here
    //   initiator  for messages: " by rank 2 on host"
    // Throws std::bad_alloc.
    explicit CommandQueue(Marks& marks, std::string initiator = {});

    struct Admission {
        std::uint64_t number = 0;  // 0: no memory; it was not admitted
        bool is_ready = false;     // the caller runs it now; else it becomes ready (or fails) later
    };

    // Whether there is room for another command, and memory. If not, there is when the oldest outstanding one has ended. Asked before each admit().
    [[nodiscard]] bool has_room() noexcept {
        return outstanding_ < commands_outstanding_max && records_.make_room();
    }

    // Whether there is room for two commands: before admit_pair(). keep: takes the memory, once, for whenever none is outstanding.
    [[nodiscard]] bool has_room_for_two() noexcept;
    [[nodiscard]] bool keep_room_for_two() noexcept;

    // Whether a command with this order may run at once.
    [[nodiscard]] bool is_satisfied(Handle order) const;

    // Whether a command with this order is never run.
    [[nodiscard]] bool is_failed(Handle order) const noexcept;

    // The order of all commands that one call is about to issue, which stays the same while it issues them. CONT becomes the handle of the previous command.
    [[nodiscard]] Handle fixed(Handle order) const;

    // Gives the command a number. If its order rests on a failed command it fails at once. If there is no memory to let it wait
    // nothing is done; then some command it waits for is outstanding.
    Admission admit(const memory::Command& command, Handle order) noexcept;

    // Gives two commands, which one call has issued, numbers in a row; the second runs after the first, and after nothing else.
    // The handle of the call is the second's: a failure of the first is noted there and nowhere else, and the second does not run
    // then. In the result `number` is the second's; is_ready is the first's, whose number is less by 2. If the order has failed
    // there is one failed number for both.
    Admission admit_pair(const memory::Command& first,
                         const memory::Command& second,
                         Handle order) noexcept;

    // admit() of a command that may run at once whatever is queued: its order is no newer than the order floor.
    std::uint64_t admit_ready(const memory::Command& command) noexcept {
        push(command, State::ready);
        marks_.inline_handle.store(issued_ | 1U, std::memory_order_relaxed);
        return issued_;
    }

    // The same of a copy, straight from registers: a command put together in memory would be read back before it is there.
    std::uint64_t admit_ready_copy(memory::GlobalAddress target,
                                   memory::GlobalAddress source,
                                   std::uint64_t bytes) noexcept {
        Record& record = records_.push_back();
        record.command.operation = memory::Operation::copy;
        record.command.width = 0;
        record.command.target = target;
        record.command.source = source;
        record.command.bytes = bytes;
        record.command.operand = 0;
        record.command.expected = 0;
        record.open(State::ready);
        issued_ += 2;
        ++outstanding_;
        marks_.inline_handle.store(issued_ | 1U, std::memory_order_relaxed);
        return issued_;
    }

    // finish() of a command that went well, the only outstanding one, if none failed lately. false: not so, and nothing was done.
    bool finish_last(std::uint64_t number) noexcept {
        if (outstanding_ != 1 || number != issued_ || loans_.lent() != 0 || !failures_.is_clean()) {
            return false;
        }
        records_.pop_front(1);
        outstanding_ = 0;
        done_ = number;
        publish_floors(number, number);
        return true;
    }

    // finish() of the `count` oldest outstanding commands, all ready, which went well, if nothing waits and nothing failed lately. false: as above.
    bool finish_oldest(std::uint64_t number, std::uint32_t count) noexcept {
        if (number != done_ + 2 || (waiting_count_ | loans_.lent()) != 0 || !failures_.is_clean() ||
            count > records_.size()) {
            return false;
        }
        records_.pop_front(count);
        outstanding_ -= count;
        done_ += 2 * std::uint64_t{count};
        skip_finished();
        publish_floors(done_, done_);
        return true;
    }

    // Gives a number to a command that is already known to fail.
    std::uint64_t admit_failed(base::Status failure) noexcept;

    // A ready command ended; it is in no list. Appends those that become ready by it to `ready`. Ignores unknown numbers (a process died).
    void finish(std::uint64_t number, base::Status status, CommandList& ready) noexcept;

    // The first `bytes` bytes of a ready copy were moved: from here on it is a copy of the rest.   bytes  fewer than all
    void advance(std::uint64_t number, std::uint64_t bytes) noexcept;

    // The commands that a command waits for that was just admitted with this order; some may have ended.
    [[nodiscard]] AwaitedRun awaited_by(std::uint64_t number, Handle order) const noexcept;

    // A carrier has taken a waiting command: when the commands that it waits for have ended, it is ready, and in no list.
    void note_ahead(std::uint64_t number) noexcept { record(number).is_ahead = true; }

    // Puts a ready command at the end of a list.   mark  the caller's, kept with it
    void append(CommandList& list, std::uint64_t number, std::uint8_t mark = 0) noexcept {
        Record& added = record(number);
        added.next = number + 2;  // until another command follows it in this list
        added.mark = mark;
        if (list.count++ == 0) {
            list.first = number;
            list.is_run = true;
        } else if (number != list.last + 2) {
            record(list.last).next = number;
            list.is_run = false;
        }
        list.last = number;
    }

    // Takes the first command of a list, which is not empty, out of it.
    std::uint64_t take_first(CommandList& list) noexcept;

    // The first commands of a list, as many as `run` has room for; returns how many there are. They stay in the list.
    std::size_t first_of(const CommandList& list,
                         std::span<memory::NumberedCommand> run) const noexcept {
        const std::size_t count = std::min<std::uint64_t>(run.size(), list.count);
        std::uint64_t number = list.first;
        for (std::size_t i = 0; i < count; ++i, number = after(list, number)) {
            run[i] = {number, &command(number)};
        }
        return count;
    }

    // Takes the first `count` commands of a list, of which `number` is the last, out of it.   count  > 0
    void take_through(CommandList& list, std::uint64_t number, std::uint64_t count) noexcept {
        list.first = after(list, number);
        list.count -= count;
    }

    [[nodiscard]] std::uint8_t mark(std::uint64_t number) const noexcept {
        return record(number).mark;
    }

    // Only for numbers admitted and not finished; stays where it is until then.
    [[nodiscard]] const memory::Command& command(std::uint64_t number) const noexcept {
        return record(number).command;
    }

    [[nodiscard]] bool is_outstanding(std::uint64_t number) const noexcept {
        return number % 2 == 0 && number > done_ && number <= issued_ &&
               record(number).state != State::finished;
    }

    // The newest number a handle stands for: its prefix is everything up to it. 0 = nothing to wait for.
    [[nodiscard]] std::uint64_t number_of(Handle handle) const noexcept;

    // Every number up to here has ended. Any thread.
    [[nodiscard]] std::uint64_t done() const noexcept {
        return done_published_.load(std::memory_order_acquire);
    }

    // Takes the first failure up to `number` that was not yet reported.   thread  as FailureBook::take
    std::optional<base::Status> take_failure(std::uint64_t number,
                                             std::uint64_t thread = sole_thread) noexcept;

    // take_failure() of exactly this number.
    std::optional<base::Status> take_failure_of(std::uint64_t number,
                                                std::uint64_t thread = sole_thread) noexcept;

    // The failures, for callers that do not take them.
    [[nodiscard]] FailureBook& failures() noexcept { return failures_; }

    // Whether a number was admitted, may run, and has not ended.
    [[nodiscard]] bool is_ready(std::uint64_t number) const noexcept {
        return is_outstanding(number) && record(number).state == State::ready;
    }

    [[nodiscard]] std::uint64_t outstanding() const noexcept { return outstanding_; }

    // How many of them wait for others to end.
    [[nodiscard]] std::uint64_t waiting() const noexcept { return waiting_count_; }

    [[nodiscard]] std::uint64_t issued() const noexcept { return issued_; }

    // Counts the commands with loans.
    [[nodiscard]] LoanTally& loans() noexcept { return loans_; }

    // The commands of layers that have failed with their order, for LayerCarrier.
    [[nodiscard]] LapsedCommands& lapsed() noexcept { return lapsed_; }

    // The oldest number that has not ended, 0 = none. For messages.
    [[nodiscard]] std::uint64_t oldest_outstanding() const noexcept;

private:
    using Record = QueuedCommand;
    using State = Record::State;

    [[nodiscard]] Record& record(std::uint64_t number) noexcept {
        return records_[(number - done_) / 2 - 1];
    }

    [[nodiscard]] const Record& record(std::uint64_t number) const noexcept {
        return records_[(number - done_) / 2 - 1];
    }

    // The command behind this one in its list; meaningless for the last one.
    [[nodiscard]] std::uint64_t after(const CommandList& list,
                                      std::uint64_t number) const noexcept {
        return list.is_run ? number + 2 : record(number).next;
    }

    // After has_room().
    void push(const memory::Command& command, State state) noexcept {
        Record& record = records_.push_back();
        record.command = command;
        record.open(state);
        issued_ += 2;
        ++outstanding_;
        loans_.note_admitted(command);
    }

    [[nodiscard]] bool rests_on_failure(Handle order, std::uint64_t prefix) const noexcept;
    [[nodiscard]] base::Status order_failure(const memory::Command& command,
                                             std::uint64_t failed) const noexcept;
    [[nodiscard]] bool wait_for(std::uint64_t prefix, std::uint64_t number) noexcept;
    void end(std::uint64_t number, base::Status status, CommandList& ready) noexcept;
    void end_failed(std::uint64_t number, base::Status failure) noexcept;
    void note_lapsed(const memory::Command& command) noexcept;

    void skip_finished() noexcept {
        while (!records_.is_empty() && records_[0].state == State::finished) {
            records_.pop_front(1);
            done_ += 2;
        }
    }

    void release(std::uint64_t number, CommandList& ready) noexcept;
    void release_waiting(CommandList& ready) noexcept;
    void publish() noexcept;

    void publish_floors(std::uint64_t complete, std::uint64_t order) noexcept {
        // release: a thread that loads a floor sees the writes of the commands below it
        done_published_.store(done_, std::memory_order_release);
        marks_.complete_below.store((complete | 1U) + 1, std::memory_order_release);
        marks_.order_floor.store(order | 1U, std::memory_order_release);
    }

    Marks& marks_;
    std::string initiator_;
    RecordBlocks<Record> records_;  // records of the numbers done_+2 .. issued_
    std::uint64_t done_ = 0;
    std::uint64_t issued_ = 0;
    std::uint64_t outstanding_ = 0;
    std::uint64_t waiting_count_ = 0;
    LoanTally loans_;
    LapsedCommands lapsed_;
    std::multimap<std::uint64_t, std::uint64_t> waiting_;  // by the prefix that must have ended
    FailureBook failures_;
    std::atomic<std::uint64_t> done_published_{0};
};

}  // namespace acp::gma
