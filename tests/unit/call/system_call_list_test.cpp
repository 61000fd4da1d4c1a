// SPDX-License-Identifier: BSD-3-Clause
// The table of system calls: its numbers are those of the kernel's headers, and its rows make
// sense.
#include "call/system_call_list.hpp"

#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <sys/syscall.h>

#include "call/system_call_record.hpp"

namespace acp::call {
namespace {

TEST(SystemCallList, carries_more_than_120_calls) {
    std::map<Delegation, int> counts;
    for (const SystemCallRow& row : system_call_rows) ++counts[row.delegation];
    EXPECT_GE(counts[Delegation::carried], 120);
    EXPECT_GE(counts[Delegation::staying], 100);
    EXPECT_GT(counts[Delegation::refused], 0);
}

TEST(SystemCallList, names_each_call_and_each_number_once) {
    std::set<std::string_view> names;
    std::set<int> numbers;
    std::set<int> elsewhere;
    for (const SystemCallRow& row : system_call_rows) {
        EXPECT_TRUE(names.insert(row.name.text()).second) << row.name.text();
        EXPECT_TRUE(row.number < 0 || numbers.insert(row.number).second) << row.name.text();
        EXPECT_TRUE(row.number_elsewhere < 0 || elsewhere.insert(row.number_elsewhere).second)
            << row.name.text();
        EXPECT_TRUE(row.number >= 0 || row.number_elsewhere >= 0) << row.name.text();
        EXPECT_EQ(row.reason == Reason::none, row.delegation == Delegation::carried)
            << row.name.text();
    }
}

TEST(SystemCallList, has_the_numbers_of_this_machine) {
    EXPECT_EQ(number_of(SystemCall::read), SYS_read);
    EXPECT_EQ(number_of(SystemCall::write), SYS_write);
    EXPECT_EQ(number_of(SystemCall::openat), SYS_openat);
    EXPECT_EQ(number_of(SystemCall::newfstatat), SYS_newfstatat);
    EXPECT_EQ(number_of(SystemCall::mq_timedreceive), SYS_mq_timedreceive);
    EXPECT_EQ(number_of(SystemCall::getrandom), SYS_getrandom);
    EXPECT_EQ(number_of(SystemCall::statx), SYS_statx);
    EXPECT_EQ(number_of(SystemCall::exit_group), SYS_exit_group);
    EXPECT_EQ(number_of(SystemCall::rt_sigreturn), SYS_rt_sigreturn);
    EXPECT_EQ(number_of(SystemCall::setns), SYS_setns);
    for (std::size_t i = 0; i < system_call_count; ++i) {
        const auto call = static_cast<SystemCall>(i);
        if (number_of(call) < 0) continue;
        SystemCall found{};
        ASSERT_TRUE(find_system_call(static_cast<std::uint64_t>(number_of(call)), found));
        EXPECT_EQ(found, call) << row_of(call).name.text();
    }
    SystemCall found{};
    EXPECT_FALSE(find_system_call(system_call_numbers, found));
    EXPECT_FALSE(find_system_call(~std::uint64_t{0}, found));
}

TEST(SystemCallList, counts_bytes_by_words_that_are_no_addresses) {
    for (const SystemCallRow& row : system_call_rows) {
        for (const ArgumentRow& argument : row.arguments) {
            if (argument.extent == ArgumentExtent::fixed) continue;
            const ArgumentRow& counter = row.arguments[argument.word];
            const bool is_length = argument.passing == Passing::up_to;
            EXPECT_EQ(counter.passing, is_length ? Passing::length : Passing::value)
                << row.name.text();
        }
    }
}

TEST(SystemCallList, leaves_requests_in_the_device_process_that_it_does_not_know) {
    ArgumentRow argument;
    SystemCallWords words{0, 0x541b, 0, 0, 0, 0};  // FIONREAD
    EXPECT_TRUE(find_argument(SystemCall::ioctl, words, 2, argument));
    EXPECT_EQ(argument.passing, Passing::out);
    words[1] = 0x8912;  // SIOCGIFCONF: an address in a structure
    EXPECT_FALSE(find_argument(SystemCall::ioctl, words, 2, argument));
    words = {0, 6, 35, 0, 0, 0};  // TCP_ZEROCOPY_RECEIVE: the same
    EXPECT_FALSE(find_argument(SystemCall::getsockopt, words, 3, argument));
    words = {0, 17, 0, 0, 0, 0};  // F_GETOWNER_UIDS: writes to its argument
    EXPECT_FALSE(find_argument(SystemCall::fcntl, words, 2, argument));
    words = {0, 1024, 0, 0, 0, 0};  // F_SETLEASE: the signal would go to the executor
    EXPECT_FALSE(find_argument(SystemCall::fcntl, words, 2, argument));
    words = {0, 3, 0, 0, 0, 0};  // F_GETFL
    EXPECT_TRUE(find_argument(SystemCall::fcntl, words, 2, argument));
    EXPECT_EQ(argument.passing, Passing::value);
}

}  // namespace
}  // namespace acp::call
