// SPDX-License-Identifier: BSD-3-Clause
// Calls mmap in the few forms that the library needs.
#include "os/mapping.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/leak_check.hpp"
#include "os/limits.hpp"
#include "os/system_error.hpp"

namespace acp::os {

namespace {

using base::Code;

constexpr int read_write = PROT_READ | PROT_WRITE;

Status map_failure(int error, std::uint64_t bytes) {
    const ResourceLimits limits = resource_limits();
    const auto text_of = [](std::uint64_t allowed) {
        return allowed == unlimited ? std::string("unlimited") : std::to_string(allowed) + " bytes";
    };
    return system_failure(
        "mmap", error,
        std::to_string(bytes) + " bytes, " + address_space_text(bytes) +
            ", private memory (RLIMIT_DATA, ulimit -d): " + text_of(limits.data_bytes) +
            (error == EAGAIN ? ", locked memory, for the process called mlockall(MCL_FUTURE) "
                               "(RLIMIT_MEMLOCK, ulimit -l): " +
                                   text_of(limits.locked_bytes)
                             : ""));
}

Status check_whole_pages(const void* address, std::uint64_t bytes, std::uint64_t offset) {
    const auto start = reinterpret_cast<std::uintptr_t>(address);
    if (bytes != 0 && ((start | bytes | offset) & (page_bytes() - 1)) == 0) return {};
    return {Code::argument, "range at " + std::to_string(start) + " of " + std::to_string(bytes) +
                                " bytes, file offset " + std::to_string(offset) +
                                ": all three must be multiples of the page size " +
                                std::to_string(page_bytes()) + ", and bytes not 0"};
}

// Makes a range inaccessible in which nothing is mapped. Kernels before Linux 4.17 take the address
// for a hint. Errors: state (the range is in use).
Status claim_range(
    std::uintptr_t address, std::uint64_t bytes, int flags, int fd, std::uint64_t offset) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the caller chose a number
    void* const wanted = reinterpret_cast<void*>(address);
    if (Status status = check_whole_pages(wanted, bytes, offset); !status.is_ok()) return status;
    void* const got =
        mmap(wanted, bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, fd, static_cast<off_t>(offset));
    if (got == wanted) return {};
    const int error = got == MAP_FAILED ? errno : EEXIST;
    if (got != MAP_FAILED) munmap(got, bytes);
    if (error != EEXIST) return map_failure(error, bytes);
    return {Code::state, "a part of the range is in use"};
}

// A file of another process may be without its length yet; to touch a page after the end of a file
// is a SIGBUS.
Status check_length(int fd, std::uint64_t bytes) {
    struct stat status {};

    if (fstat(fd, &status) != 0) return system_failure("fstat", errno, "on a file to be mapped");
    const auto length = static_cast<std::uint64_t>(status.st_size);
    if (bytes <= length) return {};
    return {Code::state, "cannot map " + std::to_string(bytes) + " bytes of a file of " +
                             std::to_string(length)};
}

Status map_over(void* address, std::uint64_t bytes, int flags, int fd, std::uint64_t offset) {
    if (Status status = check_whole_pages(address, bytes, offset); !status.is_ok()) return status;
    void* got = mmap(address, bytes, read_write, flags | MAP_FIXED, fd, static_cast<off_t>(offset));
    return got == MAP_FAILED ? map_failure(errno, bytes) : Status();
}

}  // namespace

Result<Mapping> Mapping::map_shared(int fd, std::uint64_t bytes) {
    return map(fd, bytes, MAP_SHARED, read_write);
}

Result<Mapping> Mapping::map_shared_read_only(int fd, std::uint64_t bytes) {
    return map(fd, bytes, MAP_SHARED, PROT_READ);
}

Result<Mapping> Mapping::map_shared_at(std::uintptr_t address,
                                       std::uint64_t bytes,
                                       int fd,
                                       std::uint64_t offset) {
    if (Status status = claim_range(address, bytes, MAP_SHARED, fd, offset); !status.is_ok())
        return status;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the caller chose a number
    Mapping made(reinterpret_cast<char*>(address), bytes);
    if (madvise(made.data(), bytes, MADV_DONTFORK) != 0)
        return system_failure("madvise(MADV_DONTFORK)", errno, std::to_string(bytes) + " bytes");
    leave_out_of_core_dumps(made.data(), bytes);
    if (mprotect(made.data(), bytes, read_write) == 0) return made;
    return system_failure("mprotect", errno, std::to_string(bytes) + " bytes");
}

