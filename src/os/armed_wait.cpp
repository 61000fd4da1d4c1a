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

}  // namespace

Result<ArmedWait> ArmedWait::create(std::span<const int> fds) {
    auto event = Event::create();
    if (!event.is_ok()) return std::move(event).failure();
    auto inner = PollSet::create();
    if (!inner.is_ok()) return std::move(inner).failure();
    auto both = PollSet::create();
    if (!both.is_ok()) return std::move(both).failure();
    ArmedWait wait(fds, std::move(event).value(), std::move(inner).value(),
                   std::move(both).value());
    for (const int fd : fds) {
        if (auto status = wait.watched_.add(fd, 0); !status.is_ok()) return status;
    }
    if (auto status = wait.both_.add(wait.event_.fd(), of_event); !status.is_ok()) return status;
    if (auto status = wait.both_.add_disarmed(wait.watched_.fd(), of_fds); !status.is_ok())
        return status;
    return wait;
}

void ArmedWait::arm() noexcept {
    if (!is_watching_) watch();
    both_.arm(watched_.fd(), of_fds);
}

void ArmedWait::disarm() noexcept {
    both_.disarm(watched_.fd(), of_fds);
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

bool ArmedWait::wait(std::int64_t timeout_ns) noexcept {
    std::array<PollEvent, 2> events{};
    const std::size_t count =
        both_.wait(events, timeout_ns < 0 ? poll_forever : static_cast<std::uint64_t>(timeout_ns));
    bool has_fired = false;
    for (const PollEvent& event : std::span(events).first(count)) {
        if (event.token == of_fds) has_fired = true;
        if (event.token == of_event) (void)event_.drain();
    }
    return has_fired;
}

}  // namespace acp::os
