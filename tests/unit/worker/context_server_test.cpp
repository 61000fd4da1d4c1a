// SPDX-License-Identifier: BSD-3-Clause
// The server of a context, in a thread of the test: what it calls, refuses, and answers after
// faults and exceptions.
#include "worker/context_server.hpp"

#include <array>
#include <csignal>
#include <gtest/gtest.h>
#include <memory>
#include <sched.h>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "os/futex.hpp"

#include "call/arguments.hpp"
#include "support/effort.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::worker {
namespace {

using call::CallArguments;
using call::CallEnd;
using call::ResultKind;
using call::WorkerOperation;

double half_of(double value) {
    return value / 2;
}

std::uint64_t next_to(std::uint64_t value) {
    return value + 1;
}

std::uint64_t count_of(const char* text, std::uint64_t bytes) {
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < bytes; ++i) count += text[i] == 'x' ? 1U : 0U;
    return count;
}

void fault() {
    static volatile char* volatile nowhere = nullptr;
    *nowhere = 1;
}

[[noreturn]] void throw_something() {
    throw std::runtime_error("something");
}

class ServedContext : public ::testing::Test {
protected:
    void SetUp() override {
        memory_ = static_cast<std::byte*>(
            std::aligned_alloc(call::slot_bytes, call::ring_bytes(slots) + staging_bytes));
        std::fill_n(memory_, call::ring_bytes(slots) + staging_bytes, std::byte{0});
        view_ = call::RingView<>::of(memory_, slots);
        client_ = std::make_unique<call::RingClient<>>(view_);
        server_ = std::thread([this] {
            auto guard = os::FaultGuard::create();
            ASSERT_TRUE(guard.is_ok());
            ContextServer server(
                view_, {{staging(), staging_bytes}, std::as_writable_bytes(std::span(device_))},
                *guard.value(),
                [this](WorkerOperation operation, std::uint64_t target,
                       const call::FunctionArguments& arguments) {
                    operations_.push_back(operation);
                    return OperationResult{CallEnd::returned, target + arguments.count,
                                           operation == WorkerOperation::leave};
                });
            server.serve();
        });
    }

    void TearDown() override {
        if (server_.joinable()) {
            EXPECT_EQ(run(0, {}, WorkerOperation::close).outcome, CallEnd::returned);
            server_.join();
        }
        std::free(memory_);
    }

    std::byte* staging() { return memory_ + call::ring_bytes(slots); }

    call::CallAnswer post(const call::CallRequest& request) {
        const auto posted = client_->post(request);
        if (posted->is_server_asleep)
            (void)os::futex_wake(client_->head().server_bell.word(), os::everybody);
        for (;;) {
            if (const auto answer = client_->take()) return *answer;
            sched_yield();
        }
    }

    call::CallAnswer run(std::uint64_t target,
                         const CallArguments& arguments,
                         WorkerOperation operation = WorkerOperation::function) {
        return post(arguments.encode(target, static_cast<std::uint8_t>(operation), staging(), 0));
    }

    template <typename Function>
    call::CallAnswer call_of(Function* function, const CallArguments& arguments = {}) {
        return run(reinterpret_cast<std::uintptr_t>(function), arguments);
    }

    static constexpr std::uint32_t slots = 4;
    static constexpr std::uint64_t staging_bytes = 8192;

    test::ScopedWatchdog watchdog_{"a context's server"};
    std::array<std::uint64_t, 8> device_{};
    std::byte* memory_ = nullptr;
    call::RingView<> view_;
    std::unique_ptr<call::RingClient<>> client_;
    std::vector<WorkerOperation> operations_;
    std::thread server_;
};

TEST_F(ServedContext, calls_functions_with_their_arguments) {
    CallArguments arguments;
    ASSERT_TRUE(arguments.set_integer(0, 41).is_ok());
    EXPECT_EQ(call_of(next_to, arguments).result, 42U);
    arguments.clear();
    ASSERT_TRUE(arguments.set_double(0, 5).is_ok());
    arguments.set_result(ResultKind::real);
    EXPECT_EQ(std::bit_cast<double>(call_of(half_of, arguments).result), 2.5);
    std::string text = "axbxx";
    arguments.clear();
    ASSERT_TRUE(arguments.set_buffer(0, call::Intent::in, text.data(), text.size()).is_ok());
    ASSERT_TRUE(arguments.set_integer(1, text.size()).is_ok());
    EXPECT_EQ(call_of(count_of, arguments).result, 3U);
}