Result<Mapping> Mapping::map_anonymous(std::uint64_t bytes) {
    return map(-1, bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, read_write);
}

Result<Mapping> Mapping::map_shared_anonymous(std::uint64_t bytes) {
    return map(-1, bytes, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, read_write);
}

// In a process that called mlockall(MCL_FUTURE), mmap() makes every page resident that the process
// may access, and mprotect() makes none of a shared mapping: so a shared mapping gets its rights
// after it is made. (Not under valgrind, which notes such a change of rights byte by byte.)
Result<Mapping> Mapping::map(int fd, std::uint64_t bytes, int flags, int rights) {
    if (bytes == 0) return Status(Code::argument, "cannot map 0 bytes");
    const bool is_shared = (flags & MAP_SHARED) != 0;
    if (Status status = fd >= 0 ? check_length(fd, bytes) : Status(); !status.is_ok())
        return status;
    const bool is_late = is_shared && !is_under_valgrind();
    void* address = mmap(nullptr, bytes, is_late ? PROT_NONE : rights, flags, fd, 0);
    if (address == MAP_FAILED) return map_failure(errno, bytes);
    Mapping made(static_cast<char*>(address), bytes);
    if (is_late && mprotect(address, bytes, rights) != 0) {
        return system_failure("mprotect", errno, std::to_string(bytes) + " bytes");
    }
    return made;
}

void Mapping::unmap() noexcept {
    if (data_ != nullptr) munmap(data_, bytes_);
    data_ = nullptr;
    bytes_ = 0;
}

Status check_free(std::uintptr_t address, std::uint64_t bytes) {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (Status status = claim_range(address, bytes, flags, -1, 0); !status.is_ok()) return status;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the caller chose a number
    munmap(reinterpret_cast<void*>(address), bytes);
    return {};
}

Status map_private_over(void* address, std::uint64_t bytes) {
    return map_over(address, bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

Status map_shared_over(void* address, std::uint64_t bytes, int fd, std::uint64_t offset) {
    return map_over(address, bytes, MAP_SHARED, fd, offset);
}

bool give_back_shared(void* address, std::uint64_t bytes) noexcept {
    return madvise(address, bytes, MADV_REMOVE) == 0;
}

void make_zero_shared(char* memory, std::uint64_t bytes) noexcept {
    constexpr std::uint64_t page = 4096;
    constexpr std::uint64_t written_most = 32 * page;  // below it writing takes less time
    const auto start = reinterpret_cast<std::uintptr_t>(memory);
    const std::uint64_t before = (page - start % page) % page;
    if (bytes > written_most && before < bytes) {
        const std::uint64_t pages = (bytes - before) / page * page;
        if (give_back_shared(memory + before, pages)) {
            std::memset(memory, 0, before);
            std::memset(memory + before + pages, 0, bytes - before - pages);
            return;
        }
    }
    std::memset(memory, 0, bytes);
}

void leave_out_of_core_dumps(void* address, std::uint64_t bytes) noexcept {
    (void)madvise(address, bytes, MADV_DONTDUMP);
}

Status close_range(void* address, std::uint64_t bytes) {
    if (Status status = check_whole_pages(address, bytes, 0); !status.is_ok()) return status;
    if (is_under_valgrind()) return {};
    (void)munlock(address, bytes);
    if (mprotect(address, bytes, PROT_NONE) == 0) return {};
    return system_failure("mprotect(PROT_NONE)", errno, std::to_string(bytes) + " bytes");
}

Status open_range(void* address, std::uint64_t bytes) {
    if (Status status = check_whole_pages(address, bytes, 0); !status.is_ok()) return status;
    if (is_under_valgrind() || mprotect(address, bytes, read_write) == 0) return {};
    return system_failure("mprotect(PROT_READ | PROT_WRITE)", errno,
                          std::to_string(bytes) + " bytes");
}

std::uint64_t page_bytes() noexcept {
    return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace acp::os
