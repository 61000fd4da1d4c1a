// SPDX-License-Identifier: BSD-3-Clause
// The jobs of this process: ready commands that its own threads run, those that wait for them first
// of all. Short copies between the same two granules share a system call, and a program that
// completes its copies one by one need not queue them. A long copy is run by pieces, between which
// its thread can look at its clock, at messages and at other jobs.
// Calls under the lock of Commands unless said otherwise; it is let go while a job runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>

#include "base/config.hpp"
#include "gma/inline_access.hpp"
#include "gma/invokes.hpp"
#include "gma/mover.hpp"
#include "node/segment.hpp"
#include "os/clock.hpp"

namespace acp::gma {

class JobRunner {
public:
    //   all  must outlive this
    //   slot  of this process: counts what went by attach
    JobRunner(Commands& commands,
              Mover& mover,
              const Invokes& invokes,
              local::Hazards& hazards,
              const Routes& routes,
              const memory::GaLayout& layout,
              node::Slot& slot,
              const base::Config& config) noexcept;

    // Puts a ready command at the end.   route  direct or attach
    void append(std::uint64_t number, Route route) noexcept {
        commands_.queue.append(jobs_, number, static_cast<std::uint8_t>(route));
        if (route == Route::attach) appended_at_ = os::ticks();
        // seq_cst; partner: Progress::may_service_sleep() after the service thread announced its
        // sleep
        count_.fetch_add(1, std::memory_order_seq_cst);
    }

    [[nodiscard]] bool is_empty() const noexcept { return jobs_.is_empty(); }

    // How many wait to be run. Any thread.
    [[nodiscard]] std::uint64_t count(std::memory_order order) const noexcept {
        return count_.load(order);
    }

    // Whether the oldest job, there is one, takes no longer than a look may: some microseconds.
    [[nodiscard]] bool is_next_short() const noexcept {
        return commands_.queue.command(jobs_.first).bytes <= look_bytes_max;
    }

    // Runs the oldest jobs that can share a call, or a piece of a long one; there is one. Commands
    // that become ready by that are in commands.ready.
    void run_some(std::unique_lock<std::mutex>& lock) {
        if (is_next_long()) [[unlikely]] {
            run_piece(lock);
        } else if (jobs_.count == 1) {
            run_alone(lock);
        } else {
            run_batch(lock);
        }
    }

    // Learns, by which thread is about to run jobs, whether the program returns soon to run them
    // itself. With the lock.
    void note_runner(bool is_service) noexcept {
        if (!is_service) {
            is_program_away_.store(false, std::memory_order_relaxed);
        } else if (os::ticks() - appended_at_ >
                   short_absence_ticks_) {  // else it was perhaps interrupted
            is_program_away_.store(true, std::memory_order_relaxed);
        }
    }

    // Whether the program leaves queued commands to the service thread, for example because it
    // polls its own memory: a guess. Any thread.
    [[nodiscard]] bool is_program_away() const noexcept {
        return is_program_away_.load(std::memory_order_relaxed);
    }

    // Copies that the kernel refused to make though it made others: their owners are to be asked.
    [[nodiscard]] CommandList& refused() noexcept { return refused_; }

    // Runs a copy at once by the calling thread, without the lock, where that pays and no order
    // forbids it. False: nothing was done.   The line names both ends.
    [[nodiscard, gnu::always_inline]] inline bool try_at_once(const Command& command,
                                                              const local::AttachCopy& copy,
                                                              const local::Attach& attach,
                                                              memory::HazardLine& line) {
        return pays_at_once(command, line) && attach.try_run(copy);
    }

