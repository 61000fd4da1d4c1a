// SPDX-License-Identifier: BSD-3-Clause
// The command queue: its rules one by one, its limits, and random programs compared with a plain
// model after every step. ACP_TEST_SEED repeats a run.
#include "gma/command_queue.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/refuse_memory.hpp"
#include "unit/gma/queue_model.hpp"

namespace acp::gma::test {
namespace {

using base::Code;
using Numbers = std::vector<std::uint64_t>;

constexpr int programs = acp::test::effort(120'000, 12'000);
constexpr int steps_max = 40;

base::Status failure_of(std::uint64_t number, Code code = Code::peer) {
    return {code, "the failure of " + std::to_string(number)};
}

memory::Command command_of(std::uint64_t tag) {
    return {.bytes = tag};
}

// Completes a command. Returns the commands that it made ready.
Numbers numbers_readied(CommandQueue& queue, std::uint64_t number, base::Status status) {
    CommandList ready;
    queue.finish(number, std::move(status), ready);
    Numbers numbers;
    while (!ready.is_empty()) {
        numbers.push_back(queue.take_first(ready));
    }
    return numbers;
}

// A queue with helpers that make each event one line.
class CommandQueueTest : public testing::Test {
protected:
    CommandQueue::Admission admit(Handle order) {
        EXPECT_TRUE(queue_.has_room());
        return queue_.admit(command_of(7), order);
    }

    std::uint64_t admit_failed(base::Status failure) {
        EXPECT_TRUE(queue_.has_room());
        return queue_.admit_failed(std::move(failure));
    }

    Numbers finish(std::uint64_t number) { return numbers_readied(queue_, number, {}); }

    Numbers fail(std::uint64_t number) {
        return numbers_readied(queue_, number, failure_of(number));
    }

    Code take(std::uint64_t number) {
        const auto failure = queue_.take_failure(number);
        return failure ? failure->code() : Code::ok;
    }

    [[nodiscard]] std::uint64_t complete_below() const { return marks_.complete_below.load(); }

    [[nodiscard]] std::uint64_t order_floor() const { return marks_.order_floor.load(); }

