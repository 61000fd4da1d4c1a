// SPDX-License-Identifier: BSD-3-Clause
// Uses pthread_sigmask and sigtimedwait.
#include "os/file_size_signal.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>

namespace acp::os {

namespace {

sigset_t only_file_size() noexcept {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGXFSZ);
    return one;
}

}  // namespace

FileSizeSignalBlock::FileSizeSignalBlock() noexcept {
    const sigset_t one = only_file_size();
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &one, &before);
    was_blocked_ = sigismember(&before, SIGXFSZ) == 1;
    sigset_t pending;
    was_pending_ = was_blocked_ && sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
}

FileSizeSignalBlock::~FileSizeSignalBlock() {
    const int error = errno;
    const sigset_t one = only_file_size();
    if (!was_pending_) {
        const timespec no_time{};
        sigtimedwait(&one, nullptr, &no_time);
    }
    if (!was_blocked_) pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    errno = error;
}

}  // namespace acp::os
