// SPDX-License-Identifier: BSD-3-Clause
// The table of a rank's device processes: numbers name one thing for ever, and the table ends what
// was not destroyed.
#include "offload/device_table.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "os/memory_file.hpp"

#include "support/scoped_watchdog.hpp"

namespace acp::offload {
namespace {

using base::Code;

const StartPlan plan{ACP_TEST_BIN_DIR "/acp-worker"};

class Devices : public ::testing::Test {
protected:
    std::uint64_t create() {
        auto created = table_->create_process(plan);
        EXPECT_TRUE(created.is_ok()) << created.failure().message();
        return created.value();
    }

    std::uint64_t open(std::uint64_t process) {
        auto opened = table_->open_context(process);
        EXPECT_TRUE(opened.is_ok()) << opened.failure().message();
        return opened.value();
    }

    test::ScopedWatchdog watchdog_{"a table of device processes"};
    std::unique_ptr<DeviceTable> table_ = std::make_unique<DeviceTable>(100);
};

TEST_F(Devices, have_numbers_that_go_on_from_those_given_before) {
    const std::uint64_t process = create();
    EXPECT_EQ(process, 101U);
    EXPECT_EQ(open(process), 102U);
    EXPECT_EQ(table_->create_arguments().value(), 103U);
    EXPECT_EQ(table_->numbers_given(), 103U);
    EXPECT_EQ(table_->context(process).failure().code(), Code::stale) << "another kind";
    EXPECT_EQ(table_->arguments(102).failure().code(), Code::stale);
    EXPECT_EQ(table_->process(103).failure().code(), Code::stale);
    EXPECT_EQ(table_->create_process({"/no/such/program"}).failure().code(), Code::argument);
    EXPECT_EQ(table_->numbers_given(), 103U);
}

TEST_F(Devices, are_stale_once_they_have_ended) {
    const std::uint64_t process = create();
    const std::uint64_t closed = open(process);
    const std::uint64_t left_open = open(process);
    const std::uint64_t arguments = table_->create_arguments().value();
    EXPECT_TRUE(table_->close_context(closed).is_ok());
    EXPECT_EQ(table_->close_context(closed).code(), Code::stale);
    EXPECT_TRUE(table_->free_arguments(arguments).is_ok());
    EXPECT_EQ(table_->free_arguments(arguments).code(), Code::stale);
    auto ended = table_->destroy_process(process);
    ASSERT_TRUE(ended.is_ok());
    EXPECT_EQ(ended.value()->shell_code(), 0);
    EXPECT_EQ(table_->destroy_process(process).failure().code(), Code::stale);
    EXPECT_EQ(table_->context(left_open).failure().code(), Code::stale);
    EXPECT_EQ(table_->open_context(process).failure().code(), Code::stale);
}

TEST_F(Devices, that_were_killed_are_destroyed_with_their_signal) {
    const std::uint64_t process = create();
    const std::uint64_t context = open(process);
    kill(table_->process(process).value()->process(), SIGTERM);
    while (!table_->process(process).value()->end().has_ended()) std::this_thread::yield();
    EXPECT_EQ(table_->close_context(context).code(), Code::peer);
    EXPECT_EQ(table_->close_context(context).code(), Code::stale) << "closed all the same";
    EXPECT_EQ(table_->destroy_process(process).value()->shell_code(), 128 + SIGTERM);
}

TEST_F(Devices, have_device_memory_at_one_address_which_is_the_ranks_too) {
    constexpr std::uint64_t bytes = 3 * 4096 + 8;
    auto file = os::create_memory_file("device", bytes);
    ASSERT_TRUE(file.is_ok());
    EXPECT_EQ(table_->device_memory(), nullptr);
    std::vector<std::uint64_t> processes;
    for (int i = 0; i < 2; ++i) {
        StartPlan with_memory = plan;
        with_memory.device = file.value().get();
        with_memory.device_bytes = bytes;
        auto created = table_->create_process(with_memory);
        ASSERT_TRUE(created.is_ok()) << created.failure().message();
        processes.push_back(created.value());
    }
    auto* const word = reinterpret_cast<std::uint64_t*>(table_->device_memory() + bytes - 8);
    *word = 6;
    for (const std::uint64_t process : processes) {
        auto& device = *table_->process(process).value();
        const std::uint64_t library = device.load(ACP_TEST_DEVICE_FUNCTIONS).value();
        const std::uint64_t function = device.find_symbol(library, "count_up").value();
        const OpenContext opened = table_->context(open(process)).value();
        call::CallArguments arguments;
        ASSERT_TRUE(arguments.set_integer(0, reinterpret_cast<std::uintptr_t>(word)).is_ok());
        auto call = opened.context->post(call::WorkerOperation::function, function, arguments);
        EXPECT_EQ(opened.context->wait(call.value()).value().end, call::CallEnd::returned);
    }
    EXPECT_EQ(*word, 8U);
    std::uint64_t in_file = 0;
    EXPECT_EQ(pread(file.value().get(), &in_file, 8, bytes - 8), 8);
    EXPECT_EQ(in_file, 8U);
}

TEST_F(Devices, end_with_the_table_and_a_thread_that_waits_returns) {
    const std::uint64_t process = create();
    const std::uint64_t context = open(process);
    kill(table_->process(process).value()->process(), SIGSTOP);
    const OpenContext held = table_->context(context).value();
    const auto call = held.context->post(call::WorkerOperation::function, 1, {});
    std::thread waiter(
        [&] { EXPECT_EQ(held.context->wait(call.value()).value().end, call::CallEnd::ended); });
    table_.reset();
    waiter.join();
    EXPECT_TRUE(held.process->end().has_ended());
}

}  // namespace
}  // namespace acp::offload
