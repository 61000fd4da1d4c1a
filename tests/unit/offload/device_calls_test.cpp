// SPDX-License-Identifier: BSD-3-Clause
// Calls that are commands, of one rank in this process and its device processes: the states of a
// call, names in messages, refused memory, deaths, and objects that are used again.
#include "offload/device_calls.hpp"

#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <memory>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

#include "offload/device_table.hpp"

#include "../gma/ranks_in_process.hpp"
#include "support/refuse_memory.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::offload {
namespace {

using base::Code;
using call::CallArguments;

class DeviceCallsTest : public ::testing::Test {
protected:
    void SetUp() override {
        const node::Segment& segment = ranks_.node();
        StartPlan plan;
        plan.program = ACP_TEST_BIN_DIR "/acp-worker";
        plan.device = segment.file();
        plan.device_bytes = segment.layout().total;
        auto created = table_.create_process(plan);
        ASSERT_TRUE(created.is_ok()) << created.failure().message();
        number_ = created.value();
        process_ = table_.process(number_).value();
        library_ = process_->load(ACP_TEST_DEVICE_FUNCTIONS).value();
        where_ = table_.context(table_.open_context(number_).value()).value();
        words_ = reinterpret_cast<std::atomic<std::uint64_t>*>(ranks_.starter(0));
    }

    std::uint64_t symbol(const char* name) {
        const std::uint64_t address = process_->find_symbol(library_, name).value();
        calls_->names().add(process_->process(), address, name);
        return address;
    }

    // The offset of a word of the starter memory in the device memory.
    [[nodiscard]] std::uint64_t offset(int index) const {
        return static_cast<std::uint64_t>(reinterpret_cast<const char*>(words_ + index) -
                                          ranks_.node().base());
    }

    gma::Handle issue(std::uint64_t function,
                      const CallArguments& arguments,
                      std::uint64_t* result = nullptr,
                      gma::Handle order = gma::handle_null) {
        auto issued = calls_->issue(where_, function, arguments, result, order);
        EXPECT_TRUE(issued.is_ok()) << issued.failure().message();
        return issued.is_ok() ? issued.value() : gma::handle_null;
    }

    CallArguments sum_of(std::uint64_t a, std::uint64_t b) {
        CallArguments arguments;
        EXPECT_TRUE(arguments.set_integer(0, a).is_ok());
        EXPECT_TRUE(arguments.set_integer(1, b).is_ok());
        return arguments;
    }

    // A call that runs until release().
    gma::Handle issue_endless() {
        CallArguments arguments;
        EXPECT_TRUE(arguments.set_address(0, offset(60)).is_ok());
        EXPECT_TRUE(arguments.set_address(1, offset(61)).is_ok());
        return issue(symbol("wait_for"), arguments);
    }

    void await_endless() const {
        while (words_[60] == 0) sched_yield();
    }

    void release() const { words_[61] = 1; }

    base::Status finish(gma::Handle handle) { return gma::test::finish(ranks_[0], handle); }

