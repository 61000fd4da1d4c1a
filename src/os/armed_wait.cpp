// SPDX-License-Identifier: BSD-3-Clause
// A set of descriptors inside another set, in which it is enabled for one event at a time.
#include "os/armed_wait.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "os/thread.hpp"

namespace acp::os {

namespace {

constexpr std::uint64_t of_event = 0;
constexpr std::uint64_t of_fds = 1;
constexpr std::uint64_t of_timer = 2;

// If the program closes the library's descriptors, no event wakes a sleeper. So no sleep is longer
// than this, which is long enough that the kernel does not set the processor's timer.
constexpr std::uint64_t longest_sleep_ns = 1'000'000'000;

}  // namespace

Result<ArmedWait> ArmedWait::create(std::span<const int> fds) {
    auto event = Event::create();
    if (!event.is_ok()) return std::move(event).failure();
    auto timer = LazyTimer::create();
    if (!timer.is_ok()) return std::move(timer).failure();
    auto inner = PollSet::create();
    if (!inner.is_ok()) return std::move(inner).failure();
    auto all = PollSet::create();
    if (!all.is_ok()) return std::move(all).failure();
    ArmedWait wait(fds, std::move(event).value(), std::move(timer).value(),
                   std::move(inner).value(), std::move(all).value());
    for (const int fd : fds) {
        if (auto status = wait.watched_.add(fd, 0); !status.is_ok()) return status;
    }
    if (auto status = wait.all_.add(wait.event_.fd(), of_event); !status.is_ok()) return status;
    if (auto status = wait.all_.add_edge_triggered(wait.timer_.fd(), of_timer); !status.is_ok())
        return status;
    if (auto status = wait.all_.add_disarmed(wait.watched_.fd(), of_fds); !status.is_ok())
        return status;
    return wait;
}

void ArmedWait::arm() noexcept {
    if (!is_watching_) watch();
    all_.arm(watched_.fd(), of_fds);
}

void ArmedWait::disarm() noexcept {
    all_.disarm(watched_.fd(), of_fds);
}

void ArmedWait::forget() noexcept {
    if (!is_watching_) return;
    is_watching_ = false;
    for (const int fd : fds_) watched_.remove(fd);
}

void ArmedWait::watch() noexcept {
    is_watching_ = true;
    for (const int fd : fds_) is_watching_ = watched_.try_add(fd, 0) && is_watching_;
    if (!is_watching_) event_.signal();
}

ArmedWait::End ArmedWait::wait() noexcept {
    std::array<PollEvent, 3> events{};
    const std::size_t count = all_.wait(events, longest_sleep_ns);
    bool has_fired = false;
    bool is_signalled = false;
    for (const PollEvent& event : std::span(events).first(count)) {
        if (event.token == of_fds) has_fired = true;
        if (event.token == of_event) is_signalled = event_.drain();
        if (event.token == of_timer) timer_.note_fired();
    }
    if (has_fired) return End::descriptor;
    return is_signalled || count == 0 ? End::signal : End::timer;
}

}  // namespace acp::os
