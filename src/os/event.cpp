// SPDX-License-Identifier: BSD-3-Clause
// eventfd.
#include "os/event.hpp"

#include <cerrno>
#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

#include "os/system_error.hpp"

namespace acp::os {

Result<Event> Event::create() {
    FileDescriptor descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!descriptor.is_open()) return system_failure("eventfd", errno, "");
    return Event(std::move(descriptor));
}

void Event::signal() noexcept {
    const std::uint64_t one = 1;
    // EAGAIN means 2^64 - 2 signals wait: readable already.
    while (write(descriptor_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
}

bool Event::drain() noexcept {
    std::uint64_t count = 0;
    ssize_t got = 0;
    do {
        got = read(descriptor_.get(), &count, sizeof count);
    } while (got < 0 && errno == EINTR);
    return got == static_cast<ssize_t>(sizeof count);
}

}  // namespace acp::os