    Marks marks_;
    CommandQueue queue_{marks_};
};

TEST_F(CommandQueueTest, opens_the_inline_path_when_it_is_made) {
    EXPECT_EQ(complete_below(), 2U);
    EXPECT_EQ(order_floor(), 1U);
    EXPECT_EQ(marks_.inline_handle.load(), 1U);
}

TEST_F(CommandQueueTest, numbers_are_even_and_rise) {
    for (std::uint64_t number = 2; number < 100; number += 2) {
        EXPECT_EQ(admit(handle_null).number, number);
        EXPECT_EQ(marks_.inline_handle.load(), number + 1);
    }
}

TEST_F(CommandQueueTest, keeps_the_command) {
    const std::uint64_t first = queue_.admit(command_of(1), handle_null).number;
    const std::uint64_t second = queue_.admit(command_of(2), handle_null).number;
    EXPECT_EQ(queue_.command(first).bytes, 1U);
    EXPECT_EQ(queue_.command(second).bytes, 2U);
    finish(first);
    EXPECT_EQ(queue_.command(second).bytes, 2U);
}

TEST_F(CommandQueueTest, a_handle_as_order_waits_for_all_before_it) {
    admit(handle_null);
    admit(handle_null);
    EXPECT_FALSE(admit(4).is_ready);
    EXPECT_EQ(finish(4), Numbers{});
    EXPECT_EQ(finish(2), Numbers{6});
}

TEST_F(CommandQueueTest, an_inline_handle_stands_for_all_before_it) {
    admit(handle_null);
    const Handle handle = marks_.inline_handle.load();
    EXPECT_EQ(queue_.number_of(handle), 2U);
    EXPECT_FALSE(admit(handle).is_ready);
    EXPECT_EQ(finish(2), Numbers{4});
}

TEST_F(CommandQueueTest, all_waits_for_what_was_issued_before_only) {
    admit(handle_null);
    EXPECT_FALSE(admit(handle_all).is_ready);
    admit(handle_null);
    EXPECT_EQ(finish(2), Numbers{4});
}

TEST_F(CommandQueueTest, cont_waits_for_the_command_before_only) {
    admit(handle_null);
    admit(handle_null);
    EXPECT_FALSE(admit(handle_cont).is_ready);
    EXPECT_EQ(finish(4), Numbers{6});
}

TEST_F(CommandQueueTest, handles_that_were_never_issued_stand_for_nothing) {
    admit(handle_null);
    for (const Handle handle : {handle_null, handle_cont, Handle{4}, Handle{5}, Handle{1} << 62U}) {
        EXPECT_EQ(queue_.number_of(handle), 0U) << handle;
    }
    EXPECT_TRUE(admit(1000).is_ready);
}

TEST_F(CommandQueueTest, ends_that_come_twice_or_from_nowhere_are_ignored) {
    admit(handle_null);
    admit(handle_null);
    admit(2);
    for (const std::uint64_t number : {0U, 1U, 3U, 5U, 8U, 1000U}) {
        EXPECT_EQ(fail(number), Numbers{}) << number;
    }
    EXPECT_EQ(finish(2), Numbers{6});
    EXPECT_EQ(fail(2), Numbers{});
    EXPECT_EQ(queue_.oldest_outstanding(), 4U);
    EXPECT_EQ(queue_.outstanding(), 2U);
    EXPECT_EQ(take(1000), Code::ok);
}

TEST_F(CommandQueueTest, a_failure_reaches_the_caller_once) {
    admit(handle_null);
    admit(handle_null);
    fail(2);
    fail(4);
    EXPECT_EQ(queue_.take_failure(2)->message(), "the failure of 2");
    EXPECT_FALSE(queue_.take_failure(3));
    EXPECT_EQ(queue_.take_failure(4)->message(), "the failure of 4");
    EXPECT_FALSE(queue_.take_failure(4));
}

TEST_F(CommandQueueTest, a_command_that_is_known_to_fail_ends_with_its_own_failure) {
    const std::uint64_t number = admit_failed(failure_of(2, Code::address));
    EXPECT_EQ(number, 2U);
    EXPECT_EQ(queue_.done(), 2U);
    EXPECT_EQ(complete_below(), 2U);
    EXPECT_EQ(take(2), Code::address);
    EXPECT_EQ(complete_below(), 4U);
    EXPECT_EQ(order_floor(), 1U) << "a command ordered after it must ask the queue";
}

TEST_F(CommandQueueTest, an_unreported_failure_stops_what_is_ordered_after_its_prefix) {
    admit(handle_null);
    admit(handle_null);
    fail(2);
    finish(4);
    EXPECT_FALSE(queue_.is_satisfied(4));
    EXPECT_FALSE(queue_.is_satisfied(handle_all));
    EXPECT_TRUE(queue_.is_satisfied(handle_cont)) << "the one before went well";
    EXPECT_EQ(admit(4).number, 6U);
    EXPECT_FALSE(queue_.is_outstanding(6));
    EXPECT_EQ(take(4), Code::peer);
    EXPECT_EQ(take(6), Code::order);
}

TEST_F(CommandQueueTest, a_reported_failure_stops_only_what_names_it) {
    admit(handle_null);
    admit(handle_null);
    fail(2);
    finish(4);
    EXPECT_EQ(take(4), Code::peer);
    EXPECT_TRUE(queue_.is_satisfied(4));
    EXPECT_TRUE(queue_.is_satisfied(handle_all));
    EXPECT_FALSE(queue_.is_satisfied(2));
    EXPECT_TRUE(admit(4).is_ready);
    EXPECT_FALSE(admit(2).is_ready);
    EXPECT_EQ(take(100), Code::order);
}

TEST_F(CommandQueueTest, a_report_does_not_release_what_already_waits_behind_the_failure) {
    admit(handle_null);
    admit(handle_null);
    admit(4);
    fail(2);
    EXPECT_EQ(take(2), Code::peer);
    EXPECT_EQ(finish(4), Numbers{}) << "6 was issued after 2 and 4, and 2 failed";
    EXPECT_EQ(take(6), Code::order);
}

TEST_F(CommandQueueTest,
       a_command_issued_behind_an_unreported_failure_does_not_run_after_the_report) {
    admit(handle_null);
    admit(handle_null);
    fail(2);
    admit(4);
    EXPECT_EQ(take(2), Code::peer);
    EXPECT_EQ(finish(4), Numbers{});
    EXPECT_EQ(take(6), Code::order);
}

TEST_F(CommandQueueTest, a_failure_in_a_prefix_is_not_announced_before_its_turn) {
    admit(handle_null);
    admit(handle_null);
    fail(4);
    EXPECT_EQ(take(2), Code::ok);
    EXPECT_EQ(complete_below(), 2U);
    finish(2);
    EXPECT_EQ(complete_below(), 4U);
    EXPECT_EQ(queue_.done(), 4U);
}

TEST_F(CommandQueueTest, a_long_chain_ends_with_its_first_failure) {
    constexpr std::uint64_t length = commands_outstanding_max;
    admit(handle_null);
    for (std::uint64_t i = 1; i < length; ++i) {
        admit(handle_cont);
    }
    EXPECT_EQ(fail(2), Numbers{});
    EXPECT_EQ(queue_.outstanding(), 0U);
    EXPECT_EQ(queue_.done(), 2 * length);
    EXPECT_EQ(queue_.failures().untold_count(), length);
    EXPECT_EQ(take(2 * length), Code::peer);
    Code next = Code::order;
    while (next == Code::order) next = take(2 * length);
    EXPECT_EQ(next, Code::ok);
    EXPECT_EQ(complete_below(), 2 * length + 2);
}

TEST_F(CommandQueueTest, remembers_failed_handles_up_to_its_limit) {
    for (std::size_t i = 0; i < failures_remembered_max; ++i) {
        admit_failed(failure_of(0));
    }
    while (queue_.take_failure(queue_.issued())) {
    }
    EXPECT_FALSE(queue_.is_satisfied(2));
    admit_failed(failure_of(0));
    EXPECT_EQ(take(queue_.issued()), Code::peer);
    EXPECT_TRUE(queue_.is_satisfied(2))
        << "one failure more than is remembered: the oldest is forgotten";
    EXPECT_FALSE(queue_.is_satisfied(4));
    EXPECT_EQ(order_floor(), 3U);
}

TEST_F(CommandQueueTest, an_unreported_failure_is_never_forgotten) {
    for (std::size_t i = 0; i < 2 * failures_remembered_max; ++i) {
        admit_failed(failure_of(0));
    }
    EXPECT_FALSE(queue_.is_satisfied(2));
    for (std::size_t i = 0; i < 2 * failures_remembered_max; ++i) {
        ASSERT_EQ(take(queue_.issued()), Code::peer);
    }
    EXPECT_EQ(take(queue_.issued()), Code::ok);
}

// A program that issues into a queue that is refused memory, at every request in turn.
class RefusedQueue {
public:
    //   first, count  as of Refusal
    void run(std::uint64_t first, std::uint64_t count) {
        {
            const acp::test::Refusal refusal(first, count);
            for (std::uint64_t i = 0; i < commands; ++i) issue(i);
            while (!running_.is_empty()) end_oldest();
        }
        EXPECT_EQ(queue_.outstanding(), 0U);
        EXPECT_EQ(queue_.waiting(), 0U);
        EXPECT_EQ(queue_.issued(), 2 * commands);
        EXPECT_EQ(queue_.done(), queue_.issued());
        for (std::size_t i = 0; i < failed_count_; ++i) {
            EXPECT_FALSE(queue_.is_satisfied(failed_[i])) << failed_[i];
        }
        while (queue_.take_failure(handle_all)) {
        }
    }

private:
    static constexpr std::uint64_t commands = 900;

