// SPDX-License-Identifier: BSD-3-Clause
// The sleep of a process's service thread, its wake-ups by others, and how long threads of the
// program do its work ("stand in for it"). Gateway in another process: the service thread sleeps in
// its port, and mail wakes it.
// Gateway in this process: it sleeps on the gateway's sockets (os/armed_wait.hpp). They are armed,
// so that a datagram wakes it, only while no thread of the program polls the gateway: else each
// datagram would wake it to find the work done. The last such thread arms them when it leaves the
// library or goes to sleep. If the program is expected back at once (gma/presence.hpp) it does not;
// then the service thread naps, and sees after the nap whether the program came back. A thread in
// the library stands in for the service thread only as long as polls are counted from one nap to
// the next.
// Invariant: no wakeup is lost. Each side stores its own state, then loads the other's,
// both seq_cst; and a thread that changes a state calls settle(), which arms or disarms the sockets
// to match, one thread at a time (gma/driver_role.hpp).
// Threads: wait(), note_work() and
// is_stood_in_for() the service thread; note_poll() the holder of the driver's role; the others any
// thread.
// Tests: tests/unit/gma/service_sleep_test.cpp, gma_test.cpp, gma_remote_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/status.hpp"
#include "gma/driver_role.hpp"
#include "gma/presence.hpp"
#include "mailbox/port.hpp"
#include "os/armed_wait.hpp"
#include "remote/link.hpp"

namespace acp::gma {

class ServiceSleep {
public:
    //   port   must outlive this
    //   armed  where the gateway is in this process: on its descriptors; else nothing
    //   link   to that gateway, must outlive this; nullptr when it is elsewhere
    //   nap_max_ns  how long a nap lasts at most while others poll the gateway; at least nap_min_ns
    ServiceSleep(mailbox::Port& port,
                 std::optional<os::ArmedWait> armed,
                 remote::Link* link,
                 std::int64_t nap_max_ns) noexcept;

    // Wakes the service thread if it sleeps.
    void wake();

    // wake(), unless the service thread naps and the program will be back before the nap is over,
    // to do the work itself.
    void wake_unless_back_soon() {
        if (depth_.load(std::memory_order_seq_cst) != Depth::nap ||
            (link_ != nullptr && presence_.is_service_needed())) {
            wake();
        }
    }

    // How the service thread sleeps. nap: the program issues commands, and does the remaining work
    // when it returns; see wake_unless_back_soon(). watchful: in the time after the last nap, in
    // sleeps that still end by themselves. deep: until a thread wakes it.
    enum class Depth : std::uint8_t { awake, nap, watchful, deep };

    // Whether the service thread is in a sleep that soon ends by itself.
    [[nodiscard]] bool is_short() const noexcept {
        const Depth depth = depth_.load(std::memory_order_seq_cst);
        return depth == Depth::nap || depth == Depth::watchful;
    }

    // The first nap while other threads poll the gateway. Each further one is twice as long, up to
    // nap_max_ns, for the end of each takes 10 us of CPU from those threads.
    static constexpr std::int64_t nap_min_ns = 250'000;

    // Sleeps until woken, until mail or a datagram comes, or the timeout.
    //   is_idle  asked after the sleep was announced; false: there is no sleep
    //   depth    for which the caller has chosen timeout_ns
    //   is_polled_now  whether another thread is polling the gateway at this moment
    // True when the service thread must look at everything; false: other threads do.
    bool wait(const std::function<bool()>& is_idle,
              std::int64_t timeout_ns,
              Depth depth,
              bool is_polled_now);

    // Where the gateway is in this process: whether other threads have polled it since the last
    // sleep began, or one is inside a poll now, which takes long when it sends much; and one is
    // still in the library, or is expected back. (One that sleeps there is not woken for a part of
    // the work.)
    [[nodiscard]] bool is_stood_in_for(bool is_polled_now) const noexcept {
        return (is_polled_now || polls_seen_ != polls_.load(std::memory_order_relaxed)) &&
               presence_.is_anybody_there();
    }

    // After another thread, which holds the driver's role, has polled the gateway: ends the service
    // thread's sleep in time for the gateway's next deadline.
    //   has_moved  whether the poll did something: only then the deadline can be earlier than
    //              before, and is compared
    void note_poll(bool has_moved);

    // The service thread has done some work.
    void note_work();

    // Which threads of the program are in the library, where they can poll the gateway.
    [[nodiscard]] const Presence& presence() const noexcept { return presence_; }

    // Counts a thread of the program as being in the library, from the construction of this object
    // to its destruction or rest(). Without effect where the gateway is in another process.
    class Stay {
    public:
        // moment: it polls the gateway once. busy: the same, and it has been in the library many
        // times since the last Stay. wait: it polls the gateway again and again.
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
    // After this number of pieces of work without a sleep the service thread makes the kernel
    // forget the sockets: forgetting and arming them again costs as much as the kernel needs to
    // note the datagrams of as many pieces.
    static constexpr std::uint32_t works_to_forget = 32;

    void enter(Stay::Kind kind);
    void leave(bool is_for_long);
    bool sleep_on_link(const std::function<bool()>& is_idle,
                       std::int64_t timeout_ns,
                       bool is_polled_now);
    [[nodiscard]] bool is_trusted(bool is_polled_now) noexcept;
    void settle(bool may_forget = false);
    void forget();
    os::ArmedWait::End sleep_to_end() noexcept;
    [[nodiscard]] bool move_end(std::uint64_t at_ns) noexcept;
    void end_by(std::uint64_t at_ns) noexcept;
    void wake_in_time();

    mailbox::Port& port_;
    Presence presence_;
    std::optional<os::ArmedWait> armed_;
    remote::Link* link_;
    std::int64_t nap_max_ns_;
    std::atomic<Depth> depth_{Depth::awake};
    // Where the gateway is in this process:
    std::atomic<bool> is_asleep_{false};
    // True: threads in the library stand in for the service thread.
    std::atomic<bool> is_trusting_{false};
    DriverRole<> settling_;  // held by the thread that arms, disarms or forgets the sockets
    // Whether the sockets are armed; still true after they have fired, until the service thread has
    // woken.
    std::atomic<bool> is_armed_{false};
    std::atomic<std::uint32_t> polls_{0};  // polls by other threads; writer: the driver
    std::uint32_t polls_seen_ = 0;  // the service thread's own: polls_ when its last sleep began
    std::uint32_t works_ = 0;       // pieces of work of the service thread since its last sleep
    std::int64_t nap_ns_ = nap_min_ns / 2;
    // When the sleep of the service thread ends by itself, and the thread polls the gateway; ~0:
    // never, or it does not know yet. Other threads move it to an earlier time; the timer of armed_
    // fires then or earlier.
    std::atomic<std::uint64_t> until_ns_{0};
};

}  // namespace acp::gma
