// SPDX-License-Identifier: BSD-3-Clause
// Cgroups of both versions, memory and resource limits, and the usable CPUs.
#include "os/limits.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include "os/cgroup.hpp"
#include "os/cpu.hpp"
#include "os/text_file.hpp"
#include "os/thread.hpp"

namespace acp::os {
namespace {

// A directory with files like those of a cgroup.
class FakeCgroup {
public:
    explicit FakeCgroup(bool is_v2)
        : directory_{testing::TempDir() + "cgroup_test_" + std::to_string(getpid()), is_v2} {
        std::filesystem::create_directories(directory_.path);
    }

    FakeCgroup(const FakeCgroup&) = delete;
    FakeCgroup& operator=(const FakeCgroup&) = delete;

    ~FakeCgroup() { std::filesystem::remove_all(directory_.path); }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(directory_.path + "/" + name) << text;
    }

    [[nodiscard]] const CgroupDirectory& directory() const { return directory_; }

private:
    CgroupDirectory directory_;
};

std::vector<std::string> paths(const std::vector<CgroupDirectory>& directories) {
    std::vector<std::string> list;
    for (const CgroupDirectory& directory : directories) {
        list.push_back((directory.is_v2 ? "v2 " : "v1 ") + directory.path);
    }
    return list;
}

using Paths = std::vector<std::string>;

TEST(Cgroup, is_followed_to_its_ancestors_in_version_2) {
    EXPECT_EQ(paths(cgroup_directories_from(
                  "cpu", "0::/a/b\n",
                  "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n")),
              (Paths{"v2 /sys/fs/cgroup/a/b", "v2 /sys/fs/cgroup/a", "v2 /sys/fs/cgroup"}));
}

TEST(Cgroup, is_found_by_its_controller_in_version_1) {
    const char* mounts =
        "31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "32 30 0:28 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
        "33 30 0:29 / /mnt rw - ext4 /dev/vda rw\n";
    const char* groups = "5:cpu,cpuacct:/job/7\n4:memory:/\n";
    EXPECT_EQ(paths(cgroup_directories_from("cpu", groups, mounts)),
              (Paths{"v1 /sys/fs/cgroup/cpu,cpuacct/job/7", "v1 /sys/fs/cgroup/cpu,cpuacct/job",
                     "v1 /sys/fs/cgroup/cpu,cpuacct"}));
    EXPECT_EQ(paths(cgroup_directories_from("memory", groups, mounts)),
              (Paths{"v1 /sys/fs/cgroup/memory"}));
    EXPECT_TRUE(cgroup_directories_from("cpuset", groups, mounts).empty());
}

TEST(Cgroup, is_looked_for_in_both_versions_at_once) {
    EXPECT_EQ(paths(cgroup_directories_from("memory", "4:memory:/m\n0::/\n",
                                            "1 0 0:1 / /cg/memory rw - cgroup cgroup rw,memory\n"
                                            "2 0 0:2 / /cg/unified rw - cgroup2 cgroup2 rw\n")),
              (Paths{"v1 /cg/memory/m", "v1 /cg/memory", "v2 /cg/unified"}));
}

TEST(Cgroup, is_found_in_a_container_that_sees_its_own_part_only) {
    EXPECT_EQ(paths(cgroup_directories_from("memory", "4:memory:/docker/abc\n",
                                            "1 0 0:1 /docker/abc /cg ro - cgroup cgroup memory\n")),
              (Paths{"v1 /cg"}));
    EXPECT_EQ(paths(cgroup_directories_from("memory", "0::/../other\n",
                                            "1 0 0:1 / /cg ro - cgroup2 cgroup2 ro\n")),
              (Paths{"v2 /cg"}));
}

TEST(Cgroup, grants_cpu_time_in_version_2) {
    const FakeCgroup cgroup(true);
    EXPECT_FALSE(cpu_quota_of(cgroup.directory()));
    cgroup.write("cpu.max", "max 100000\n");
    EXPECT_FALSE(cpu_quota_of(cgroup.directory()));
    cgroup.write("cpu.max", "150000 100000\n");
    EXPECT_EQ(cpu_quota_of(cgroup.directory()), 1.5);
}

TEST(Cgroup, grants_cpu_time_in_version_1) {
    const FakeCgroup cgroup(false);
    cgroup.write("cpu.cfs_period_us", "100000\n");
    cgroup.write("cpu.cfs_quota_us", "-1\n");
    EXPECT_FALSE(cpu_quota_of(cgroup.directory()));
    cgroup.write("cpu.cfs_quota_us", "50000\n");
    EXPECT_EQ(cpu_quota_of(cgroup.directory()), 0.5);
}

TEST(Cgroup, limits_memory_not_counting_pages_that_can_be_dropped) {
    const FakeCgroup second(true);
    second.write("memory.max", "max\n");
    EXPECT_FALSE(memory_limit_of(second.directory()));
    second.write("memory.max", "1000000\n");
    second.write("memory.current", "700000\n");
    second.write("memory.stat", "anon 600000\nfile 100000\ninactive_file 50000\n");
    const auto memory = memory_limit_of(second.directory());
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->limit_bytes, 1000000U);
    EXPECT_EQ(memory->usage_bytes, 650000U);
}

