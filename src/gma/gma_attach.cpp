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
    return attach_->is_known_reachable(far.slot);
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
    memory::leave(*line);
    if (!is_found) {
        return handle_null;
    }
    std::unique_lock lock(mutex_);
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
    queue_.finish(job.number, std::move(outcome), ready_);
    return release();
}

}  // namespace acp::gma