    // When there is no room, completes outstanding commands. There is room at the latest after the
    // oldest one.
    void issue(std::uint64_t i) {
        const Handle orders[] = {handle_null, handle_cont, handle_all, queue_.issued() / 4 * 2};
        for (;;) {
            if (queue_.has_room()) {
                const auto admission = queue_.admit(command_of(i), orders[i % 4]);
                if (admission.number != 0) {
                    if (admission.is_ready) queue_.append(running_, admission.number);
                    return;
                }
            }
            ASSERT_NE(queue_.outstanding(), 0U) << "nothing will ever make room";
            ASSERT_FALSE(running_.is_empty());
            end_oldest();
        }
    }

    void end_oldest() {
        const std::uint64_t number = queue_.take_first(running_);
        if (number % 10 == 0 && failed_count_ < failed_.size()) {
            failed_[failed_count_++] = number;
            queue_.finish(number, base::Status::bare(Code::peer), running_);
        } else {
            queue_.finish(number, {}, running_);
        }
    }

    Marks marks_;
    CommandQueue queue_{marks_};
    CommandList running_;
    std::array<std::uint64_t, 40> failed_{};
    std::size_t failed_count_ = 0;
};

TEST(RefusedQueueTest, ends_every_command_whichever_request_for_memory_is_refused) {
    for (std::uint64_t first = 1; first <= 60; ++first) {
        SCOPED_TRACE(first);
        RefusedQueue().run(first, 1);
        RefusedQueue().run(first, acp::test::all_from_there);
    }
}

TEST_F(CommandQueueTest, ready_commands_come_in_the_order_of_issue) {
    admit(handle_null);
    Numbers followers;
    for (int i = 0; i < 1000; ++i) {
        followers.push_back(admit(2).number);
    }
    EXPECT_EQ(finish(2), followers);
}

// The queue and the model, which get the same events and are compared after each.
class Pair {
public:
    void admit(Handle order) {
        const std::uint64_t wanted = model_.admit(order);
        EXPECT_TRUE(queue_.has_room());
        const CommandQueue::Admission seen = queue_.admit(command_of(wanted), order);
        EXPECT_EQ(seen.number, wanted);
        EXPECT_EQ(seen.is_ready, model_.record(wanted).state == QueueModel::State::ready);
        if (seen.is_ready) {
            running_.push_back(seen.number);
        }
    }

