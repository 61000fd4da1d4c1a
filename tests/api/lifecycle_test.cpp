// SPDX-License-Identifier: BSD-3-Clause
// The life of a process in the library, seen from outside: calls in a wrong state, fatal errors,
// configuration and system limits. Every bad case must end by itself, with an exit code and a
// message, never by a crash.
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <grp.h>
#include <gtest/gtest.h>
#include <iostream>
#include <sys/resource.h>
#include <unistd.h>

#include <acp.h>

#include "support/job.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

constexpr int aborted = 128 + SIGABRT;

class LifecycleTest : public ::testing::TestWithParam<bool> {
protected:
    void SetUp() override {
        adopt_orphans();
        arm_watchdog(170, "a process's life");
    }

    void TearDown() override { arm_watchdog(0, ""); }

    // Runs the scenario alone (a job of one rank without a launcher) or on two ranks under acprun.
    static JobResult probe(const std::string& scenario,
                           bool is_launched,
                           std::vector<std::string> environment = {}) {
        JobOptions options;
        options.is_launched = is_launched;
        options.ranks = 2;
        options.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/api_probe", scenario};
        options.environment = std::move(environment);
        return run_job(options);
    }

    static void expect_fine(const std::string& scenario, bool is_launched) {
        const JobResult result = probe(scenario, is_launched, {"ACP_ON_ERROR=return"});
        EXPECT_EQ(result.code, 0) << result.output;
    }
};

TEST_P(LifecycleTest, refuses_every_call_before_init) {
    expect_fine("before_init", GetParam());
}

TEST_P(LifecycleTest, refuses_every_call_after_finalize) {
    expect_fine("after_finalize", GetParam());
}

TEST_P(LifecycleTest, refuses_every_call_in_a_forked_child) {
    expect_fine("forked", GetParam());
}

TEST_P(LifecycleTest, is_not_disturbed_by_a_child_that_executes_another_program) {
    expect_fine("forked_exec", GetParam());
}

TEST_P(LifecycleTest, refuses_a_second_init) {
    expect_fine("second_init", GetParam());
}

TEST_P(LifecycleTest, ends_with_a_clear_message_when_an_error_is_fatal) {
    for (const char* variable : {"ACP_ON_ERROR=fatal", "ACP_REPORT=0"}) {  // fatal is the default
        const JobResult result = probe("complete_a_bad_copy", GetParam(), {variable});
        EXPECT_EQ(result.code, aborted) << result.output;
        EXPECT_NE(result.output.find("rank"), std::string::npos) << result.output;
        EXPECT_NE(result.output.find("0x"), std::string::npos) << result.output;
        EXPECT_NE(result.output.find("ACP_ON_ERROR"), std::string::npos)
            << "the message does not say what to do: " << result.output;
    }
}

TEST_P(LifecycleTest, continues_when_errors_are_returned) {
    const JobResult result = probe("complete_a_bad_copy", GetParam(), {"ACP_ON_ERROR=return"});
    EXPECT_EQ(result.code, 0) << result.output;
}

TEST_P(LifecycleTest, names_the_invalid_value_of_a_variable_and_its_valid_ones) {
    const JobResult result = probe("run_and_leave", GetParam(), {"ACP_INTRANODE=sideways"});
    EXPECT_TRUE(result.code.has_value() && *result.code != 0 && *result.code < 128)
        << result.output;
    for (const char* part : {"ACP_INTRANODE", "sideways", "mailbox"}) {
        EXPECT_NE(result.output.find(part), std::string::npos) << part << ": " << result.output;
    }
}

TEST_P(LifecycleTest, warns_of_an_unknown_variable_with_the_nearest_name) {
    const JobResult result = probe("run_and_leave", GetParam(), {"ACP_INTRANOD=auto"});
    EXPECT_EQ(result.code, 0) << result.output;
    EXPECT_NE(result.output.find("ACP_INTRANOD "), std::string::npos) << result.output;
    EXPECT_NE(result.output.find("ACP_INTRANODE"), std::string::npos) << result.output;
}

