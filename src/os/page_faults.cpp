// SPDX-License-Identifier: BSD-3-Clause
// Makes the ioctls of userfaultfd; defines what older headers lack.
#include "os/page_faults.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <span>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/mapping.hpp"
#include "os/memory_file.hpp"
#include "os/page_scan.hpp"
#include "os/system_error.hpp"

namespace acp::os {

namespace {

using base::Code;

// With UFFD_FEATURE_SIGBUS the kernel treats its own accesses alike for all users, so that nothing
// is lost by leaving them out, which needs no privilege.
constexpr int user_mode_only = 1;  // UFFD_USER_MODE_ONLY

constexpr std::uint64_t continue_protected = 2;                   // UFFDIO_CONTINUE_MODE_WP
constexpr std::uint64_t protect_absent = std::uint64_t{1} << 13;  // UFFD_FEATURE_WP_UNPOPULATED

struct NamedFeature {
    std::uint64_t bit;
    const char* name;
    bool is_for_sync;
};

constexpr std::array<NamedFeature, 6> needed_features{{
    {UFFD_FEATURE_SIGBUS, "SIGBUS (Linux 4.14)", true},
    {UFFD_FEATURE_MISSING_SHMEM, "MISSING_SHMEM (Linux 4.11)", true},
    {std::uint64_t{1} << 10, "MINOR_SHMEM (Linux 5.14)", true},
    {std::uint64_t{1} << 12, "WP_HUGETLBFS_SHMEM (Linux 5.19)", true},
    {protect_absent, "WP_UNPOPULATED (Linux 6.4)", false},
    {std::uint64_t{1} << 15, "WP_ASYNC (Linux 6.7)", false},
}};

// Calls that stop without progress, as they do while the kernel replaces a page table.
constexpr int idle_calls_max = 1000;

Result<FileDescriptor> open_with(std::uint64_t wished, std::uint64_t& offered) {
    FileDescriptor file(
        static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | user_mode_only)));
    if (!file.is_open()) {
        return system_failure("userfaultfd", errno,
                              "which the kernel, or the seccomp profile of a container, refuses");
    }
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = wished;
    if (ioctl(file.get(), UFFDIO_API, &api) != 0) {
        return system_failure("ioctl(UFFDIO_API)", errno, "features " + std::to_string(wished));
    }
    offered = api.features;
    return file;
}

uffdio_range range_of(const char* address, std::uint64_t bytes) noexcept {
    return {reinterpret_cast<std::uintptr_t>(address), bytes};
}

}  // namespace

Status PageOutcome::status() const {
    if (is_ok()) return {};
    return system_failure(call, error,
                          std::to_string(bytes) + " bytes of shared pages from address " +
                              std::to_string(reinterpret_cast<std::uintptr_t>(address)));
}

Result<PageFaults> PageFaults::open(WriteTracking tracking) {
    // A descriptor takes one choice of features, so the first one only lists them.
    std::uint64_t offered = 0;
    auto list = open_with(0, offered);
    if (!list.is_ok()) return std::move(list).failure();
    std::uint64_t wished = 0;
    for (const NamedFeature& feature : needed_features) {
        if (tracking == WriteTracking::sync && !feature.is_for_sync) continue;
        if ((offered & feature.bit) == 0) {
            return Status(Code::unsupported,
                          std::string("the kernel's userfaultfd lacks ") + feature.name);
        }
        wished |= feature.bit;
    }
    std::uint64_t chosen = 0;
    auto file = open_with(wished, chosen);
    if (!file.is_ok()) return std::move(file).failure();
    // The kernel has had both since the same version.
    return PageFaults(std::move(file).value(), (offered & protect_absent) != 0);
}

Status PageFaults::watch(char* address, std::uint64_t bytes) const {
    const std::string range = std::to_string(bytes) + " bytes at address " +
                              std::to_string(reinterpret_cast<std::uintptr_t>(address));
    uffdio_register request{};
    request.range = range_of(address, bytes);
    if (bytes == 0 || ((request.range.start | bytes) & (page_bytes() - 1)) != 0) {
        return {Code::argument, range + ": must be whole pages"};
    }
    if (madvise(address, bytes, MADV_DONTFORK) != 0) {
        return system_failure("madvise(MADV_DONTFORK)", errno, range);
    }
    request.mode =
        UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP | UFFDIO_REGISTER_MODE_MINOR;
    if (ioctl(file_.get(), UFFDIO_REGISTER, &request) == 0) return {};
    const int error = errno;
    (void)madvise(address, bytes, MADV_DOFORK);
    if (error != EINVAL) return system_failure("ioctl(UFFDIO_REGISTER)", error, range);
    return {Code::unsupported, range + ": the kernel watches only shared memory files"};
}