    // one writer: the line's thread
    static void count_at_once(memory::HazardLine& line, std::uint64_t bytes) noexcept {
        line.attached_commands.store(line.attached_commands.load(std::memory_order_relaxed) + 1,
                                     std::memory_order_relaxed);
        line.attached_bytes.store(line.attached_bytes.load(std::memory_order_relaxed) + bytes,
                                  std::memory_order_relaxed);
    }

private:
    static constexpr std::uint64_t batched_bytes_max = 64ULL * 1024;   // longer ones: own call
    static constexpr std::uint64_t batched_bytes_all = 256ULL * 1024;  // about, of one call
    static constexpr std::uint64_t look_bytes_max = 64ULL * 1024;
    // Longer copies are cut. Pieces for the kernel: some 50 us each. Pieces for the processor: long
    // enough to be moved past the caches, which is up to twice as fast.
    static constexpr std::uint64_t attached_piece_bytes = 256ULL * 1024;
    static constexpr std::uint64_t direct_piece_bytes = 64ULL * 1024 * 1024;
    static constexpr std::uint32_t lone_jobs_to_trust = 2;
    // A program that has queued nothing for longer has left the library.
    static constexpr std::uint64_t short_absence_ns = 10'000;

    // Whether to make a copy in the call that issues it instead of queueing it. Yes, if the program
    // completed its last few copies one by one, because it will wait for this one too; and if the
    // program stays out of the library, because it will not return soon to run the copy. One such
    // copy in 16 is queued all the same (in 64, if the program stays away: the service thread must
    // wake up for it): the commands queued behind it, and the thread that runs it, show whether the
    // guess still holds.
    [[nodiscard]] inline bool pays_at_once(const Command& command,
                                           memory::HazardLine& line) const noexcept {
        // relaxed, all: guesses, of which any is right
        const std::uint64_t choice = line.attach_choices.load(std::memory_order_relaxed) + 1;
        line.attach_choices.store(choice, std::memory_order_relaxed);
        const bool is_away = is_program_away();
        return (is_away || lone_jobs_.load(std::memory_order_relaxed) >= lone_jobs_to_trust) &&
               count_.load(std::memory_order_relaxed) == 0 && may_run_at_once_ &&
               command.bytes <= at_once_bytes_max_ && choice % (is_away ? 64 : 16) != 0;
    }

    [[nodiscard]] static std::uint64_t piece_bytes(Route route) noexcept {
        return route == Route::attach ? attached_piece_bytes : direct_piece_bytes;
    }

    // A trace has a line for each command, so copies are not cut during a trace.
    [[nodiscard]] bool is_next_long() const noexcept {
        const auto route = static_cast<Route>(commands_.queue.mark(jobs_.first));
        return commands_.queue.command(jobs_.first).bytes > piece_bytes(route) &&
               !mover_.is_tracing();
    }

    void run_alone(std::unique_lock<std::mutex>& lock);
    void run_piece(std::unique_lock<std::mutex>& lock);
    void run_batch(std::unique_lock<std::mutex>& lock);
    Job take() noexcept;
    std::uint32_t take_alike(std::span<Job> batch);
    void note_taken(std::uint64_t jobs) noexcept;
    void end_attached(std::uint64_t number, base::Status outcome);
    void count_attached(std::span<const Job> batch, std::span<const base::Status> outcomes);
    void count_attached(std::uint64_t commands, std::uint64_t bytes) noexcept;

    Commands& commands_;
    Mover& mover_;
    const Invokes& invokes_;
    local::Hazards& hazards_;
    const memory::GaLayout& layout_;
    node::Slot& slot_;
    std::uint64_t at_once_bytes_max_;
    bool may_run_at_once_;
    bool must_attach_;
    CommandList jobs_;  // marked with their Route
    CommandList refused_;
    std::atomic<std::uint64_t> count_{0};      // length of jobs_; written with the lock
    std::atomic<std::uint32_t> lone_jobs_{0};  // run one by one since the last batch
    std::uint64_t short_absence_ticks_;
    std::uint64_t appended_at_ = 0;  // ticks; of the last attach job; with the lock
    std::atomic<bool> is_program_away_{true};
};

}  // namespace acp::gma