INSTANTIATE_TEST_SUITE_P(launch, LifecycleTest, ::testing::Bool(), [](const auto& each) {
    return each.param ? "under_acprun" : "alone";
});

TEST(ArgumentsTest, takes_its_own_pairs_out_and_leaves_the_rest) {
    JobOptions options;
    options.is_launched = false;
    options.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/api_arguments_probe",
                       "one",
                       "--acp-starter-size",
                       "128k",
                       "--two",
                       "three"};
    const JobResult result = run_job(options);
    EXPECT_EQ(result.code, 0) << result.output;
    EXPECT_EQ(
        result.output,
        "argc 4\nargument one\nargument --two\nargument three\nterminated 1\nstarter 131072\n");
}

// The child's limit before it starts the job; plain numbers, for the code between fork and exec.
rlimit wanted_limit = {};
__rlimit_resource limited_resource = RLIMIT_AS;
bool is_user_nobody = false;

void set_limit() {
    if (is_user_nobody) {
        constexpr uid_t nobody = 65534;
        if (setgroups(0, nullptr) != 0 || setresgid(nobody, nobody, nobody) != 0 ||
            setresuid(nobody, nobody, nobody) != 0) {
            _exit(125);
        }
    }
    setrlimit(limited_resource, &wanted_limit);
}

class LimitTest : public LifecycleTest {
protected:
    // Runs with a limit: either it succeeds, or it ends with an exit code and a message. Returns
    // whether it succeeded.
    static bool run_limited(__rlimit_resource resource, rlim_t limit, bool is_launched) {
        wanted_limit = {limit, limit};
        limited_resource = resource;
        JobOptions options;
        options.is_launched = is_launched;
        options.ranks = 2;
        options.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/api_probe", "run_and_leave"};
        options.before_exec = set_limit;
        const JobResult result = run_job(options);
        EXPECT_TRUE(result.code.has_value()) << "hangs at limit " << limit;
        if (result.code && *result.code != 0) {
            // The system's loader reached the limit before the library, or the C++ library found no
            // memory for exceptions at its start and ends where one is thrown; each prints a
            // message.
            constexpr int not_loaded = 127;
            const bool has_exceptions =
                result.output.find("terminate called without an active exception") ==
                std::string::npos;
            EXPECT_TRUE(*result.code < watchdog_exit_code || *result.code == not_loaded ||
                        !has_exceptions)
                << "limit " << limit << " ends in a signal or a hang:\n"
                << result.output;
            EXPECT_GT(result.output.size(), 10U) << "limit " << limit << " ends without a message";
        }
        return result.code == 0;
    }

    // Limits from too little to enough; at least the largest must suffice.
    template <std::size_t count>
    static void sweep(__rlimit_resource resource,
                      const std::array<rlim_t, count>& limits,
                      bool is_launched) {
        bool is_fine = false;
        for (const rlim_t limit : limits) {
            is_fine = run_limited(resource, limit, is_launched);
        }
        EXPECT_TRUE(is_fine) << "does not run with the limit " << limits.back();
    }
};

TEST_P(LimitTest, of_address_space_is_reported_or_sufficient) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers need more address space than any limit leaves";
#endif
    constexpr rlim_t mib = 1024 * 1024;
    sweep(RLIMIT_AS,
          std::array<rlim_t, 9>{8 * mib, 16 * mib, 24 * mib, 32 * mib, 48 * mib, 64 * mib,
                                128 * mib, 512 * mib, 4096 * mib},
          GetParam());
}

TEST_P(LimitTest, of_the_size_of_files_is_reported_or_sufficient) {
    constexpr rlim_t kib = 1024;  // the program's own output goes to a file too
    sweep(RLIMIT_FSIZE,
          std::array<rlim_t, 5>{16 * kib, 100 * kib, 1024 * kib, 1024 * 1024 * kib, RLIM_INFINITY},
          GetParam());
}

TEST_P(LimitTest, of_descriptors_is_reported_or_sufficient) {
    sweep(RLIMIT_NOFILE, std::array<rlim_t, 12>{3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 256},
          GetParam());
}

