// SPDX-License-Identifier: BSD-3-Clause
// Implements PollSet by epoll.
#include "os/poll_set.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>
#include <limits>
#include <poll.h>
#include <string>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/parse.hpp"
#include "os/system_error.hpp"

namespace acp::os {

namespace {

constexpr std::size_t batch_max = 64;
constexpr std::uint64_t nap_without_set_ns = 1'000'000;

int milliseconds(std::uint64_t timeout_ns) noexcept {
    if (timeout_ns == poll_forever) return -1;
    constexpr std::uint64_t ns_per_ms = 1'000'000;
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
    return static_cast<int>(
        std::min(timeout_ns / ns_per_ms + (timeout_ns % ns_per_ms != 0 ? 1 : 0), most));
}

// The kernel has nanosecond timeouts since 5.11; the C library may be older than the kernel, so the
// call is made directly.
int wait_exactly(int set, epoll_event* ready, int room, std::uint64_t timeout_ns) noexcept {
#if defined(SYS_epoll_pwait2)
    static std::atomic<bool> is_missing{false};  // relaxed: a hint
    const bool is_short = timeout_ns != 0 && timeout_ns != poll_forever;
    if (is_short && !is_missing.load(std::memory_order_relaxed)) {
        const timespec timeout{static_cast<time_t>(timeout_ns / base::nanoseconds_per_second),
                               static_cast<long>(timeout_ns % base::nanoseconds_per_second)};
        const long count = syscall(SYS_epoll_pwait2, set, ready, room, &timeout, nullptr, 0);
        if (count >= 0 || errno != ENOSYS) return static_cast<int>(count);
        is_missing.store(true, std::memory_order_relaxed);
    }
#endif
    return epoll_wait(set, ready, room, milliseconds(timeout_ns));
}

}  // namespace

bool wait_readable(int fd, int other_fd, std::int64_t timeout_ns) noexcept {
    const std::array<int, 2> both{fd, other_fd};
    return wait_readable(both, timeout_ns);
}

bool wait_readable(std::span<const int> fds, std::int64_t timeout_ns) noexcept {
    std::array<pollfd, 16> looks{};
    const std::size_t count = std::min(fds.size(), looks.size());
    // The kernel ignores a negative descriptor.
    for (std::size_t i = 0; i < count; ++i) looks[i] = {fds[i], POLLIN, 0};
    timespec timeout{};
    if (timeout_ns >= 0) {
        timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000);
        timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000);
    }
    return ppoll(looks.data(), count, timeout_ns >= 0 ? &timeout : nullptr, nullptr) > 0;
}

Result<PollSet> PollSet::create() {
    FileDescriptor descriptor(epoll_create1(EPOLL_CLOEXEC));
    if (!descriptor.is_open()) return system_failure("epoll_create1", errno, "");
    return PollSet(std::move(descriptor));
}

namespace {

int change(int set, int how, int fd, std::uint32_t events, std::uint64_t token) noexcept {
    epoll_event wanted{};
    wanted.events = events;
    wanted.data.u64 = token;
    return epoll_ctl(set, how, fd, &wanted);
}

Status add_for(int set, int fd, std::uint32_t events, std::uint64_t token) {
    if (change(set, EPOLL_CTL_ADD, fd, events, token) == 0) return {};
    if (errno == EPERM) {
        return Status(base::Code::unsupported,
                      "descriptor " + std::to_string(fd) + " cannot be polled: it is always ready");
    }
    return system_failure("epoll_ctl", errno, "descriptor " + std::to_string(fd));
}

}  // namespace

Status PollSet::add(int fd, std::uint64_t token, PollFor what) {
    return add_for(descriptor_.get(), fd, what == PollFor::reading ? EPOLLIN : EPOLLOUT, token);
}

Status PollSet::add_edge_triggered(int fd, std::uint64_t token) {
    return add_for(descriptor_.get(), fd, EPOLLIN | EPOLLET, token);
}

bool PollSet::try_add(int fd, std::uint64_t token) noexcept {
    return change(descriptor_.get(), EPOLL_CTL_ADD, fd, EPOLLIN, token) == 0 ||
           (errno != ENOMEM && errno != ENOSPC);
}

// Without events the kernel reports only a hang-up, which a set of descriptors never has.
Status PollSet::add_disarmed(int fd, std::uint64_t token) {
    return add_for(descriptor_.get(), fd, EPOLLONESHOT, token);
}

void PollSet::arm(int fd, std::uint64_t token) noexcept {
    (void)change(descriptor_.get(), EPOLL_CTL_MOD, fd, EPOLLIN | EPOLLONESHOT, token);
}

void PollSet::disarm(int fd, std::uint64_t token) noexcept {
    (void)change(descriptor_.get(), EPOLL_CTL_MOD, fd, EPOLLONESHOT, token);
}

void PollSet::remove(int fd) noexcept {
    epoll_event unused{};
    epoll_ctl(descriptor_.get(), EPOLL_CTL_DEL, fd, &unused);
}

std::size_t PollSet::wait(std::span<PollEvent> events, std::uint64_t timeout_ns) noexcept {
    std::array<epoll_event, batch_max> ready{};
    const auto room = static_cast<int>(std::min(events.size(), ready.size()));
    const int count = wait_exactly(descriptor_.get(), ready.data(), room, timeout_ns);
    if (count < 0 && errno != EINTR) {
        const std::uint64_t nap_ns = std::min(timeout_ns, nap_without_set_ns);
        // the set's descriptor is closed
        (void)wait_readable({}, static_cast<std::int64_t>(nap_ns));
    }
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = ready[static_cast<std::size_t>(i)];
        events[static_cast<std::size_t>(i)] = {event.data.u64,
                                               (event.events & (EPOLLHUP | EPOLLERR)) != 0};
    }
    return count > 0 ? static_cast<std::size_t>(count) : 0;
}

}  // namespace acp::os
