// SPDX-License-Identifier: BSD-3-Clause
// How the service thread of a process sleeps, and how others wake it. Where the node's gateway is elsewhere, it sleeps in
// its port and hears of mail. Where the gateway is in this process, it sleeps on the gateway's descriptors; but as long
// as other threads turn the gateway, it naps without listening to them (deaf), for each datagram would wake it to find
// the work done. It listens again when nobody has turned the gateway for a nap, or who did goes to sleep.
// wake(), wake_unless_napping() and rest() by any thread, note_turn() by the holder of the driver's role, the others by the
// service thread. Nothing is lost: each side stores what it
// has to say, then looks at what the other said (seq_cst).
// Tests: tests/unit/gma/gma_test.cpp, gma_remote_test.cpp, progress tests.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/status.hpp"
#include "local/port.hpp"
#include "os/event.hpp"
#include "remote/link.hpp"

namespace acp::gma {

class ServiceSleep {
public:
    //   port   must outlive this
    //   event  where the gateway is in this process: what wakes the service thread; else nothing
    //   link   to that gateway, must outlive this; nullptr when it is elsewhere
    // Throws std::bad_alloc.
    ServiceSleep(local::Port& port, std::optional<os::Event> event, remote::Link* link);

    // Wakes the service thread if it sleeps.
    void wake();

    // wake(), but a nap goes on: it ends soon by itself.
    void wake_unless_napping() {
        if (!is_napping_.load(std::memory_order_seq_cst)) {
            wake();
        }
    }

    // Sleeps until woken, until mail or a datagram comes, or the timeout.
    //   is_idle         asked after the sleep was announced; false: there is no sleep
    //   is_nap          a short one: wake_unless_napping() does nothing
    //   is_turned_now   whether another thread is turning the gateway at this moment
    // True when the sleep listened to everything; false: it was deaf.
    bool wait(const std::function<bool()>& is_idle,
              std::int64_t timeout_ns,
              bool is_nap,
              bool is_turned_now);

    // Whether another thread has turned the gateway since the last sleep, or is at it: a turn that sends much is long,
    // and who slept on the sockets meanwhile would be woken by each datagram, again and again, and could do nothing.
    [[nodiscard]] bool is_turned(bool is_turned_now) const noexcept {
        return turns_seen_ != turns_.load(std::memory_order_relaxed) || is_turned_now;
    }

    // After a turn of the gateway by another thread, which holds the driver's role: wakes the service thread when the
    // gateway must be turned before that would do so.   has_moved  whether the turn moved
    // content: only then the next deadline is compared
    void note_turn(bool has_moved);

    // A thread that turned the gateway is about to sleep.
    void rest();

private:
    // While others turn the gateway: twice as long each time, for each nap costs them 10 us of their core.
    static constexpr std::int64_t deaf_nap_min_ns = 250'000;
    static constexpr std::int64_t deaf_nap_max_ns = 1'000'000;

    bool sleep_on_link(const std::function<bool()>& is_idle,
                       std::int64_t timeout_ns,
                       bool is_turned_now);
    [[nodiscard]] bool decide_to_be_deaf(bool is_turned_now);

    local::Port& port_;
    std::optional<os::Event> event_;
    remote::Link* link_;
    std::vector<int> fds_;  // the event's, then the link's
    std::atomic<bool> is_napping_{false};
    // Where the gateway is in this process:
    std::atomic<bool> is_asleep_{false};
    std::atomic<bool> is_deaf_{false};     // asleep, but not on the link
    std::atomic<bool> is_left_{false};     // who turned the gateway last has gone to sleep
    std::atomic<std::uint32_t> turns_{0};  // by other threads; one writer at a time
    std::uint32_t turns_seen_ = 0;
    std::int64_t deaf_nap_ns_ = deaf_nap_min_ns / 2;
    std::atomic<std::uint64_t> until_ns_{0};  // when it turns the gateway again at the latest
};

}  // namespace acp::gma