TEST_P(LimitTest, of_processes_is_reported_or_sufficient) {
    is_user_nobody = geteuid() == 0;  // root has no such limit
    const std::string program = std::string(ACP_TEST_PROGRAM_DIR) + "/api_probe";
    for (auto path = std::filesystem::path(program); is_user_nobody && path.has_relative_path();
         path = path.parent_path()) {
        constexpr auto needed = std::filesystem::perms::others_exec;
        if ((std::filesystem::status(path).permissions() & needed) != needed) {
            is_user_nobody = false;
            GTEST_SKIP() << "an unprivileged user cannot start " << program << ": no way through "
                         << path;
        }
    }
    sweep(RLIMIT_NPROC, std::array<rlim_t, 8>{1, 2, 3, 4, 5, 6, 8, 4096}, GetParam());
    is_user_nobody = false;
}

INSTANTIATE_TEST_SUITE_P(launch, LimitTest, ::testing::Bool(), [](const auto& each) {
    return each.param ? "under_acprun" : "alone";
});

// A memory cgroup of the test's own, version 1 or 2; absent if the system does not allow it.
class MemoryGroup {
public:
    explicit MemoryGroup(const std::string& limit) {
        for (const char* root : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"}) {
            const bool is_first = std::strcmp(root, "/sys/fs/cgroup/memory") == 0;
            const std::filesystem::path folder =
                std::filesystem::path(root) / ("acp-test-" + std::to_string(getpid()));
            std::error_code error;
            if (!std::filesystem::create_directory(folder, error)) {
                reason_ = folder.string() + ": " + error.message();
                continue;
            }
            folder_ = folder;
            const char* file = is_first ? "memory.limit_in_bytes" : "memory.max";
            if (std::ofstream(folder / file) << limit << std::flush) {
                return;
            }
            reason_ = (folder / file).string() + " cannot be written";
            std::filesystem::remove(folder, error);
            folder_.clear();
        }
    }

    MemoryGroup(const MemoryGroup&) = delete;
    MemoryGroup& operator=(const MemoryGroup&) = delete;

    ~MemoryGroup() {
        if (!folder_.empty()) {
            rmdir(folder_.c_str());
        }
    }

    [[nodiscard]] bool is_made() const { return !folder_.empty(); }

    [[nodiscard]] const std::string& reason() const { return reason_; }

    [[nodiscard]] std::string members() const { return folder_ / "cgroup.procs"; }

private:
    std::filesystem::path folder_;
    std::string reason_;
};

char group_members[256];

void enter_group() {
    const int file = open(group_members, O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, "0", 1) != 1) {
        _exit(125);
    }
    close(file);
}

TEST_F(LifecycleTest, reports_a_memory_cgroup_with_too_little_for_the_starter_memory) {
    const MemoryGroup group("67108864");
    if (!group.is_made()) {
        GTEST_SKIP() << "no memory cgroup can be made: " << group.reason();
    }
    std::strncpy(group_members, group.members().c_str(), sizeof group_members - 1);
    JobOptions options;
    options.ranks = 2;
    options.launcher = {"--starter-size", "256M"};
    options.program = {std::string(ACP_TEST_PROGRAM_DIR) + "/api_probe", "fill_starter_memory"};
    options.before_exec = enter_group;
    const JobResult result = run_job(options);
    ASSERT_TRUE(result.code.has_value()) << result.output;
    EXPECT_NE(*result.code, 0) << "two starter memories of 256 MiB do not fit into 64 MiB";
    // An error; or, where memory is taken by its first access, a signal that a message has
    // explained.
    EXPECT_TRUE(*result.code < watchdog_exit_code ||
                result.output.find("a shortage then ends a rank by a signal") != std::string::npos)
        << result.output;
    EXPECT_NE(result.output.find("memory"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace acp::test

// From header_alone.c and header_alone.cpp.
extern "C" const char* acp_test_version_seen_by_c(void);
const char* acp_test_version_seen_by_cpp();

TEST(HeaderTest, compiles_alone_as_c11_and_as_cpp20) {
    EXPECT_STREQ(acp_test_version_seen_by_c(), acp_version());
    EXPECT_STREQ(acp_test_version_seen_by_cpp(), acp_version());
}
