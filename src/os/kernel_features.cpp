// SPDX-License-Identifier: BSD-3-Clause
// Tests each facility by one small system call, made directly where the C library has no function.
#include "os/kernel_features.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file_descriptor.hpp"
#include "os/membarrier.hpp"

// Numbers and flags that older headers lack; the numbers are the same on every architecture.
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace acp::os {

namespace {

constexpr int segment_bytes = 1400;

// For a system call that returns a descriptor, which is closed again.
Refusal refusal_of_descriptor(long result) noexcept {
    const int error = errno;
    const FileDescriptor descriptor(static_cast<int>(result));
    return descriptor.is_open() ? 0 : error;
}

Refusal probe_udp_option(int option, int value) noexcept {
    const FileDescriptor socket_file(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket_file.is_open()) return errno;
    const int result = setsockopt(socket_file.get(), IPPROTO_UDP, option, &value, sizeof value);
    return result == 0 ? 0 : errno;
}

// What the child of probe_attach reports.
struct Reading {
    std::uint64_t token;
    std::int32_t error;
};

// In the child: waits until the token is written, reads it out of the parent's memory, reports it,
// and ends.
[[noreturn]] void read_parent(pid_t parent,
                              const volatile std::uint64_t* token,
                              int go,
                              int report) {
    char ready = 0;
    Reading reading{0, EPIPE};
    if (read(go, &ready, 1) == 1) {
        const iovec local{&reading.token, sizeof reading.token};
        const iovec remote{const_cast<std::uint64_t*>(token), sizeof *token};
        const ssize_t got = process_vm_readv(parent, &local, 1, &remote, 1, 0);
        reading.error = got == static_cast<ssize_t>(sizeof *token) ? 0 : got < 0 ? errno : EFAULT;
    }
    const bool is_reported = write(report, &reading, sizeof reading) == sizeof reading;
    _exit(is_reported ? 0 : 1);
}

// In the parent: writes the token and lets the child read it.
Refusal offer_token(volatile std::uint64_t& token, int go, int report) noexcept {
    std::uint64_t value = 0;
    if (getrandom(&value, sizeof value, 0) != sizeof value) return errno;
    token = value;
    if (write(go, "g", 1) != 1) return errno;
    Reading reading{};
    ssize_t got = 0;
    do {
        got = read(report, &reading, sizeof reading);
    } while (got < 0 && errno == EINTR);
    if (got != sizeof reading) return EPIPE;
    if (reading.error != 0) return reading.error;
    return reading.token == value ? 0 : EBADMSG;
}

}  // namespace

Refusal probe_memory_file() noexcept {
    const FileDescriptor file(memfd_create("acp-probe", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file.is_open()) return errno;
    const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
    return fcntl(file.get(), F_ADD_SEALS, seals) == 0 ? 0 : errno;
}

Refusal probe_process_descriptor() noexcept {
    return refusal_of_descriptor(syscall(SYS_pidfd_open, getpid(), 0));
}

Refusal probe_membarrier() noexcept {
    errno = 0;
    if (register_expedited() && expedite()) return 0;
    return errno != 0 ? errno : ENOSYS;
}

Refusal probe_futex_waitv() noexcept {
    // Passes no futexes at all: a kernel that has the system call reports EINVAL.
    const long result = syscall(SYS_futex_waitv, nullptr, 0, 0, nullptr, 0);
    return result < 0 && errno != EINVAL ? errno : 0;
}

Refusal probe_io_uring() noexcept {
    io_uring_params parameters{};
    return refusal_of_descriptor(syscall(SYS_io_uring_setup, 1, &parameters));
}

Refusal probe_udp_segmentation() noexcept {
    return probe_udp_option(UDP_SEGMENT, segment_bytes);
}

Refusal probe_udp_joining() noexcept {
    return probe_udp_option(UDP_GRO, 1);
}

Refusal probe_attach() noexcept {
    std::array<int, 2> go{};
    std::array<int, 2> report{};
    if (pipe2(go.data(), O_CLOEXEC) != 0) return errno;
    FileDescriptor go_reader(go[0]);
    FileDescriptor go_writer(go[1]);
    if (pipe2(report.data(), O_CLOEXEC) != 0) return errno;
    FileDescriptor report_reader(report[0]);
    FileDescriptor report_writer(report[1]);
    volatile std::uint64_t token = 0;
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) return errno;
    if (child == 0) {
        go_writer.close();
        read_parent(parent, &token, go_reader.get(), report_writer.get());
    }
    go_reader.close();
    report_writer.close();
    const Refusal refusal = offer_token(token, go_writer.get(), report_reader.get());
    go_writer.close();
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    return refusal;
}

}  // namespace acp::os
