// SPDX-License-Identifier: BSD-3-Clause
// The table of the system calls of Linux that device processes make. A row has the numbers of a
// call and says whether the executor carries it out (then also which bytes are copied for each
// argument), or the device process itself, or whether it fails. The enumeration, the table and the
// tests are made of this one list. The device process carries out calls that the list does not name.
// Tests: tests/unit/call/system_call_list_test.cpp.
#pragma once

#include <array>
#include <cstdint>

#include "call/system_call_row.hpp"

namespace acp::call {

// clang-format off
// ROW(name, number on x86-64, on 64-bit ARM (-1: none), the words)
#define ACP_CARRIED_SYSTEM_CALLS(ROW) \
    ROW(read, 0, 63, value(), out(2), value()) \
    ROW(write, 1, 64, value(), in(2), value()) \
    ROW(pread64, 17, 67, value(), out(2), value(), value()) \
    ROW(pwrite64, 18, 68, value(), in(2), value(), value()) \
    ROW(readv, 19, 65, value(), vectors_out(2), value()) \
    ROW(writev, 20, 66, value(), vectors_in(2), value()) \
    ROW(preadv, 295, 69, value(), vectors_out(2), value(), value(), value()) \
    ROW(pwritev, 296, 70, value(), vectors_in(2), value(), value(), value()) \
    ROW(preadv2, 327, 286, value(), vectors_out(2), value(), value(), value(), value()) \
    ROW(pwritev2, 328, 287, value(), vectors_in(2), value(), value(), value(), value()) \
    ROW(open, 2, -1, text(), value(), value()) \
    ROW(openat, 257, 56, value(), text(), value(), value()) \
    ROW(openat2, 437, 437, value(), text(), in(3), value()) \
    ROW(creat, 85, -1, text(), value()) \
    ROW(close, 3, 57, value()) \
    ROW(close_range, 436, 436, value(), value(), value()) \
    ROW(dup, 32, 23, value()) \
    ROW(dup2, 33, -1, value(), value()) \
    ROW(dup3, 292, 24, value(), value(), value()) \
    ROW(fcntl, 72, 25, value(), value(), by_request(1)) \
    ROW(ioctl, 16, 29, value(), value(), by_request(1)) \
    ROW(flock, 73, 32, value(), value()) \
    ROW(lseek, 8, 62, value(), value(), value()) \
    ROW(fsync, 74, 82, value()) \
    ROW(fdatasync, 75, 83, value()) \
    ROW(sync, 162, 81) \
    ROW(syncfs, 306, 267, value()) \
    ROW(sync_file_range, 277, 84, value(), value(), value(), value()) \
    ROW(fallocate, 285, 47, value(), value(), value(), value()) \
    ROW(ftruncate, 77, 46, value(), value()) \
    ROW(truncate, 76, 45, text(), value()) \
    ROW(fadvise64, 221, 223, value(), value(), value(), value()) \
    ROW(readahead, 187, 213, value(), value(), value()) \
    ROW(stat, 4, -1, text(), out_fixed(144, 128)) \
    ROW(lstat, 6, -1, text(), out_fixed(144, 128)) \
    ROW(fstat, 5, 80, value(), out_fixed(144, 128)) \
    ROW(newfstatat, 262, 79, value(), text(), out_fixed(144, 128), value()) \
    ROW(statx, 332, 291, value(), text(), value(), value(), out_fixed(256)) \
    ROW(statfs, 137, 43, text(), out_fixed(120)) \
    ROW(fstatfs, 138, 44, value(), out_fixed(120)) \
    ROW(getdents, 78, -1, value(), out(2), value()) \
    ROW(getdents64, 217, 61, value(), out(2), value()) \
    ROW(getcwd, 79, 17, out(1), value()) \
    ROW(chdir, 80, 49, text()) \
    ROW(fchdir, 81, 50, value()) \
    ROW(chroot, 161, 51, text()) \
    ROW(umask, 95, 166, value()) \
    ROW(rename, 82, -1, text(), text()) \
    ROW(renameat, 264, 38, value(), text(), value(), text()) \
    ROW(renameat2, 316, 276, value(), text(), value(), text(), value()) \
    ROW(mkdir, 83, -1, text(), value()) \
    ROW(mkdirat, 258, 34, value(), text(), value()) \
    ROW(rmdir, 84, -1, text()) \
    ROW(link, 86, -1, text(), text()) \
    ROW(linkat, 265, 37, value(), text(), value(), text(), value()) \
    ROW(unlink, 87, -1, text()) \
    ROW(unlinkat, 263, 35, value(), text(), value()) \
    ROW(symlink, 88, -1, text(), text()) \
    ROW(symlinkat, 266, 36, text(), value(), text()) \
    ROW(readlink, 89, -1, text(), out_int(2), value()) \
    ROW(readlinkat, 267, 78, value(), text(), out_int(3), value()) \
    ROW(mknod, 133, -1, text(), value(), value()) \
    ROW(mknodat, 259, 33, value(), text(), value(), value()) \
    ROW(chmod, 90, -1, text(), value()) \
    ROW(fchmod, 91, 52, value(), value()) \
    ROW(fchmodat, 268, 53, value(), text(), value()) \
    ROW(chown, 92, -1, text(), value(), value()) \
    ROW(lchown, 94, -1, text(), value(), value()) \
    ROW(fchown, 93, 55, value(), value(), value()) \
    ROW(fchownat, 260, 54, value(), text(), value(), value(), value()) \
    ROW(access, 21, -1, text(), value()) \
    ROW(faccessat, 269, 48, value(), text(), value()) \
    ROW(faccessat2, 439, 439, value(), text(), value(), value()) \
    ROW(utime, 132, -1, text(), in_fixed(16)) \
    ROW(utimes, 235, -1, text(), in_fixed(32)) \
    ROW(futimesat, 261, -1, value(), text(), in_fixed(32)) \
    ROW(utimensat, 280, 88, value(), text(), in_fixed(32), value()) \
    ROW(setxattr, 188, 5, text(), text(), in(3), value(), value()) \
    ROW(getxattr, 191, 8, text(), text(), out(3), value()) \
    ROW(listxattr, 194, 11, text(), out(2), value()) \
    ROW(removexattr, 197, 14, text(), text()) \
    ROW(lsetxattr, 189, 6, text(), text(), in(3), value(), value()) \
    ROW(lgetxattr, 192, 9, text(), text(), out(3), value()) \
    ROW(llistxattr, 195, 12, text(), out(2), value()) \
    ROW(lremovexattr, 198, 15, text(), text()) \
    ROW(fsetxattr, 190, 7, value(), text(), in(3), value(), value()) \
    ROW(fgetxattr, 193, 10, value(), text(), out(3), value()) \
    ROW(flistxattr, 196, 13, value(), out(2), value()) \
    ROW(fremovexattr, 199, 16, value(), text()) \
    ROW(pipe, 22, -1, out_fixed(8)) \
    ROW(pipe2, 293, 59, out_fixed(8), value()) \
    ROW(socket, 41, 198, value(), value(), value()) \
    ROW(socketpair, 53, 199, value(), value(), value(), out_fixed(8)) \
    ROW(bind, 49, 200, value(), in_int(2), value()) \
    ROW(connect, 42, 203, value(), in_int(2), value()) \
    ROW(listen, 50, 201, value(), value()) \
    ROW(accept, 43, 202, value(), up_to(2), length()) \
    ROW(accept4, 288, 242, value(), up_to(2), length(), value()) \
    ROW(getsockname, 51, 204, value(), up_to(2), length()) \
    ROW(getpeername, 52, 205, value(), up_to(2), length()) \
    ROW(sendto, 44, 206, value(), in(2), value(), value(), in_int(5), value()) \
    ROW(recvfrom, 45, 207, value(), out(2), value(), value(), up_to(5), length()) \
    ROW(setsockopt, 54, 208, value(), value(), value(), in_int(4), value()) \
    ROW(getsockopt, 55, 209, value(), value(), value(), up_to(4), length()) \
    ROW(shutdown, 48, 210, value(), value()) \
    ROW(sendfile, 40, 71, value(), value(), in_out_fixed(8), value()) \
    ROW(splice, 275, 76, value(), in_out_fixed(8), value(), in_out_fixed(8), value(), value()) \
    ROW(tee, 276, 77, value(), value(), value(), value()) \
    ROW(copy_file_range, 326, 285, value(), in_out_fixed(8), value(), in_out_fixed(8), value(), \
        value()) \
    ROW(poll, 7, -1, in_out_int(1, 8), value(), value()) \
    ROW(ppoll, 271, 73, in_out_int(1, 8), value(), in_out_fixed(16), absent(), value()) \
    ROW(select, 23, -1, value(), bits(0), bits(0), bits(0), in_out_fixed(16)) \
    ROW(pselect6, 270, 72, value(), bits(0), bits(0), bits(0), in_out_fixed(16), absent()) \
    ROW(epoll_create, 213, -1, value()) \
    ROW(epoll_create1, 291, 20, value()) \
    ROW(epoll_ctl, 233, 21, value(), value(), value(), in_fixed(12, 16)) \
    ROW(epoll_wait, 232, -1, value(), out_int(2, 12, 16), value(), value()) \
    ROW(epoll_pwait, 281, 22, value(), out_int(2, 12, 16), value(), value(), absent(), value()) \
    ROW(eventfd, 284, -1, value()) \
    ROW(eventfd2, 290, 19, value(), value()) \
    ROW(timerfd_create, 283, 85, value(), value()) \
    ROW(timerfd_settime, 286, 86, value(), value(), in_fixed(32), out_fixed(32)) \
    ROW(timerfd_gettime, 287, 87, value(), out_fixed(32)) \
    ROW(inotify_init, 253, -1) \
    ROW(inotify_init1, 294, 26, value()) \
    ROW(inotify_add_watch, 254, 27, value(), text(), value()) \
    ROW(inotify_rm_watch, 255, 28, value(), value()) \
    ROW(memfd_create, 319, 279, text(), value()) \
    ROW(pidfd_open, 434, 434, value(), value()) \
    ROW(mq_open, 240, 180, text(), value(), value(), in_fixed(64)) \
    ROW(mq_unlink, 241, 181, text()) \
    ROW(mq_timedsend, 242, 182, value(), in(2), value(), value(), in_fixed(16)) \
    ROW(mq_timedreceive, 243, 183, value(), out(2), value(), out_fixed(4), in_fixed(16)) \
    ROW(mq_getsetattr, 245, 185, value(), in_fixed(64), out_fixed(64)) \
    ROW(clock_getres, 229, 114, value(), out_fixed(16)) \
    ROW(gettimeofday, 96, 169, out_fixed(16), out_fixed(8)) \
    ROW(time, 201, -1, out_fixed(8)) \
    ROW(getrandom, 318, 278, out(1), value(), value()) \
    ROW(uname, 63, 160, out_fixed(390)) \
    ROW(sysinfo, 99, 179, out_fixed(112))

#define ACP_STAYING_SYSTEM_CALLS(ROW) \
    ROW(mmap, 9, 222, memory) \
    ROW(munmap, 11, 215, memory) \
    ROW(mremap, 25, 216, memory) \
    ROW(mprotect, 10, 226, memory) \
    ROW(pkey_mprotect, 329, 288, memory) \
    ROW(pkey_alloc, 330, 289, memory) \
    ROW(pkey_free, 331, 290, memory) \
    ROW(brk, 12, 214, memory) \
    ROW(madvise, 28, 233, memory) \
    ROW(process_madvise, 440, 440, memory) \
    ROW(msync, 26, 227, memory) \
    ROW(mincore, 27, 232, memory) \
    ROW(mlock, 149, 228, memory) \
    ROW(mlock2, 325, 284, memory) \
    ROW(munlock, 150, 229, memory) \
    ROW(mlockall, 151, 230, memory) \
    ROW(munlockall, 152, 231, memory) \
    ROW(mbind, 237, 235, memory) \
    ROW(set_mempolicy, 238, 237, memory) \
    ROW(get_mempolicy, 239, 236, memory) \
    ROW(migrate_pages, 256, 238, memory) \
    ROW(move_pages, 279, 239, memory) \
    ROW(remap_file_pages, 216, 234, memory) \
    ROW(shmget, 29, 194, memory) \
    ROW(shmat, 30, 196, memory) \
    ROW(shmdt, 67, 197, memory) \
    ROW(shmctl, 31, 195, memory) \
    ROW(memfd_secret, 447, 447, memory) \
    ROW(process_vm_readv, 310, 270, memory) \
    ROW(process_vm_writev, 311, 271, memory) \
    ROW(membarrier, 324, 283, memory) \
    ROW(userfaultfd, 323, 282, memory) \
    ROW(clone, 56, 220, threads) \
    ROW(clone3, 435, 435, threads) \
    ROW(fork, 57, -1, threads) \
    ROW(vfork, 58, -1, threads) \
    ROW(exit, 60, 93, threads) \
    ROW(exit_group, 231, 94, threads) \
    ROW(execve, 59, 221, threads) \
    ROW(execveat, 322, 281, threads) \
    ROW(wait4, 61, 260, threads) \
    ROW(waitid, 247, 95, threads) \
    ROW(set_tid_address, 218, 96, threads) \
    ROW(set_robust_list, 273, 99, threads) \
    ROW(get_robust_list, 274, 100, threads) \
    ROW(rseq, 334, 293, threads) \
    ROW(futex, 202, 98, threads) \
    ROW(futex_waitv, 449, 449, threads) \
    ROW(sched_yield, 24, 124, threads) \
    ROW(sched_setaffinity, 203, 122, threads) \
    ROW(sched_getaffinity, 204, 123, threads) \
    ROW(sched_setparam, 142, 118, threads) \
    ROW(sched_getparam, 143, 121, threads) \
    ROW(sched_setscheduler, 144, 119, threads) \
    ROW(sched_getscheduler, 145, 120, threads) \
    ROW(sched_setattr, 314, 274, threads) \
    ROW(sched_getattr, 315, 275, threads) \
    ROW(sched_get_priority_max, 146, 125, threads) \
    ROW(sched_get_priority_min, 147, 126, threads) \
    ROW(sched_rr_get_interval, 148, 127, threads) \
    ROW(getcpu, 309, 168, threads) \
    ROW(nanosleep, 35, 101, threads) \
    ROW(clock_nanosleep, 230, 115, threads) \
    ROW(clock_gettime, 228, 113, threads) \
    ROW(arch_prctl, 158, -1, threads) \
    ROW(rt_sigaction, 13, 134, signals) \
    ROW(rt_sigprocmask, 14, 135, signals) \
    ROW(rt_sigreturn, 15, 139, signals) \
    ROW(rt_sigpending, 127, 136, signals) \
    ROW(rt_sigtimedwait, 128, 137, signals) \
    ROW(rt_sigqueueinfo, 129, 138, signals) \
    ROW(rt_tgsigqueueinfo, 297, 240, signals) \
    ROW(rt_sigsuspend, 130, 133, signals) \
    ROW(sigaltstack, 131, 132, signals) \
    ROW(kill, 62, 129, signals) \
    ROW(tkill, 200, 130, signals) \
    ROW(tgkill, 234, 131, signals) \
    ROW(pidfd_send_signal, 424, 424, signals) \
    ROW(pause, 34, -1, signals) \
    ROW(alarm, 37, -1, signals) \
    ROW(getitimer, 36, 102, signals) \
    ROW(setitimer, 38, 103, signals) \
    ROW(timer_create, 222, 107, signals) \
    ROW(timer_settime, 223, 110, signals) \
    ROW(timer_gettime, 224, 108, signals) \
    ROW(timer_getoverrun, 225, 109, signals) \
    ROW(timer_delete, 226, 111, signals) \
    ROW(restart_syscall, 219, 128, signals) \
    ROW(getpid, 39, 172, identity) \
    ROW(gettid, 186, 178, identity) \
    ROW(getppid, 110, 173, identity) \
    ROW(getpgid, 121, 155, identity) \
    ROW(getpgrp, 111, -1, identity) \
    ROW(setpgid, 109, 154, identity) \
    ROW(getsid, 124, 156, identity) \
    ROW(setsid, 112, 157, identity) \
    ROW(getuid, 102, 174, identity) \
    ROW(geteuid, 107, 175, identity) \
    ROW(getgid, 104, 176, identity) \
    ROW(getegid, 108, 177, identity) \
    ROW(setuid, 105, 146, identity) \
    ROW(setgid, 106, 144, identity) \
    ROW(setreuid, 113, 145, identity) \
    ROW(setregid, 114, 143, identity) \
    ROW(setresuid, 117, 147, identity) \
    ROW(getresuid, 118, 148, identity) \
    ROW(setresgid, 119, 149, identity) \
    ROW(getresgid, 120, 150, identity) \
    ROW(setfsuid, 122, 151, identity) \
    ROW(setfsgid, 123, 152, identity) \
    ROW(getgroups, 115, 158, identity) \
    ROW(setgroups, 116, 159, identity) \
    ROW(capget, 125, 90, identity) \
    ROW(capset, 126, 91, identity) \
    ROW(prctl, 157, 167, identity) \
    ROW(personality, 135, 92, identity) \
    ROW(seccomp, 317, 277, identity) \
    ROW(getrlimit, 97, 163, identity) \
    ROW(setrlimit, 160, 164, identity) \
    ROW(prlimit64, 302, 261, identity) \
    ROW(getrusage, 98, 165, identity) \
    ROW(times, 100, 153, identity) \
    ROW(getpriority, 140, 141, identity) \
    ROW(setpriority, 141, 140, identity) \
    ROW(ioprio_get, 252, 31, identity) \
    ROW(ioprio_set, 251, 30, identity) \
    ROW(ptrace, 101, 117, identity) \
    ROW(kcmp, 312, 272, identity) \
    ROW(pidfd_getfd, 438, 438, identity) \
    ROW(sendmsg, 46, 211, nested) \
    ROW(recvmsg, 47, 212, nested) \
    ROW(sendmmsg, 307, 269, nested) \
    ROW(recvmmsg, 299, 243, nested) \
    ROW(msgget, 68, 186, nested) \
    ROW(msgsnd, 69, 189, nested) \
    ROW(msgrcv, 70, 188, nested) \
    ROW(msgctl, 71, 187, nested) \
    ROW(semget, 64, 190, nested) \
    ROW(semop, 65, 193, nested) \
    ROW(semctl, 66, 191, nested) \
    ROW(semtimedop, 220, 192, nested) \
    ROW(mq_notify, 244, 184, nested) \
    ROW(epoll_pwait2, 441, 441, nested)

#define ACP_REFUSED_SYSTEM_CALLS(ROW) \
    ROW(io_uring_setup, 425, 425, ring) \
    ROW(io_uring_enter, 426, 426, ring) \
    ROW(io_uring_register, 427, 427, ring) \
    ROW(io_setup, 206, 0, ring) \
    ROW(io_submit, 209, 2, ring) \
    ROW(io_getevents, 208, 4, ring) \
    ROW(io_pgetevents, 333, 292, ring) \
    ROW(io_cancel, 210, 3, ring) \
    ROW(io_destroy, 207, 1, ring) \
    ROW(vmsplice, 278, 75, pages) \
    ROW(signalfd, 282, -1, signals) \
    ROW(signalfd4, 289, 74, signals) \
    ROW(unshare, 272, 97, sharing) \
    ROW(setns, 308, 268, sharing)
// clang-format on

enum class SystemCall : std::uint16_t {
#define ACP_NAME_OF(name, ...) name,
    ACP_CARRIED_SYSTEM_CALLS(ACP_NAME_OF)  //
    ACP_STAYING_SYSTEM_CALLS(ACP_NAME_OF)  //
    ACP_REFUSED_SYSTEM_CALLS(ACP_NAME_OF)  //
#undef ACP_NAME_OF
};

[[nodiscard]] constexpr auto make_system_call_rows() {
    using namespace rows;
    using enum Reason;
    using Arguments = std::array<ArgumentRow, system_call_words>;
    return std::to_array<SystemCallRow>({
#define ACP_ROW_OF(name, x86_64, elsewhere, ...) \
    SystemCallRow{#name, x86_64, elsewhere, Delegation::carried, none, Arguments{__VA_ARGS__}},
        ACP_CARRIED_SYSTEM_CALLS(ACP_ROW_OF)
#undef ACP_ROW_OF
#define ACP_ROW_OF(name, x86_64, elsewhere, reason) \
    SystemCallRow{#name, x86_64, elsewhere, Delegation::staying, reason, Arguments{}},
            ACP_STAYING_SYSTEM_CALLS(ACP_ROW_OF)
#undef ACP_ROW_OF
#define ACP_ROW_OF(name, x86_64, elsewhere, reason) \
    SystemCallRow{#name, x86_64, elsewhere, Delegation::refused, reason, Arguments{}},
                ACP_REFUSED_SYSTEM_CALLS(ACP_ROW_OF)
#undef ACP_ROW_OF
    });
}

inline constexpr auto system_call_rows = make_system_call_rows();

inline constexpr std::size_t system_call_count = system_call_rows.size();

[[nodiscard]] constexpr const SystemCallRow& row_of(SystemCall call) {
    return system_call_rows[static_cast<std::size_t>(call)];
}

// Numbers of Linux are below this.
inline constexpr std::size_t system_call_numbers = 512;

}  // namespace acp::call
