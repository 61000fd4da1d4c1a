// SPDX-License-Identifier: BSD-3-Clause
// How the service thread of a process sleeps, how others wake it, and for how long they stand in for it. Where the node's
// gateway is elsewhere, it sleeps in its port and hears of mail. Where the gateway is in this process, it sleeps on the
// gateway's descriptors, which are armed unless other threads of the process turn the gateway: then each datagram would
// wake it to find the work done. The last of those threads arms them when it leaves the library or goes to sleep, unless
// it is expected back at once (gma/presence.hpp); then a nap shows whether it came. A thread that is in the library stands
// in for the service thread only as long as it turns the gateway from one nap to the next.
// Nothing is lost: each side stores what it has to say, then looks at what the other said (seq_cst), and whoever changes
// something settles the descriptors' state, one thread at a time (gma/driver_role.hpp).
// wait() by the service thread, note_turn() by the holder of the driver's role, the others by any thread.
// Tests: tests/unit/gma/service_sleep_test.cpp, gma_test.cpp, gma_remote_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/status.hpp"
#include "gma/driver_role.hpp"
#include "gma/presence.hpp"
#include "local/port.hpp"
#include "os/armed_wait.hpp"
#include "remote/link.hpp"

namespace acp::gma {

class ServiceSleep {
public:
    //   port   must outlive this
    //   armed  where the gateway is in this process: on its descriptors; else nothing
    //   link   to that gateway, must outlive this; nullptr when it is elsewhere
    ServiceSleep(local::Port& port,
                 std::optional<os::ArmedWait> armed,
                 remote::Link* link) noexcept;

    // Wakes the service thread if it sleeps.
    void wake();

    // wake(), unless the service thread naps and the program will be back before the nap is over, to do the work itself.
    void wake_unless_back_soon() {
        if (depth_.load(std::memory_order_seq_cst) != Depth::nap ||
            (link_ != nullptr && presence_.is_service_needed())) {
            wake();
        }
    }

    // nap: the program issues commands, and does what is left when it comes back; see wake_unless_back_soon(). watchful: soon
    // after that. Only a deep sleep lasts until somebody wakes the service thread.
    enum class Depth : std::uint8_t { awake, nap, watchful, deep };

    // Whether the service thread sleeps, and looks by itself soon.
    [[nodiscard]] bool is_short() const noexcept {
        const Depth depth = depth_.load(std::memory_order_seq_cst);
        return depth == Depth::nap || depth == Depth::watchful;
    }

    // Sleeps until woken, until mail or a datagram comes, or the timeout.
    //   is_idle  asked after the sleep was announced; false: there is no sleep
    //   depth    as the caller has chosen timeout_ns
    //   is_turned_now  whether another thread is turning the gateway at this moment
    // True when the service thread must look at everything; false: other threads do.
    bool wait(const std::function<bool()>& is_idle,
              std::int64_t timeout_ns,
              Depth depth,
              bool is_turned_now);

    // Where the gateway is in this process: whether other threads have turned it since the last sleep, or are at it: a turn
    // that sends much is long.
    [[nodiscard]] bool is_stood_in_for(bool is_turned_now) const noexcept {
        return is_turned_now || turns_seen_ != turns_.load(std::memory_order_relaxed);
    }

    // After a turn of the gateway by another thread, which holds the driver's role: wakes the service thread when the
    // gateway must be turned before that would do so.   has_moved  whether the turn moved
    // content: only then the next deadline is compared
    void note_turn(bool has_moved);

    // The service thread has done something, in a sleep that ended or since.
    void note_work();

    // Who is there to turn the gateway.
    [[nodiscard]] const Presence& presence() const noexcept { return presence_; }

    // A thread of the program that is in the library, from its construction to its end or until it goes to sleep. Where the
    // gateway is elsewhere nobody asks who is there.
    class Stay {
    public:
        // moment: it turns the gateway once. busy: the same, and it has been in the library many times since the last
        // Stay. wait: it turns the gateway again and again.
        enum class Kind { moment, busy, wait };

        Stay(ServiceSleep& sleep, Kind kind) : sleep_(&sleep) { sleep.enter(kind); }

        ~Stay() { end(false); }

        Stay(const Stay&) = delete;
        Stay& operator=(const Stay&) = delete;

        // The thread is about to sleep: the service thread listens from now on.
        void rest() { end(true); }

    private:
        void end(bool is_for_long) {
            if (sleep_ != nullptr) sleep_->leave(is_for_long);
            sleep_ = nullptr;
        }

        ServiceSleep* sleep_;
    };

private:
    // While others turn the gateway: twice as long each time, for each nap costs them 10 us of their core.
    static constexpr std::int64_t nap_min_ns = 250'000;
    static constexpr std::int64_t nap_max_ns = 1'000'000;
    static constexpr std::uint64_t near_ns =
        2'000'000;  // a sleep that ends so soon is as good as a nap

    void enter(Stay::Kind kind);
    void leave(bool is_for_long);
    bool sleep_on_link(const std::function<bool()>& is_idle,
                       std::int64_t timeout_ns,
                       bool is_turned_now);
    [[nodiscard]] bool is_trusted(bool is_turned_now) noexcept;
    void settle();
    void wake_in_time();

    local::Port& port_;
    Presence presence_;
    std::optional<os::ArmedWait> armed_;
    remote::Link* link_;
    std::atomic<Depth> depth_{Depth::awake};
    // Where the gateway is in this process:
    std::atomic<bool> is_asleep_{false};
    std::atomic<bool> is_trusting_{false};  // whoever is there stands in for the service thread
    DriverRole<> settling_;
    std::atomic<bool> is_armed_{false};    // true: it is, or it has fired and the sleeper wakes up
    std::atomic<std::uint32_t> turns_{0};  // by other threads; one writer at a time
    std::uint32_t turns_seen_ = 0;
    std::int64_t nap_ns_ = nap_min_ns / 2;
    std::atomic<std::uint64_t> until_ns_{0};  // when it turns the gateway again at the latest
};

}  // namespace acp::gma