    void admit_failed() {
        const std::uint64_t number = model_.admit(handle_null);
        model_.finish(number, Code::address);
        EXPECT_TRUE(queue_.has_room());
        EXPECT_EQ(queue_.admit_failed(failure_of(number, Code::address)), number);
    }

    void finish(std::size_t which, bool is_ok) {
        const std::uint64_t number = running_[which];
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(which));
        EXPECT_EQ(queue_.command(number).bytes, number);
        const Numbers ready =
            numbers_readied(queue_, number, is_ok ? base::Status() : failure_of(number));
        model_.finish(number, is_ok ? Code::ok : Code::peer);
        running_.insert(running_.end(), ready.begin(), ready.end());
    }

    void take_failure(std::uint64_t number) {
        const auto wanted = model_.take_failure(number);
        const auto seen = queue_.take_failure(number);
        ASSERT_EQ(seen.has_value(), wanted.has_value()) << "up to " << number;
        if (!wanted) {
            return;
        }
        const Code code = model_.record(*wanted).code;
        EXPECT_EQ(seen->code(), code) << "of " << *wanted;
        if (code != Code::order) {
            EXPECT_EQ(seen->message(), failure_of(*wanted).message());
        }
        ++reports_;
    }

    void compare(acp::test::Random& random) const {
        Numbers running = running_;
        std::ranges::sort(running);
        EXPECT_EQ(running, model_.numbers_in(QueueModel::State::ready));
        EXPECT_EQ(queue_.issued(), model_.issued());
        EXPECT_EQ(queue_.done(), model_.done());
        EXPECT_EQ(marks_.complete_below.load(), model_.complete_floor() + 1);
        EXPECT_EQ(marks_.order_floor.load(), model_.order_floor());
        EXPECT_EQ(marks_.inline_handle.load(), model_.issued() | 1U);
        const Numbers outstanding = model_.outstanding();
        Numbers seen;
        for (std::uint64_t number = 2; number <= queue_.issued(); number += 2) {
            if (queue_.is_outstanding(number)) seen.push_back(number);
        }
        EXPECT_EQ(seen, outstanding);
        EXPECT_EQ(queue_.outstanding(), outstanding.size());
        EXPECT_EQ(queue_.waiting(), model_.numbers_in(QueueModel::State::waiting).size());
        for (const std::uint64_t number : outstanding) {
            EXPECT_EQ(queue_.is_ready(number), model_.is_ready(number));
        }
        EXPECT_EQ(queue_.oldest_outstanding(), outstanding.empty() ? 0 : outstanding.front());
        const Handle order = any_order(random);
        EXPECT_EQ(queue_.is_satisfied(order), model_.is_satisfied(order)) << "order " << order;
        const std::uint64_t number = random.below(model_.issued() + 6);
        EXPECT_EQ(queue_.is_outstanding(number), std::ranges::count(outstanding, number) != 0)
            << number;
    }

