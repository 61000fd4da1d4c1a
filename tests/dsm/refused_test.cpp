// SPDX-License-Identifier: BSD-3-Clause
// A kernel, a sandbox or a container that refuses userfaultfd: shared pages of several nodes use
// mprotect() instead, and random programs run. ACP_DSM_FAULTS=sync and async return an error there.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/job.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

// In the launcher's process, before it begins; inherited by all ranks.
void refuse_userfaultfd() {
    constexpr std::uint32_t new_descriptor = 0xaa00;  // USERFAULTFD_IOC_NEW, of /dev/userfaultfd
    std::array<sock_filter, 7> steps{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args) + sizeof(std::uint64_t)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, new_descriptor, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    sock_fprog filter{steps.size(), steps.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        _exit(77);
}

JobResult run(const std::string& program, const std::string& way) {
    arm_watchdog(240, "a job to which userfaultfd is refused");
    JobOptions options;
    options.launcher = {"--nodes", "2", "--heap-size", "32M"};
    options.program = {ACP_TEST_PROGRAM_DIR "/" + program, "65536"};
    options.environment = {"ACP_ON_ERROR=return", "ACP_DSM_FAULTS=" + way, "TEST_SEEDS=15"};
    options.before_exec = refuse_userfaultfd;
    JobResult result = run_job(options, 200'000'000'000);
    arm_watchdog(0, "");
    return result;
}

TEST(DsmRefused, random_programs_run_where_userfaultfd_is_refused) {
    const JobResult result = run("conformance_dsm_random", "auto");
    EXPECT_EQ(result.code, 0) << result.output;
    EXPECT_EQ(result.output.find("SKIPPED"), std::string::npos) << result.output;
}

TEST(DsmRefused, a_way_that_needs_userfaultfd_is_refused_by_name) {
    for (const std::string way : {"sync", "async"}) {
        const std::string output = run("dsm_heap_probe", way).output;
        EXPECT_NE(output.find("userfaultfd"), std::string::npos) << output;
        EXPECT_EQ(output.find("the pages are open"), std::string::npos) << output;
    }
}

}  // namespace
}  // namespace acp::test