PageOutcome PageFaults::map_pages(char* address,
                                  std::uint64_t bytes,
                                  bool is_protected) const noexcept {
    int idle_calls = 0;
    while (bytes != 0) {
        uffdio_continue request{};
        request.range = range_of(address, bytes);
        request.mode = is_protected ? continue_protected : 0;
        std::uint64_t done = bytes;
        if (ioctl(file_.get(), UFFDIO_CONTINUE, &request) != 0) {
            const int error = errno;
            done = request.mapped > 0 ? static_cast<std::uint64_t>(request.mapped) : 0;
            if (error == EEXIST) done = page_bytes();  // the first page of the range is mapped
            const bool may_retry = error == EEXIST || error == EAGAIN;
            if (done == 0) ++idle_calls;
            if (!may_retry || idle_calls > idle_calls_max) {
                return {"ioctl(UFFDIO_CONTINUE)", error, address, bytes};
            }
        }
        address += done;
        bytes -= done;
    }
    return {};
}

PageOutcome PageFaults::protect(char* address, std::uint64_t bytes) const noexcept {
    return set_protection(address, bytes, true);
}

PageOutcome PageFaults::unprotect(char* address, std::uint64_t bytes) const noexcept {
    return set_protection(address, bytes, false);
}

PageOutcome PageFaults::set_protection(char* address,
                                       std::uint64_t bytes,
                                       bool is_on) const noexcept {
    uffdio_writeprotect request{};
    request.range = range_of(address, bytes);
    request.mode = is_on ? UFFDIO_WRITEPROTECT_MODE_WP : 0;
    for (int calls = 0; calls <= idle_calls_max; ++calls) {
        if (ioctl(file_.get(), UFFDIO_WRITEPROTECT, &request) == 0) return {};
        if (errno != EAGAIN) break;
    }
    return {"ioctl(UFFDIO_WRITEPROTECT)", errno, address, bytes};
}

PageOutcome PageFaults::unmap_pages(char* address, std::uint64_t bytes) noexcept {
    if (madvise(address, bytes, MADV_DONTNEED) == 0) return {};
    return {"madvise(MADV_DONTNEED)", errno, address, bytes};
}

namespace {

// Maps one page protected, and lists it after a write.
Status try_page_faults(WriteTracking tracking) {
    auto faults = PageFaults::open(tracking);
    if (!faults.is_ok()) return std::move(faults).failure();
    const std::uint64_t bytes = page_bytes();
    auto file = create_memory_file("acp-probe", bytes);
    if (!file.is_ok()) return std::move(file).failure();
    auto own = Mapping::map_shared(file.value().get(), bytes);
    if (!own.is_ok()) return std::move(own).failure();
    auto watched = Mapping::map_shared(file.value().get(), bytes);
    if (!watched.is_ok()) return std::move(watched).failure();
    char* const page = watched.value().data();
    *own.value().data() = 1;  // the file has bytes for the page
    if (Status status = faults.value().watch(page, bytes); !status.is_ok()) return status;
    const bool is_protected = faults.value().protects_at_once();
    const PageOutcome mapped = faults.value().map_pages(page, bytes, is_protected);
    if (!mapped.is_ok()) return mapped.status();
    if (tracking == WriteTracking::sync) return faults.value().protect(page, bytes).status();
    auto scan = PageScan::open();
    if (!scan.is_ok()) return std::move(scan).failure();
    // The kernel writes to the page, since it could raise a signal for this thread.
    const auto byte = std::as_writable_bytes(std::span(page, 1));
    if (Status status = read_at(file.value().get(), 0, byte); !status.is_ok()) return status;
    std::array<PageRun, 1> runs{};
    auto step = scan.value().take_written(page, page + bytes, runs);
    if (!step.is_ok()) return std::move(step).failure();
    if (step.value().runs.size() == 1) return {};
    return {Code::unsupported, "the kernel did not list a page that was written"};
}

}  // namespace

PageFaultSupport probe_page_faults() {
    const Status async = try_page_faults(WriteTracking::async);
    if (async.is_ok()) return {PageFaultSupport::Kind::async};
    const Status sync = try_page_faults(WriteTracking::sync);
    if (sync.is_ok()) return {PageFaultSupport::Kind::sync, std::string(async.message())};
    return {PageFaultSupport::Kind::none, std::string(sync.message())};
}

}  // namespace acp::os