TEST_F(ServedContext, serves_on_after_faults_and_exceptions) {
    for (int i = 0; i < 3; ++i) {
        if (!test::is_sanitized) {
            const call::CallAnswer faulted = call_of(fault);
            EXPECT_EQ(faulted.outcome, CallEnd::faulted);
            EXPECT_EQ(faulted.result, static_cast<std::uint64_t>(SIGSEGV));
        }
        EXPECT_EQ(call_of(throw_something).outcome, CallEnd::thrown);
        CallArguments arguments;
        ASSERT_TRUE(arguments.set_integer(0, 1).is_ok());
        EXPECT_EQ(call_of(next_to, arguments).result, 2U);
    }
}

TEST_F(ServedContext, refuses_what_it_cannot_decode) {
    CallArguments arguments;
    ASSERT_TRUE(arguments.set_address(0, 64).is_ok());
    EXPECT_EQ(call_of(next_to, arguments).outcome, CallEnd::refused)
        << "the device memory ends there";
    call::CallRequest request;
    request.shape = call::CallShape{0, ResultKind::integer, 300, 0}.word();
    EXPECT_EQ(post(request).outcome, CallEnd::refused);
}

TEST_F(ServedContext, answers_a_call_without_arguments_or_result) {
    static bool has_run = false;
    EXPECT_EQ(call_of(+[] { has_run = true; }).outcome, CallEnd::returned);
    EXPECT_TRUE(has_run);
}

TEST_F(ServedContext, hands_operations_to_its_owner_and_ends_with_the_last_one) {
    CallArguments arguments;
    ASSERT_TRUE(arguments.set_integer(0, 1).is_ok());
    EXPECT_EQ(run(10, arguments, WorkerOperation::symbol).result, 11U);
    EXPECT_EQ(run(20, {}, WorkerOperation::leave).result, 20U);
    server_.join();
    EXPECT_EQ(operations_, (std::vector{WorkerOperation::symbol, WorkerOperation::leave}));
}

TEST_F(ServedContext, wakes_for_a_call_that_comes_while_it_sleeps) {
    CallArguments arguments;
    ASSERT_TRUE(arguments.set_integer(0, 1).is_ok());
    for (int i = 0; i < 20; ++i) {
        // The server announces its sleep when it has polled for its time.
        while ((view_.head->server_bell.word().load(std::memory_order_acquire) & 1U) == 0)
            sched_yield();
        EXPECT_EQ(call_of(next_to, arguments).result, 2U);
    }
}

// Offsets are the client's words: bad ones ring nothing.
TEST_F(ServedContext, rings_the_bells_of_its_client_when_that_has_announced_a_sleep) {
    auto& bell = *reinterpret_cast<sync::Bell<>*>(&device_[2]);
    auto& head = client_->head();
    for (const std::uint64_t bad : std::array<std::uint64_t, 4>{3, 64, 62, ~std::uint64_t{0}}) {
        head.owner_bells[0].store(bad);
        head.owner_bells[1].store(16);
        const std::uint32_t value = bell.announce();
        EXPECT_EQ(call_of(next_to).outcome, CallEnd::returned);
        EXPECT_EQ(bell.word().load(), value) << "nobody was announced on the ring";
        const std::uint32_t of_ring = head.client_bell.announce();
        EXPECT_EQ(call_of(next_to).outcome, CallEnd::returned);
        while (bell.word().load() == value) sched_yield();
        EXPECT_NE(head.client_bell.word().load(), of_ring);
    }
    EXPECT_EQ(device_[0] + device_[1] + device_[3] + device_[7], 0U);
}

}  // namespace
}  // namespace acp::worker
