// SPDX-License-Identifier: BSD-3-Clause
// The holes of a memory file are left out.
#include "os/file_data.hpp"

#include <array>
#include <gtest/gtest.h>

#include "os/memory_file.hpp"

namespace acp::os {
namespace {

constexpr std::uint64_t page = 4096;

TEST(FileData, is_the_first_part_of_a_range_that_has_memory) {
    auto made = create_memory_file("acp-test", 64 * page);
    ASSERT_TRUE(made.is_ok());
    const FileDescriptor file = std::move(made).value();
    const std::array<std::byte, 1> byte{std::byte{1}};
    for (const std::uint64_t place : {3 * page, 4 * page + 5, 60 * page})
        ASSERT_TRUE(write_at(file.get(), place, byte).is_ok());
    const auto expect = [&](FileRange range, FileRange data) {
        const FileRange found = first_data(file.get(), range);
        EXPECT_EQ(found.first, data.first);
        EXPECT_EQ(found.end, data.end);
    };
    expect({0, 64 * page}, {3 * page, 5 * page});
    expect({0, 4 * page}, {3 * page, 4 * page});
    expect({4 * page, 64 * page}, {4 * page, 5 * page});
    expect({5 * page, 64 * page}, {60 * page, 61 * page});
    expect({5 * page, 50 * page}, {50 * page, 50 * page});
    expect({61 * page, 64 * page}, {64 * page, 64 * page});
}

TEST(FileData, is_all_of_a_range_of_a_file_without_holes) {
    const FileRange found = first_data(-1, {5, 9});
    EXPECT_EQ(found.first, 5U);
    EXPECT_EQ(found.end, 9U);
}

}  // namespace
}  // namespace acp::os