    test::ScopedWatchdog watchdog_{"calls that are commands"};
    gma::test::Ranks ranks_{base::IntraNode::automatic, 1, 1};
    DeviceTable table_{0};
    std::unique_ptr<DeviceCalls> calls_ =
        std::make_unique<DeviceCalls>(*ranks_[0].gma, ranks_[0].member, " by rank 0 on here");
    std::uint64_t number_ = 0;
    std::shared_ptr<WorkerProcess> process_;
    std::uint64_t library_ = 0;
    OpenContext where_;
    std::atomic<std::uint64_t>* words_ = nullptr;
};

TEST_F(DeviceCallsTest, end_with_the_result_of_their_function_and_their_objects_are_used_again) {
    const std::uint64_t add = symbol("add");
    for (std::uint64_t i = 0; i < 2000; ++i) {
        std::uint64_t result = 0;
        const gma::Handle handle = issue(add, sum_of(i, 2 * i), &result);
        ASSERT_TRUE(finish(handle).is_ok());
        ASSERT_EQ(result, 3 * i);
    }
}

TEST_F(DeviceCallsTest, wait_for_room_in_the_ring_and_begin_in_their_order) {
    constexpr std::size_t count = 1000;
    std::vector<std::uint64_t> results(count);
    const std::uint64_t count_up = symbol("count_up");
    CallArguments arguments;
    ASSERT_TRUE(arguments.set_address(0, offset(1)).is_ok());
    issue_endless();
    gma::Handle last = gma::handle_null;
    for (std::uint64_t& result : results) last = issue(count_up, arguments, &result);
    release();
    ASSERT_TRUE(finish(last).is_ok());
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(results[i], i + 1);
}

TEST_F(DeviceCallsTest, name_the_function_if_the_program_has_looked_it_up) {
    const gma::Handle named = issue(symbol("throw_something"), {});
    const base::Status failure = finish(named);
    EXPECT_EQ(failure.code(), Code::exception);
    const std::string place = "context 1 of process " + std::to_string(process_->process());
    EXPECT_EQ(failure.message(),
              "acp_call by rank 0 on here: the function was ended by an exception of C++; it is "
              "throw_something, " +
                  place + ", device 0");
    FunctionNames names;
    names.add(7, 16, "name");
    EXPECT_EQ(names.name_of(7, 16), "name");
    EXPECT_EQ(names.name_of(8, 16), "at 0x10") << "another process";
    for (std::uint64_t i = 0; i < 5000; ++i) names.add(7, 1000 + i, "other");
    EXPECT_EQ(names.name_of(7, 1000 + 4999), "at " + std::string("0x176f")) << "names have a limit";
}

TEST_F(DeviceCallsTest, are_cancelled_before_they_begin_and_in_the_ring) {
    const gma::Handle running = issue_endless();
    const gma::Handle posted = issue(symbol("add"), sum_of(1, 2));
    const gma::Handle ordered = issue(symbol("add"), sum_of(1, 2), nullptr, running);
    await_endless();
    gma::LayerIssuer& commands = ranks_[0].gma->layer_commands();
    EXPECT_EQ(commands.cancel(running), std::optional(false));
    EXPECT_EQ(commands.cancel(posted), std::optional(true));
    EXPECT_EQ(commands.cancel(ordered), std::optional(true));
    release();
    EXPECT_TRUE(finish(running).is_ok());
    EXPECT_EQ(finish(posted).code(), Code::cancelled);
    EXPECT_EQ(finish(ordered).code(), Code::cancelled);
}

TEST_F(DeviceCallsTest, fail_with_the_death_of_their_process_in_the_ring_and_before_it) {
    std::vector<gma::Handle> handles{issue_endless()};
    const std::uint64_t add = symbol("add");
    for (int i = 0; i < 200; ++i) handles.push_back(issue(add, sum_of(1, 2)));
    await_endless();
    ASSERT_EQ(kill(process_->process(), SIGKILL), 0);
    for (const gma::Handle handle : handles) {
        const base::Status status = finish(handle);
        EXPECT_EQ(status.code(), Code::peer);
        EXPECT_NE(status.message().find("acp_call by rank 0 on here"), std::string::npos)
            << status.message();
        EXPECT_NE(status.message().find("killed by signal 9"), std::string::npos);
    }
    EXPECT_EQ(finish(issue(add, sum_of(1, 2))).code(), Code::peer);
}

TEST_F(DeviceCallsTest, without_memory_are_not_issued_or_fail_and_none_is_lost) {
    const std::uint64_t add = symbol("add");
    ASSERT_TRUE(finish(issue(add, sum_of(1, 2))).is_ok());
    const gma::Handle running = issue_endless();
    await_endless();
    int refused = 0;
    std::vector<gma::Handle> handles;
    for (std::uint64_t k = 1; k <= 40; ++k) {
        const CallArguments arguments = sum_of(k, 2);
        auto issued = [&] {
            const test::Refusal refusal(k);
            return calls_->issue(where_, add, arguments, nullptr, gma::handle_null);
        }();
        if (issued.is_ok()) {
            handles.push_back(issued.value());
        } else {
            EXPECT_EQ(issued.failure().code(), Code::memory);
            ++refused;
        }
    }
    EXPECT_GT(refused, 0);
    release();
    EXPECT_TRUE(finish(running).is_ok());
    for (const gma::Handle handle : handles) EXPECT_TRUE(finish(handle).is_ok());
}

TEST_F(DeviceCallsTest, end_while_no_thread_of_the_program_waits) {
    CallArguments arguments;
    ASSERT_TRUE(arguments.set_address(0, offset(2)).is_ok());
    const std::uint64_t count_up = symbol("count_up");
    for (std::uint64_t i = 1; i <= 200; ++i) {
        std::uint64_t result = 0;
        gma::Handle last = issue(count_up, arguments, &result);
        last = issue(count_up, arguments, nullptr, last);
        while (words_[2] != 2 * i) sched_yield();
        ASSERT_TRUE(finish(last).is_ok());
        EXPECT_EQ(result, 2 * i - 1);
    }
}

TEST_F(DeviceCallsTest, of_a_destroyed_process_fail_when_their_turn_comes) {
    const gma::Handle running = issue_endless();
    const OpenContext other = table_.context(table_.open_context(number_).value()).value();
    const std::uint64_t add = symbol("add");
    auto late = calls_->issue(other, add, sum_of(1, 2), nullptr, running);
    ASSERT_TRUE(late.is_ok());
    await_endless();
    release();
    process_ = nullptr;
    where_ = {};
    ASSERT_TRUE(table_.destroy_process(number_).is_ok());
    EXPECT_TRUE(finish(running).is_ok());
    // It began before the context was closed, or not.
    const Code code = finish(late.value()).code();
    EXPECT_TRUE(code == Code::ok || code == Code::stale || code == Code::peer);
}

TEST_F(DeviceCallsTest, of_several_threads_and_contexts_end_once) {
    constexpr int threads = 4;
    constexpr std::uint64_t rounds = 500;
    const std::uint64_t add = symbol("add");
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
        const OpenContext own = table_.context(table_.open_context(number_).value()).value();
        all.emplace_back([this, own, add] {
            for (std::uint64_t i = 0; i < rounds; ++i) {
                std::uint64_t first = 0, second = 0;
                const auto one = calls_->issue(where_, add, sum_of(i, 1), &first, gma::handle_null);
                const auto two = calls_->issue(own, add, sum_of(i, 2), &second, one.value());
                ASSERT_TRUE(finish(two.value()).is_ok());
                EXPECT_EQ(first, i + 1);
                EXPECT_EQ(second, i + 2);
            }
        });
    }
    for (std::thread& thread : all) thread.join();
}

}  // namespace
}  // namespace acp::offload
