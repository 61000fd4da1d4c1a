// SPDX-License-Identifier: BSD-3-Clause
// The probes report for this process, not for the kernel in general, and leak nothing. One thread;
// some tests fork.
#include "os/kernel_features.hpp"

#include <cerrno>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace acp::os {
namespace {

constexpr uid_t nobody = 65534;

using Probe = Refusal (*)() noexcept;
constexpr Probe all_probes[] = {
    probe_memory_file, probe_process_descriptor, probe_membarrier,  probe_futex_waitv,
    probe_io_uring,    probe_udp_segmentation,   probe_udp_joining, probe_attach};

std::ptrdiff_t open_descriptors() {
    using std::filesystem::directory_iterator;
    return std::distance(directory_iterator("/proc/self/fd"), directory_iterator());
}

// Runs body in a forked child and returns its result.
template <typename Body>
int in_child(Body body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(KernelFeatures, a_probe_leaves_no_descriptor_and_no_child_behind) {
    const std::ptrdiff_t before = open_descriptors();
    for (const Probe probe : all_probes) {
        const Refusal refusal = probe();
        EXPECT_GE(refusal, 0);
        EXPECT_EQ(open_descriptors(), before);
    }
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
}

TEST(KernelFeatures, what_the_floor_kernel_has_works_here) {
    EXPECT_EQ(probe_memory_file(), 0);
    EXPECT_EQ(probe_process_descriptor(), 0);
    EXPECT_EQ(probe_udp_segmentation(), 0);
    EXPECT_EQ(probe_udp_joining(), 0);
}

TEST(KernelFeatures, a_refused_facility_gives_the_systems_reason) {
    const int reason = in_child([] {
        const rlimit none{0, 0};
        if (setrlimit(RLIMIT_NOFILE, &none) != 0) return -1;
        return probe_memory_file();
    });
    EXPECT_EQ(reason, EMFILE);
}

TEST(KernelFeatures, attach_is_refused_by_a_process_that_forbids_it) {
    if (probe_attach() != 0) GTEST_SKIP() << "attach is forbidden to everybody here";
    const int reason = in_child([] {
        if (getuid() == 0 && setuid(nobody) != 0) return -1;  // root would be allowed anyway
        if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return -1;
        return probe_attach();
    });
    EXPECT_EQ(reason, EPERM);
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