TEST(Cgroup, knows_how_version_1_writes_that_memory_is_not_limited) {
    const FakeCgroup first(false);
    first.write("memory.limit_in_bytes", "9223372036854771712\n");
    EXPECT_FALSE(memory_limit_of(first.directory()));
    first.write("memory.limit_in_bytes", "4096\n");
    first.write("memory.usage_in_bytes", "100\n");
    const auto memory = memory_limit_of(first.directory());
    ASSERT_TRUE(memory);
    EXPECT_EQ(memory->limit_bytes, 4096U);
    EXPECT_EQ(memory->usage_bytes, 100U);
}

TEST(TextFile, finds_numbers_by_the_line_they_are_in) {
    const char* text = "MemTotal:  10 kB\nMemTotalX: 11\nSwap 12\nlast 13";
    EXPECT_EQ(number_after(text, "MemTotal"), 10U);
    EXPECT_EQ(number_after(text, "MemTotalX"), 11U);
    EXPECT_EQ(number_after(text, "Swap"), 12U);
    EXPECT_EQ(number_after(text, "last"), 13U);
    EXPECT_FALSE(number_after(text, "Mem"));
    EXPECT_FALSE(number_after("", "Mem"));
    EXPECT_FALSE(leading_number("max"));
    EXPECT_FALSE(leading_number("99999999999999999999"));
    EXPECT_FALSE(read_text_file("/proc/no-such-file"));
}

TEST(Limits, leave_the_lesser_of_what_machine_and_cgroup_have) {
    MemoryLimits limits;
    EXPECT_EQ(limits.available_bytes(), unlimited);
    limits.machine_available_bytes = 500;
    EXPECT_EQ(limits.available_bytes(), 500U);
    limits.cgroup_limit_bytes = 1000;
    limits.cgroup_usage_bytes = 800;
    EXPECT_EQ(limits.available_bytes(), 200U);
    limits.cgroup_usage_bytes = 1100;
    EXPECT_EQ(limits.available_bytes(), 0U);
}

TEST(Limits, return_the_limits_of_this_machine) {
    const MemoryLimits limits = memory_limits();
    EXPECT_GT(limits.available_bytes(), 0U);
    EXPECT_NE(limits.machine_available_bytes, unlimited);
}

TEST(Limits, follow_the_soft_resource_limits) {
    rlimit old{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
    rlimit lower = old;
    lower.rlim_cur = 77;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
    EXPECT_EQ(resource_limits().descriptors, 77U);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
}

TEST(Limits, name_what_is_in_use_beside_what_is_allowed) {
    rlimit old{};
    ASSERT_EQ(getrlimit(RLIMIT_AS, &old), 0);
    rlimit lower = old;
    lower.rlim_cur = std::uint64_t{1} << 46;
    ASSERT_EQ(setrlimit(RLIMIT_AS, &lower), 0);
    const std::string text = memory_limit_text().data();
    const std::string needed = address_space_text(77);
    ASSERT_EQ(setrlimit(RLIMIT_AS, &old), 0);
    const std::string limit = "(RLIMIT_AS, ulimit -v): 70368744177664 bytes, of which ";
    EXPECT_THAT(text, testing::HasSubstr(limit));
    EXPECT_TRUE(text.ends_with(" are in use")) << text;
    EXPECT_THAT(needed, testing::HasSubstr(limit));
    EXPECT_TRUE(needed.ends_with(" are in use and 77 more are needed")) << needed;
}

TEST(Cpu, counts_what_the_affinity_mask_allows) {
    const int all = affinity_count();
    EXPECT_GE(all, 1);
    EXPECT_GE(usable_cpus(), 1);
    EXPECT_LE(usable_cpus(), all);
    for (const int nth : {0, all - 1, all, 5 * all + 1}) {
        int bound_to = 0;
        int cpu_before_next = -1;
        Status status;
        auto thread = Thread::start("pinned", [&] {
            status = pin_to_cpu(nth);
            bound_to = affinity_count();
            cpu_before_next = current_cpu();
        });
        ASSERT_TRUE(thread.is_ok()) << thread.failure().message();
        thread.value().join();
        EXPECT_TRUE(status.is_ok()) << status.message();
        EXPECT_EQ(bound_to, 1);
        EXPECT_GE(cpu_before_next, 0);
    }
    EXPECT_EQ(affinity_count(), all) << "only the pinned thread was bound";
    EXPECT_EQ(pin_to_cpu(-1).code(), base::Code::argument);
}

TEST(Cpu, returns_the_count_of_the_kernel) {
    [[maybe_unused]] const std::string info = read_text_file("/proc/cpuinfo").value_or("");
#if defined(__x86_64__)
    const auto is_listed = [&](const char* flag) { return info.find(flag) != std::string::npos; };
#else
    // an emulator shows the host's list
    const auto is_listed = [](const char*) { return false; };
#endif
    EXPECT_EQ(has_fast_short_rep_mov(), is_listed(" fsrm"));
    EXPECT_EQ(has_carryless_multiply(), is_listed(" pclmulqdq") && is_listed(" ssse3"));
    EXPECT_EQ(has_byte_shuffle(), is_listed(" ssse3") && is_listed(" popcnt"));
    EXPECT_EQ(has_byte_compress(), is_listed(" avx512bw") && is_listed(" avx512_vbmi2") &&
                                       is_listed(" bmi1") && is_listed(" bmi2") &&
                                       is_listed(" popcnt"));
    const std::uint64_t cache = last_level_cache_bytes();
    EXPECT_TRUE(cache == 0 || cache >= 16 * 1024) << cache;
}

// namespace acp::os
}  // namespace
}  // namespace acp::os
