// SPDX-License-Identifier: BSD-3-Clause
// syscall(2) without its errno.
#include "os/system_call.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <pthread.h>
#include <unistd.h>

namespace acp::os {

std::int64_t system_call(std::int64_t number, const std::array<std::uint64_t, 6>& words) noexcept {
    const int before = errno;
    const long result = syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    const std::int64_t answer = result == -1 ? -errno : result;
    errno = before;
    return answer;
}

int take_write_signal() noexcept {
    const int before = errno;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    sigaddset(&signals, SIGXFSZ);
    const timespec at_once{};
    const int signal = sigtimedwait(&signals, nullptr, &at_once);
    errno = before;
    return signal > 0 ? signal : 0;
}

void send_signal_to_this_thread(int signal) noexcept {
    pthread_kill(pthread_self(), signal);  // returns its error
}

}  // namespace acp::os
