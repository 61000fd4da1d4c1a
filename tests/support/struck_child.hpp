// SPDX-License-Identifier: BSD-3-Clause
// Children that are killed or stopped before any of their accesses to SteppedAtomics, each in a
// scene of its own: memory that the test and its children share. For tests that fork before they
// start threads. Main thread only.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "support/stepped_atomic.hpp"

namespace acp::test {

// A child that runs a function and sends itself a signal before one of its accesses. It is gone
// when this object is.
class StruckChild {
public:
    // Returns when the child is dead, stopped, or has returned from the function. A child that ends
    // in another way than by the signal must exit with 0.
    //   at      the number of the access, from 1
    //   signal  SIGKILL or SIGSTOP
    template <typename What>
    StruckChild(std::uint64_t at, int signal, const What& what)
        : at_(at), signal_(signal), process_(fork()) {
        if (process_ == 0) {
            signal_at_step = signal;
            steps_left = at;
            what();
            _exit(testing::Test::HasFailure() ? 3 : 0);
        }
        await(WUNTRACED);
    }

    StruckChild(const StruckChild&) = delete;
    StruckChild& operator=(const StruckChild&) = delete;

    ~StruckChild() { kill_stopped(); }

    // false: it ended before that access.
    [[nodiscard]] bool is_hit() const { return is_hit_; }

    [[nodiscard]] std::uint64_t at() const { return at_; }

    // "killed before access 12"
    [[nodiscard]] std::string when() const {
        return (signal_ == SIGKILL ? "killed before access " : "stopped before access ") +
               std::to_string(at_);
    }

    // Continues a stopped child and waits for its exit, which must be with 0. No effect after its
    // end.
    void go_on() {
        if (!is_stopped_) return;
        signal_ = 0;
        kill(process_, SIGCONT);
        await(0);
        signal_ = SIGSTOP;
    }

    void kill_stopped() {
        if (!is_stopped_) return;
        kill(process_, SIGKILL);
        while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
        }
        is_stopped_ = false;
    }

private:
    void await(int options) {
        int status = 0;
        pid_t found = -1;
        do {
            found = waitpid(process_, &status, options);
        } while (found < 0 && errno == EINTR);
        ASSERT_EQ(found, process_) << "no child";
        is_stopped_ = WIFSTOPPED(status);
        const int ended_by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        const bool is_struck = is_stopped_ || (signal_ == SIGKILL && ended_by == SIGKILL);
        is_hit_ = is_hit_ || is_struck;
        // A child that ended by another signal has crashed.
        if (!is_struck) {
            EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
                << when() << ": ended by signal " << ended_by << " or exit code "
                << WEXITSTATUS(status);
        }
    }

    std::uint64_t at_;
    int signal_;  // 0: the child was continued after a stop
    pid_t process_;
    bool is_hit_ = false;
    bool is_stopped_ = false;
};

// The accesses before which a child is struck: number `first`, then each stride-th one.
struct Strikes {
    int signal = SIGKILL;
    std::uint64_t first = 1;
    std::uint64_t stride = 1;
};

// For each access: makes a scene, runs its act() in a child that is struck before it, and calls
// check(scene, child). Ends with the first child that is not hit, or with a failure. Returns the
// access of the last one.
template <typename Scene, typename Check, typename... Arguments>
std::uint64_t strike_everywhere(const Strikes& strikes,
                                const Check& check,
                                const Arguments&... of_scene) {
    std::uint64_t at = strikes.first;
    for (;; at += strikes.stride) {
        Scene scene(of_scene...);
        StruckChild child(at, strikes.signal, [&] { scene.act(); });
        check(scene, child);
        if (!child.is_hit() || testing::Test::HasFailure()) break;
    }
    EXPECT_NE(at, strikes.first) << "nothing was struck: act() has no such access";
    return at;
}

// strike_everywhere() with a second child, which runs second(scene) after the first one was struck:
// for each access of the first child, strikes the second one before each of its accesses. Calls
// check(scene, first child, second child). scene.look_at_victim() comes between the two.
template <typename Scene, typename Second, typename Check, typename... Arguments>
void strike_twice(const Strikes& firsts,
                  const Strikes& seconds,
                  const Second& second,
                  const Check& check,
                  const Arguments&... of_scene) {
    bool is_first_hit = true;
    for (std::uint64_t at = firsts.first; is_first_hit && !testing::Test::HasFailure();
         at += firsts.stride) {
        bool is_second_hit = true;
        for (std::uint64_t second_at = seconds.first; is_second_hit && !testing::Test::HasFailure();
             second_at += seconds.stride) {
            Scene scene(of_scene...);
            StruckChild child(at, firsts.signal, [&] { scene.act(); });
            scene.look_at_victim();
            StruckChild second_child(second_at, seconds.signal, [&] { second(scene); });
            check(scene, child, second_child);
            is_first_hit = child.is_hit();
            is_second_hit = second_child.is_hit();
        }
    }
}

}  // namespace acp::test
