// SPDX-License-Identifier: BSD-3-Clause
// The descriptor, and the thread that reads what it tells.
#include "os/unmap_watch.hpp"

#include <cerrno>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/cpu.hpp"
#include "os/poll_set.hpp"
#include "os/system_error.hpp"

namespace acp::os {

namespace {

using base::Code;
using base::Status;

// A thread that cannot be woken, since the program has closed all descriptors, sees by itself that it shall end.
constexpr std::int64_t look_ns = 2'000'000'000;

// Memory is registered for faults of write protection, of which there are none as no page is protected: so no fault waits for anybody.
constexpr std::uint64_t features =
    UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_PAGEFAULT_FLAG_WP;

FileDescriptor open_descriptor() noexcept {
    constexpr int flags = O_CLOEXEC | O_NONBLOCK;
    FileDescriptor opened(static_cast<int>(syscall(SYS_userfaultfd, flags | UFFD_USER_MODE_ONLY)));
    // A kernel before 5.11 does not know the flag.
    if (!opened.is_open() && errno == EINVAL)
        opened = FileDescriptor(static_cast<int>(syscall(SYS_userfaultfd, flags)));
    return opened;
}

}  // namespace

Result<std::unique_ptr<UnmapWatch>> UnmapWatch::create() {
    FileDescriptor descriptor = open_descriptor();
    if (!descriptor.is_open()) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            return system_failure("userfaultfd", errno, "");
        return Status(Code::unsupported, "the kernel does not tell of memory that is unmapped");
    }
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = features;
    if (ioctl(descriptor.get(), UFFDIO_API, &api) != 0)
        return Status(Code::unsupported, "the kernel does not tell of memory that is unmapped");
    auto end = Event::create();
    if (!end.is_ok()) return std::move(end).failure();
    std::unique_ptr<UnmapWatch> made(new UnmapWatch(std::move(descriptor), std::move(end).value()));
    auto thread = Thread::start("acp-unmap", [self = made.get()] { self->run(); });
    if (!thread.is_ok()) return std::move(thread).failure();
    made->thread_ = std::move(thread).value();
    return made;
}

UnmapWatch::~UnmapWatch() {
    if (!thread_.is_joinable()) return;
    // release: partner is run()
    is_ending_.store(true, std::memory_order_release);
    (void)end_.signal();
    thread_.join();
}

bool UnmapWatch::watch(MemoryRange pages) noexcept {
    uffdio_register wanted{};
    wanted.range.start = pages.start;
    wanted.range.len = pages.end - pages.start;
    wanted.mode = UFFDIO_REGISTER_MODE_WP;
    return ioctl(descriptor_.get(), UFFDIO_REGISTER, &wanted) == 0;
}

void UnmapWatch::unwatch(MemoryRange pages) noexcept {
    uffdio_range range{pages.start, pages.end - pages.start};
    (void)ioctl(descriptor_.get(), UFFDIO_UNREGISTER, &range);
}

void UnmapWatch::wait_for_reader() const noexcept {
    const std::uint32_t before = reads_.load(std::memory_order_acquire);
    if ((before & 1) == 0) return;
    // acquire: partner is read_events(); all that was unmapped is noted
    while (reads_.load(std::memory_order_acquire) == before) yield_cpu();
}

void UnmapWatch::run() noexcept {
    // acquire: partner is the destructor
    while (!is_ending_.load(std::memory_order_acquire) &&
           !is_lost_.load(std::memory_order_relaxed)) {
        if (wait_readable(descriptor_.get(), end_.fd(), look_ns)) read_events();
    }
}

void UnmapWatch::read_events() noexcept {
    // seq_cst: comes before the events are taken from the kernel; partner: is_reading()
    reads_.fetch_add(1, std::memory_order_seq_cst);
    uffd_msg event{};
    ssize_t got = 0;
    while ((got = read(descriptor_.get(), &event, sizeof event)) ==
           static_cast<ssize_t>(sizeof event)) {
        if (event.event == UFFD_EVENT_UNMAP) note({event.arg.remove.start, event.arg.remove.end});
        if (event.event == UFFD_EVENT_REMAP)
            note({event.arg.remap.from, event.arg.remap.from + event.arg.remap.len});
    }
    // The program has closed the descriptor, or what has its number now is another one.
    if (got >= 0 || (errno != EAGAIN && errno != EINTR))
        is_lost_.store(true, std::memory_order_release);
    // release: partner is wait_for_reader()
    reads_.fetch_add(1, std::memory_order_release);
}

void UnmapWatch::note(MemoryRange range) noexcept {
    const std::uint64_t noted = noted_.load(std::memory_order_relaxed);
    // acquire: partner is take(), which has read what is written over here
    if (noted - taken_.load(std::memory_order_acquire) == untold_max) {
        is_overrun_.store(true, std::memory_order_release);
        return;
    }
    ranges_[noted % untold_max] = range;
    // release: partner is take()
    noted_.store(noted + 1, std::memory_order_release);
}

}  // namespace acp::os
