// SPDX-License-Identifier: BSD-3-Clause
// A trace is a file per rank with a line per command, whole also when threads write at once.
#include "gma/trace.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "support/child_process.hpp"

namespace acp::gma {
namespace {

// Microseconds with three decimals, a space, and this.
bool is_line(const std::string& line, const std::string& rest) {
    const std::size_t point = line.find('.');
    const bool has_time = point != std::string::npos && point > 0 &&
                          line.find_first_not_of("0123456789") == point &&
                          line.find_first_not_of("0123456789", point + 1) == point + 4;
    return has_time && line.substr(point + 4) == " " + rest;
}

class TraceTest : public testing::Test {
protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "acp-trace-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
    }

    void TearDown() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string prefix() const { return (folder_ / "t").string(); }

    [[nodiscard]] std::vector<std::string> lines(std::uint32_t rank) const {
        std::ifstream file(prefix() + "." + std::to_string(rank));
        std::vector<std::string> lines;
        for (std::string line; std::getline(file, line);) lines.push_back(line);
        return lines;
    }

    std::filesystem::path folder_;
};

// After a crash its reader needs the last lines before it.
TEST_F(TraceTest, each_line_is_in_the_file_at_once) {
    auto trace = Trace::open(prefix(), 0);
    ASSERT_TRUE(trace.is_ok()) << trace.failure().message();
    for (std::size_t count = 1; count <= 20; ++count) {
        trace.value()->record({}, "direct", 0);
        EXPECT_EQ(lines(0).size(), 1 + count);
    }
}

TEST_F(TraceTest, a_command_that_a_layer_carries_out_has_a_line_with_its_description) {
    auto trace = Trace::open(prefix(), 3);
    ASSERT_TRUE(trace.is_ok()) << trace.failure().message();
    trace.value()->record_layer("add, context 1 of process 7, device 0");
    ASSERT_EQ(lines(3).size(), 2U);
    EXPECT_TRUE(
        is_line(lines(3)[1], "3 3 call 0 layer 0x0 0x0 add, context 1 of process 7, device 0"))
        << lines(3)[1];
}

TEST_F(TraceTest, an_epoch_adds_to_what_those_before_it_wrote) {
    for (const bool is_continued : {false, true, true}) {
        auto trace = Trace::open(prefix(), 2, is_continued);
        ASSERT_TRUE(trace.is_ok()) << trace.failure().message();
        trace.value()->record({}, "direct", 2);
    }
    EXPECT_EQ(lines(2).size(), 6U) << "a heading and a line of each";
    ASSERT_TRUE(Trace::open(prefix(), 2).is_ok());
    EXPECT_EQ(lines(2).size(), 1U) << "a new program begins anew";
}

TEST_F(TraceTest, has_a_line_for_each_command_with_its_mover_and_its_initiator) {
    {
        auto trace = Trace::open(prefix(), 3);
        ASSERT_TRUE(trace.is_ok()) << trace.failure().message();
        memory::Command command;
        command.bytes = 4096;
        command.target = 0x10;
        command.source = 0xabc;
        trace.value()->record(command, "direct", 1);
        command.operation = memory::Operation::bit_and;
        command.bytes = 8;
        trace.value()->record(command, "udp", 3);
    }
    const auto all = lines(3);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0], "# us mover initiator operation bytes path target source");
    EXPECT_TRUE(is_line(all[1], "3 1 copy 4096 direct 0x10 0xabc")) << all[1];
    EXPECT_TRUE(is_line(all[2], "3 3 and 8 udp 0x10 0xabc")) << all[2];
}

TEST_F(TraceTest, lines_of_several_threads_do_not_mix) {
    constexpr int threads = 4;
    constexpr int each = 500;
    {
        auto trace = Trace::open(prefix(), 0);
        ASSERT_TRUE(trace.is_ok());
        std::vector<std::thread> writers;
        for (int i = 0; i < threads; ++i) {
            writers.emplace_back([&] {
                for (int left = each; left > 0; --left) trace.value()->record({}, "direct", 7);
            });
        }
        for (std::thread& writer : writers) writer.join();
    }
    const auto all = lines(0);
    ASSERT_EQ(all.size(), 1U + threads * each);
    for (std::size_t i = 1; i < all.size(); ++i)
        ASSERT_TRUE(is_line(all[i], "0 7 copy 0 direct 0x0 0x0")) << all[i];
}

TEST_F(TraceTest, a_full_disk_is_reported_once) {
    std::filesystem::create_symlink("/dev/full", prefix() + ".5");
    testing::internal::CaptureStderr();
    {
        auto trace = Trace::open(prefix(), 5);
        ASSERT_TRUE(trace.is_ok()) << trace.failure().message();
        for (int i = 0; i < 3; ++i) trace.value()->record({}, "direct", 0);
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(
        said.find("ACP_TRACE: " + prefix() + ".5 is cut short, lines are missing: No space left"),
        std::string::npos)
        << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST_F(TraceTest, the_size_of_files_that_a_process_may_write_ends_the_trace_and_not_the_process) {
    test::ChildProcess child([&] {
        const rlimit limit{100, 100};
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 100;
        auto trace = Trace::open(prefix(), 5);
        if (!trace.is_ok()) return 1;
        for (int i = 0; i < 5; ++i) trace.value()->record({}, "direct", 0);
        return 0;
    });
    EXPECT_EQ(child.exit_code(), 0);
    EXPECT_EQ(std::filesystem::file_size(prefix() + ".5"), 100U);
}

TEST_F(TraceTest, a_place_that_cannot_be_written_is_named) {
    const auto trace = Trace::open((folder_ / "missing" / "t").string(), 5);
    ASSERT_FALSE(trace.is_ok());
    EXPECT_EQ(trace.failure().code(), base::Code::config);
    EXPECT_NE(std::string(trace.failure().message()).find("missing/t.5"), std::string::npos);
}

}  // namespace
}  // namespace acp::gma
