// SPDX-License-Identifier: BSD-3-Clause
// The short way of a copy that the kernel does alone: queued, run by who waits for it, ended, with as few steps as
// order, revocation and the service thread allow. After a system call the processor has forgotten the way back,
// so each step costs several times what it costs elsewhere. Whatever is unusual is left to the long way, which
// also words what went wrong. Any thread.
#include "gma/gma.hpp"

namespace acp::gma {

// Finds both ends of a copy between here and the private memory of one other process. The line names them.
inline bool Gma::find_attach(const Command& command, local::AttachCopy& copy) const noexcept {
    if (space_.find(command.target, command.bytes, copy.target) != base::Code::ok ||
        space_.find(command.source, command.bytes, copy.source) != base::Code::ok) [[unlikely]] {
        return false;
    }
    const bool is_get = is_here(copy.target);
    if (is_get == is_here(copy.source)) {
        return false;
    }
    local::Place& far = is_get ? copy.source : copy.target;
    far.direct = nullptr;
    copy.bytes = command.bytes;
    return !far.is_hidden && attach_->is_known_reachable(far.slot);
}

// Who completed the last few copies one by one will do so with this one: then it need not be queued at all. Of
// those, one in 16 is queued nevertheless, to see by what stands behind it whether it is still so.
inline bool Gma::is_to_run_at_once(const Command& command,
                                   memory::HazardLine& line) const noexcept {
    // relaxed, all: guesses, of which any is right
    const std::uint64_t choice = line.attach_choices.load(std::memory_order_relaxed) + 1;
    line.attach_choices.store(choice, std::memory_order_relaxed);
    return lone_attaches_.load(std::memory_order_relaxed) >= lone_attaches_to_trust &&
           pending_.load(std::memory_order_relaxed) == 0 && may_waiter_run_ && !trace_ &&
           command.bytes <= config_.inline_bytes_max && choice % 16 != 0;
}

// one writer: the line's thread
inline void Gma::count_at_once(memory::HazardLine& line, std::uint64_t bytes) noexcept {
    line.attached_commands.store(line.attached_commands.load(std::memory_order_relaxed) + 1,
                                 std::memory_order_relaxed);
    line.attached_bytes.store(line.attached_bytes.load(std::memory_order_relaxed) + bytes,
                              std::memory_order_relaxed);
}

// issue() for a copy that is sure to be run by attach and whose order is satisfied. handle_null: it is not one,
// and nothing was done.
Handle Gma::issue_attach(const Command& command, Handle order) {
    const base::IntraNode mode = config_.intranode;
    // acquire: a command ordered after another sees what that one wrote
    if (!command.is_copy() || order > fast_.marks.order_floor.load(std::memory_order_acquire) ||
        (mode != base::IntraNode::automatic && mode != base::IntraNode::attach) ||
        !has_service_.load(std::memory_order_acquire) ||
        has_forward_work_.load(std::memory_order_relaxed)) {
        return handle_null;
    }
    memory::HazardLine* line = hazards_.own_line();
    if (line == nullptr) [[unlikely]] {
        return handle_null;
    }
    local::AttachCopy copy;
    hazards_.enter(*line, command.target, command.source);
    const bool is_found = find_attach(command, copy);
    const bool is_run = is_found && is_to_run_at_once(command, *line) && attach_->try_run(copy);
    memory::leave(*line);
    if (is_run) [[likely]] {
        count_at_once(*line, command.bytes);
        return fast_.marks.inline_handle.load(std::memory_order_relaxed);
    }
    if (!is_found) {
        return handle_null;
    }
    std::unique_lock lock(mutex_);  // what failed just now fails again, and is explained
    if (queue_.outstanding() >= commands_outstanding_max) [[unlikely]] {
        return handle_null;
    }
    const std::uint64_t number = queue_.admit_ready(command);
    jobs_.push_back({number, &queue_.command(number), Route::attach});
    pending_.fetch_add(
        1, std::memory_order_seq_cst);  // partner: is_idle() after the sleep was announced
    lock.unlock();
    notify();
    return number;
}

// run_some() for a single job.
bool Gma::run_alone(std::unique_lock<std::mutex>& lock) {
    const Job job = jobs_.front();
    memory::HazardLine* line = hazards_.own_line();
    if (job.route != Route::attach || !job.command->is_copy() || line == nullptr || trace_)
        [[unlikely]] {
        return run_batch(lock);
    }
    lone_attaches_.store(lone_attaches_.load(std::memory_order_relaxed) + 1,
                         std::memory_order_relaxed);
    jobs_.pop_front();
    pending_.store(pending_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    lock.unlock();
    local::AttachCopy copy;
    base::Status outcome;
    hazards_.enter(*line, job.command->target, job.command->source);
    const bool is_found = find_attach(*job.command, copy);
    if (is_found) [[likely]] {
        attach_->run(copy);
    }
    memory::leave(*line);
    if (!is_found) [[unlikely]] {  // both ends private to others, or an address gone bad
        run_attach({&job, 1}, {&outcome, 1}, *line);
    } else if (copy.code != base::Code::ok) [[unlikely]] {
        outcome = outcome_of(*job.command, copy);
    }
    lock.lock();
    count_attached({&job, 1}, {&outcome, 1});
    if (outcome.is_ok() && queue_.finish_last(job.number)) [[likely]] {
        return false;
    }
    const bool is_handed_on = end_attached(job.number, std::move(outcome));
    return release() || is_handed_on;
}

}  // namespace acp::gma
