// SPDX-License-Identifier: BSD-3-Clause
// The service thread of a process: runs commands of other processes on this process's memory, takes
// in completions of its own commands, and runs commands for which no thread waits. It is made in
// acp_init where others may need this process from the start, else with the first command or
// registration that may need it. While other threads of the process wait and work, and while they
// are expected to be back at once, it leaves the work and the core to them and naps
// (gma/service_sleep.hpp, ADR 0004); then it sleeps until its bell rings. While it lives it holds
// the slot's service_hold, which proves to other processes that the memory they copied was this
// process's. It does not keep the process alive: when all threads of the program have ended it ends
// too, and the process with it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/status.hpp"
#include "gma/command_queue.hpp"
#include "gma/progress.hpp"
#include "local/hazards.hpp"
#include "os/thread.hpp"
#include "os/thread_exit.hpp"

namespace acp::gma {

class ServiceThread {
public:
    // By the thread that calls acp_init.
    //   all  must outlive this
    ServiceThread(Progress& progress,
                  ServiceSleep& sleep,
                  local::Hazards& hazards,
                  const Marks& marks,
                  node::Slot& slot) noexcept;
    // Ends the thread.
    ~ServiceThread();
    ServiceThread(const ServiceThread&) = delete;
    ServiceThread& operator=(const ServiceThread&) = delete;

    // Makes the thread, unless there is one. When it returns the thread holds service_hold. Any
    // thread. Errors: system, memory.
    base::Status ensure();

    // ensure(), but says a failure, once in the life of the process.   rank  for that sentence
    void ensure_or_say(std::uint32_t rank);

    // Any thread.
    [[nodiscard]] bool is_there() const noexcept { return exists_.load(std::memory_order_acquire); }

    void stop();

    // A thread that attends is about to sleep. The service thread then checks now and then whether
    // it wakes up when work comes. Soon after work it does so by itself: to wake it for each wait
    // would cost more than the wait. If the gateway is in this process, threads prove by their
    // polls that they make progress.
    void watch() noexcept {
        if (progress_.manner().is_link_polled_here || sleep_.is_short() || !is_there() ||
            is_watching_.load(std::memory_order_relaxed)) {
            return;
        }
        if (!is_watching_.exchange(true, std::memory_order_seq_cst)) sleep_.wake();
    }

    // A thread no longer waits: the service thread does the work that it would have done.
    void take_over() noexcept;

private:
    static constexpr std::int64_t nap_ns = 1'000'000;
    // How long threads that attend may leave work undone before they are doubted.
    static constexpr std::int64_t patience_ns = 100'000'000;
    static constexpr std::uint32_t naps_max = 16;
    // After them, for 2 s, it sleeps for as long as its patience lasts; then until it is woken.
    static constexpr std::uint32_t short_sleeps_max = naps_max + 20;
    static constexpr std::int64_t look_first_ns = 1'000'000;

    static void at_exit_of_opener(void* service) noexcept;
    void serve();
    [[nodiscard]] bool is_attended() const noexcept;
    bool work();
    void leave_work_to_others();
    bool pause(std::int64_t timeout_ns, bool is_watch = false);
    [[nodiscard]] static std::int64_t bounded(std::int64_t timeout_ns,
                                              ServiceSleep::Depth depth) noexcept;

    Progress& progress_;
    ServiceSleep& sleep_;
    local::Hazards& hazards_;
    const Marks& marks_;
    node::Slot& slot_;
    std::mutex mutex_;  // making and ending the thread
    os::Thread thread_;
    std::atomic<bool> exists_{false};
    std::atomic<std::uint32_t> is_holding_{
        0};  // 1: the thread holds service_hold, if the kernel can do that
    std::atomic<bool> is_stopping_{false};
    std::atomic<bool> is_watching_{false};  // it checks whether the threads that attend work
    // Stored by the thread that called acp_init, when it ends: from then on the program may have no
    // thread left.
    std::atomic<bool> has_opener_ended_{false};
    os::ThreadExit opener_exit_;
    // The service thread's own:
    bool is_alone_ = false;                 // the program has no thread left
    std::int64_t look_ns_ = look_first_ns;  // until it looks again whether it is alone
    std::uint64_t issued_before_ = 0;
    std::uint32_t short_sleeps_ = short_sleeps_max;  // since something was issued or done
};

}  // namespace acp::gma
