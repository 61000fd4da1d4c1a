// SPDX-License-Identifier: BSD-3-Clause
// The service thread: runs what others ask of this process's memory, takes in the ends of its own commands, and
// runs commands that nobody waits for. After local activity it naps for a millisecond at a time, so that
// issuing a short command need not wake it; then it sleeps until somebody rings.
#include <utility>

#include "gma/gma.hpp"

namespace acp::gma {

base::Status Gma::ensure_service() {
    if (has_service_.load(std::memory_order_acquire)) {
        return {};
    }
    const std::scoped_lock lock(service_mutex_);
    if (has_service_.load(std::memory_order_relaxed)) {
        return {};
    }
    auto thread = os::Thread::start("acp-service", [this] { serve(); });
    if (!thread.is_ok()) {
        return std::move(thread).failure();
    }
    service_ = std::move(thread).value();
    has_service_.store(true, std::memory_order_release);
    return {};
}

void Gma::stop_service() {
    const std::scoped_lock lock(service_mutex_);
    if (!has_service_.load(std::memory_order_relaxed)) {
        return;
    }
    is_stopping_.store(
        true, std::memory_order_seq_cst);  // partner: is_idle() after the sleep was announced
    wake_service();
    service_.join();
    has_service_.store(false, std::memory_order_relaxed);
}

bool Gma::is_idle() {
    if (is_stopping_.load(std::memory_order_seq_cst)) {
        return false;
    }
    const std::uint32_t deaths = space_.segment().control().deaths.load(std::memory_order_seq_cst);
    if (deaths != deaths_seen_.load(std::memory_order_relaxed)) {
        return false;
    }
    const bool is_attended = may_waiter_forward_ && may_waiter_run_ && !is_gateway_here_ &&
                             member_.slot().door.is_attended.load(std::memory_order_seq_cst) != 0;
    return is_attended || (pending_.load(std::memory_order_seq_cst) == 0 && !port_->has_mail() &&
                           !has_link_task() && !can_forward());
}

// Whether what is queued in the forwarder has found room. Who holds the token looks itself before it sleeps.
bool Gma::can_forward() {
    if (!has_forward_work_.load(std::memory_order_relaxed)) {
        return false;
    }
    DriverRole<>::Hold hold(driver_);
    if (!hold) {
        return false;
    }
    const bool can = forwarder_->has_work();
    return hold.give() || can;
}

void Gma::serve() {
    (void)hazards_.own_line();  // claimed now: a turn takes no memory for it later
    std::uint64_t issued_before = 0;
    std::uint32_t naps = naps_before_deep_sleep;
    const auto ready = [&] {
        return is_stopping_.load(std::memory_order_relaxed) || drive(Driver::service);
    };
    const auto sleep = [&](std::int64_t timeout_ns) {
        const std::uint64_t issued = fast_.marks.inline_handle.load(std::memory_order_relaxed);
        naps = issued != issued_before ? 0 : naps + 1;
        issued_before = issued;
        const bool is_nap = naps < naps_before_deep_sleep && may_waiter_run_;
        is_napping_.store(is_nap, std::memory_order_seq_cst);
        const std::int64_t bound = is_nap ? std::min(nap_ns, timeout_ns) : timeout_ns;
        sleep_service(bound);
        is_napping_.store(false, std::memory_order_relaxed);
        return os::Wake::woken;
    };
    const node::Door& door = member_.slot().door;
    while (!is_stopping_.load(std::memory_order_relaxed)) {
        const bool is_attended =
            is_gateway_here_
                ? is_link_turned()
                : may_waiter_forward_ && door.is_attended.load(std::memory_order_relaxed) != 0;
        if (is_attended) {  // a waiting thread does the work: do not compete for the core
            sleep(node::liveness_check_ns);
        } else {
            service_waiter_.wait(ready, sleep, node::for_ever);
        }
    }
}

// A waiting thread leaves: mail that came meanwhile rang its bell, not the service thread's.
void Gma::hand_over() noexcept {
    // seq_cst: is_attended was lowered before; partner: notify()
    if (pending_.load(std::memory_order_seq_cst) == 0 &&
        !has_forward_work_.load(std::memory_order_seq_cst) && !port_->has_mail() &&
        !has_link_task()) {
        return;
    }
    if (ensure_service().is_ok()) {
        wake_service();
    }
}

void Gma::tell_waiters(Driver driver) {
    node::Door& door = member_.slot().door;
    // A waiter that worked need not tell itself. A read-modify-write that changes nothing: what was done comes before
    // the look; partner: the waiter that raises is_attended, then looks for what was done.
    const std::uint32_t itself = driver == Driver::waiter ? 1 : 0;
    if (driver == Driver::service ||
        door.is_attended.fetch_add(0, std::memory_order_seq_cst) > itself) {
        node::ring_bell(door.waiter_bell);
    }
}

}  // namespace acp::gma
