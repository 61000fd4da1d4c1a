// SPDX-License-Identifier: BSD-3-Clause
// One job, or several in one call of the kernel. After a system call the processor's branch
// predictions are lost, so each step of a single copy costs several times more than elsewhere; the
// copy has as few steps as order and revocation allow.
#include "gma/job_runner.hpp"

#include <array>
#include <utility>

namespace acp::gma {

JobRunner::JobRunner(Commands& commands,
                     Mover& mover,
                     const Invokes& invokes,
                     local::Hazards& hazards,
                     const Routes& routes,
                     const memory::GaLayout& layout,
                     node::Slot& slot,
                     const base::Config& config) noexcept
    : commands_(commands),
      mover_(mover),
      invokes_(invokes),
      hazards_(hazards),
      layout_(layout),
      slot_(slot),
      at_once_bytes_max_(config.inline_bytes_max),
      may_run_at_once_(config.is_bypass_on && !mover.is_tracing()),
      must_attach_(routes.must_attach()),
      short_absence_ticks_(
          static_cast<std::uint64_t>(static_cast<double>(short_absence_ns) * os::ticks_per_ns())) {}

Job JobRunner::take() noexcept {
    const std::uint64_t number = commands_.queue.take_first(jobs_);
    return {number, &commands_.queue.command(number),
            static_cast<Route>(commands_.queue.mark(number))};
}

// Takes the oldest job, and with an attach job those that share its two segments.
std::uint32_t JobRunner::take_alike(std::span<Job> batch) {
    batch[0] = take();
    std::uint32_t count = 1;
    const Command& first = *batch[0].command;
    if (batch[0].route == Route::attach && first.is_copy() && first.bytes <= batched_bytes_max) {
        const auto is_alike = [&](std::uint64_t number) {
            const Command& command = commands_.queue.command(number);
            return static_cast<Route>(commands_.queue.mark(number)) == Route::attach &&
                   command.is_copy() && command.bytes <= batched_bytes_max &&
                   layout_.index(command.target) == layout_.index(first.target) &&
                   layout_.index(command.source) == layout_.index(first.source);
        };
        std::uint64_t bytes = first.bytes;
        while (count < batch.size() && !jobs_.is_empty() && bytes <= batched_bytes_all &&
               is_alike(jobs_.first)) {
            batch[count++] = take();
            bytes += batch[count - 1].command->bytes;
        }
    }
    note_taken(count);
    return count;
}

void JobRunner::note_taken(std::uint64_t jobs) noexcept {
    count_.store(count_.load(std::memory_order_relaxed) - jobs, std::memory_order_relaxed);
}

void JobRunner::run_alone(std::unique_lock<std::mutex>& lock) {
    memory::HazardLine* line = hazards_.free_line();
    if (static_cast<Route>(commands_.queue.mark(jobs_.first)) != Route::attach ||
        !commands_.queue.command(jobs_.first).is_copy() || line == nullptr || mover_.is_tracing())
        [[unlikely]] {
        return run_batch(lock);
    }
    const Job job = take();
    lone_jobs_.store(lone_jobs_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    note_taken(1);
    lock.unlock();
    base::Status outcome = mover_.move_attached_one(job, *line);
    lock.lock();
    count_attached({&job, 1}, {&outcome, 1});
    if (outcome.is_ok() && commands_.queue.finish_last(job.number)) [[likely]] {
        return;
    }
    end_attached(job.number, std::move(outcome));
}

// Runs the first bytes of a long copy; its rest is queued behind the other jobs. Only the last
// piece is counted as a command.
void JobRunner::run_piece(std::unique_lock<std::mutex>& lock) {
    const Job job = take();
    note_taken(1);
    Command piece = *job.command;
    piece.bytes = piece_bytes(job.route);
    lock.unlock();
    base::Status outcome;
    {
        const Job part{job.number, &piece, job.route};
        local::Hazards::Lease lease(hazards_);
        if (job.route == Route::attach) {
            mover_.move_attached({&part, 1}, {&outcome, 1}, lease.line());
        } else {
            outcome = mover_.move_part_direct(piece, lease.line());
        }
    }
    lock.lock();
    if (job.route == Route::attach && outcome.is_ok()) count_attached(0, piece.bytes);
    if (!outcome.is_ok()) {
        return end_attached(job.number, std::move(outcome));
    }
    commands_.queue.advance(job.number, piece.bytes);
    append(job.number, job.route);
}

void JobRunner::run_batch(std::unique_lock<std::mutex>& lock) {
    std::array<Job, Mover::batch_max> batch;
    std::array<base::Status, Mover::batch_max> outcomes;
    const std::uint32_t count = take_alike(batch);
    lock.unlock();
    const std::span<const Job> taken(batch.data(), count);
    const Job& first = batch[0];
    const bool is_attached = first.route == Route::attach && first.command->is_copy();
    {
        local::Hazards::Lease lease(hazards_);
        if (is_attached) {
            mover_.move_attached(taken, outcomes, lease.line());
        } else if (first.command->is_invoke()) {
            outcomes[0] = invokes_.run_kept(*first.command, lease.line());
        } else if (first.route == Route::direct) {
            outcomes[0] = mover_.move_direct(*first.command, lease.line());
        } else {
            outcomes[0] = mover_.apply_for_private_target(*first.command, lease.line());
        }
    }
    lock.lock();
    if (is_attached) {
        lone_jobs_.store(0, std::memory_order_relaxed);
        count_attached(taken, outcomes);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        if (is_attached) {
            end_attached(batch[i].number, std::move(outcomes[i]));
        } else {
            commands_.finish(batch[i].number, std::move(outcomes[i]));
        }
    }
}

// A copy that the kernel refused to make was not begun, or can be made again: the owner makes it,
// unless the user insists.
void JobRunner::end_attached(std::uint64_t number, base::Status outcome) {
    if (outcome.code() != base::Code::unsupported || must_attach_) [[likely]] {
        commands_.finish(number, std::move(outcome));
    } else {
        commands_.queue.append(refused_, number);
    }
}

// One writer at a time: the holder of the lock.
void JobRunner::count_attached(std::span<const Job> batch, std::span<const base::Status> outcomes) {
    std::uint64_t commands = 0;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        const base::Code code = outcomes[i].code();
        if (code != base::Code::address && code != base::Code::stale &&
            code != base::Code::unsupported) {
            ++commands;
            bytes += batch[i].command->bytes;
        }
    }
    count_attached(commands, bytes);
}

void JobRunner::count_attached(std::uint64_t commands, std::uint64_t bytes) noexcept {
    slot_.attach_commands.store(slot_.attach_commands.load(std::memory_order_relaxed) + commands,
                                std::memory_order_relaxed);
    slot_.attach_bytes.store(slot_.attach_bytes.load(std::memory_order_relaxed) + bytes,
                             std::memory_order_relaxed);
}

}  // namespace acp::gma