    // Any handle a program may hold, sometimes one it cannot.
    [[nodiscard]] Handle any_order(acp::test::Random& random) const {
        switch (random.below(8)) {
            case 0:
                return handle_null;
            case 1:
                return handle_all;
            case 2:
            case 3:
                return handle_cont;
            default:
                return random.below(model_.issued() + 3);
        }
    }

    [[nodiscard]] std::size_t running() const { return running_.size(); }

    [[nodiscard]] std::uint64_t issued() const { return model_.issued(); }

    // Every failure was reported, once.
    void expect_all_reported() {
        EXPECT_EQ(queue_.outstanding(), 0U);
        while (!testing::Test::HasFailure() && model_.complete_floor() != (model_.issued() | 1U)) {
            take_failure(model_.issued());
        }
        EXPECT_EQ(reports_, model_.numbers_in(QueueModel::State::failed).size());
        EXPECT_FALSE(queue_.take_failure(~0ULL));
    }

private:
    QueueModel model_;
    Marks marks_;
    CommandQueue queue_{marks_};
    Numbers running_;
    std::size_t reports_ = 0;
};

void run_program(std::uint64_t seed) {
    acp::test::Random random(seed);
    Pair pair;
    const std::uint64_t steps = random.between(1, steps_max);
    const auto failing = static_cast<unsigned>(random.below(2) * random.below(60));
    const auto issuing = static_cast<unsigned>(random.between(20, 80));
    for (std::uint64_t step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
        if (random.chance(issuing)) {
            random.chance(failing / 4) ? pair.admit_failed() : pair.admit(pair.any_order(random));
        } else if (pair.running() != 0 && !random.chance(20)) {
            pair.finish(random.below(pair.running()), !random.chance(failing));
        } else {
            pair.take_failure(random.below(pair.issued() + 3));
        }
        pair.compare(random);
    }
    while (pair.running() != 0 && !testing::Test::HasFailure()) {
        pair.finish(random.below(pair.running()), !random.chance(failing));
        pair.compare(random);
    }
    pair.expect_all_reported();
}

TEST(CommandQueueModelTest, agrees_with_a_plain_model_in_random_programs) {
    const char* text = std::getenv("ACP_TEST_SEED");
    const std::uint64_t first =
        text != nullptr ? std::strtoull(text, nullptr, 0) : acp::test::fresh_seed() >> 16;
    for (std::uint64_t seed = first; seed < first + (text != nullptr ? 1 : programs); ++seed) {
        SCOPED_TRACE("repeat with ACP_TEST_SEED=" + std::to_string(seed));
        run_program(seed);
        if (HasFailure()) {
            return;
        }
    }
}

}  // namespace
}  // namespace acp::gma::test
