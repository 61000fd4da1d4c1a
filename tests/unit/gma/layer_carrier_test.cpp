// SPDX-License-Identifier: BSD-3-Clause
// Commands that a layer above carries out: when they begin, end and lapse, in which order, and what
// waits, failures and the end of an epoch make of them. The layer is a fake one, whose commands end
// when the test says so, from any thread.
#include "gma/layer_carrier.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gma/gma.hpp"
#include "node/awaited.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"

#include "ranks_in_process.hpp"
#include "support/watchdog.hpp"

namespace acp::gma::test {
namespace {

using base::Code;
using base::Status;

// A layer whose commands end by finish(), or as they begin.
class FakeLayer final : public CommandLayer {
public:
    class Work final : public LayerCommand {
    public:
        Work(FakeLayer& layer, std::uint64_t mark) : layer_(layer), mark_(mark) {}

        void begin(std::uint64_t number) noexcept override {
            number_ = number;
            layer_.note_begun(*this);
        }

        void lapse() noexcept override { layer_.lapsed_.fetch_add(1); }

        [[nodiscard]] std::string_view call_name() const noexcept override { return "acp_fake"; }

        [[nodiscard]] std::size_t describe(std::span<char> text) const noexcept override {
            static constexpr std::string_view words = "a fake action";
            std::copy(words.begin(), words.end(), text.begin());
            return words.size();
        }

        bool cancel() noexcept override { return !is_cancelled_.exchange(true); }

        [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

        [[nodiscard]] std::uint64_t mark() const noexcept { return mark_; }

        [[nodiscard]] bool is_cancelled() const noexcept { return is_cancelled_; }

    private:
        FakeLayer& layer_;
        std::uint64_t mark_;
        std::atomic<std::uint64_t> number_{0};
        std::atomic<bool> is_cancelled_{false};
    };

    //   bell  of the process that waits
    FakeLayer(Gma& gma, sync::Bell<>& bell) : gma_(gma), bell_(bell) {
        gma_.layer_commands().add(*this);
    }

    ~FakeLayer() override { gma_.layer_commands().remove(*this); }

    Handle issue(Handle order) {
        Work* work = nullptr;
        {
            const std::scoped_lock lock(mutex_);
            works_.push_back(std::make_unique<Work>(*this, works_.size()));
            work = works_.back().get();
        }
        return gma_.layer_commands().issue(*work, order);
    }

    // The command of the mark is over: the next poll ends it. Rings, as CommandLayer asks.
    void finish(std::uint64_t mark, Code code = Code::ok) {
        {
            const std::scoped_lock lock(mutex_);
            over_.push_back({works_[mark]->number(), status_of(code)});
        }
        node::ring_bell(bell_);
    }

    bool poll() noexcept override {
        std::vector<LayerEnd> ends;
        {
            const std::scoped_lock lock(mutex_);
            ends = std::exchange(over_, {});
        }
        if (ends.empty()) return false;
        gma_.layer_commands().end(ends);
        return true;
    }

    void announce_sleep() noexcept override { sleeps_.fetch_add(1); }

    [[nodiscard]] std::vector<std::uint64_t> begun() {
        const std::scoped_lock lock(mutex_);
        return begun_;
    }

    void await_begun(std::size_t count) {
        while (begun().size() < count) os::yield_cpu();
    }

    void end_at_once() { is_ended_at_once_ = true; }

    [[nodiscard]] std::uint32_t lapsed() const { return lapsed_; }

    [[nodiscard]] std::uint32_t sleeps() const { return sleeps_; }

    [[nodiscard]] bool is_cancelled(std::uint64_t mark) {
        const std::scoped_lock lock(mutex_);
        return works_[mark]->is_cancelled();
    }

private:
    static Status status_of(Code code) {
        return code == Code::ok ? Status() : Status(code, "the fake has failed");
    }

    void note_begun(Work& work) noexcept {
        {
            const std::scoped_lock lock(mutex_);
            begun_.push_back(work.mark());
        }
        if (!is_ended_at_once_) return;
        LayerEnd end{work.number(), {}};
        gma_.layer_commands().end({&end, 1});
    }

    Gma& gma_;
    sync::Bell<>& bell_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Work>> works_;
    std::vector<std::uint64_t> begun_;
    std::vector<LayerEnd> over_;
    std::atomic<bool> is_ended_at_once_{false};
    std::atomic<std::uint32_t> lapsed_{0};
    std::atomic<std::uint32_t> sleeps_{0};
};

class LayerCarrierTest : public testing::Test {
protected:
    void SetUp() override { acp::test::arm_watchdog(240, "unit_gma"); }

    void TearDown() override { acp::test::arm_watchdog(0, ""); }

    [[nodiscard]] Gma& gma() { return *ranks_[0].gma; }

    [[nodiscard]] std::vector<std::uint64_t> begun() { return layer_->begun(); }

    Handle issue_copy(Handle order, std::uint64_t at = 0) {
        return gma().issue_copy(ranks_[1].starter + at, ranks_[0].starter + at, 8, order);
    }

    Ranks ranks_{base::IntraNode::automatic, 2, 2};
    std::unique_ptr<FakeLayer> layer_ =
        std::make_unique<FakeLayer>(*ranks_[0].gma, ranks_.node().slot(0).door.waiter_bell);
};

using Marks64 = std::vector<std::uint64_t>;

TEST_F(LayerCarrierTest, a_command_without_an_order_begins_in_the_call_that_issues_it) {
    const Handle handle = layer_->issue(handle_null);
    EXPECT_EQ(begun(), Marks64{0});
    EXPECT_FALSE(gma().is_complete(handle));
    layer_->finish(0);
    EXPECT_TRUE(finish(ranks_[0], handle).is_ok());
    EXPECT_TRUE(gma().is_complete(handle));
}

TEST_F(LayerCarrierTest, a_command_begins_when_the_command_it_is_ordered_after_has_ended) {
    const Handle first = layer_->issue(handle_null);
    const Handle second = layer_->issue(first);
    EXPECT_EQ(begun(), Marks64{0});
    layer_->finish(0);
    EXPECT_TRUE(finish(ranks_[0], first).is_ok());
    layer_->await_begun(2);
    layer_->finish(1);
    EXPECT_TRUE(finish(ranks_[0], second).is_ok());
}

TEST_F(LayerCarrierTest,
       a_copy_behind_a_command_of_a_layer_runs_when_that_has_ended_and_before_one_behind_it) {
    std::memcpy(ranks_.starter(0), "abcdefg", 8);
    const Handle first = layer_->issue(handle_null);
    const Handle copied = issue_copy(first);
    const Handle second = layer_->issue(copied);
    EXPECT_NE(std::memcmp(ranks_.starter(1), "abcdefg", 8), 0);
    layer_->finish(0);
    EXPECT_TRUE(finish(ranks_[0], copied).is_ok());
    EXPECT_EQ(std::memcmp(ranks_.starter(1), "abcdefg", 8), 0);
    layer_->await_begun(2);
    layer_->finish(1);
    EXPECT_TRUE(finish(ranks_[0], second).is_ok());
}

TEST_F(LayerCarrierTest, commands_behind_it_run_while_no_thread_of_the_program_is_in_a_call) {
    std::memcpy(ranks_.starter(0), "nobody!", 8);
    const Handle first = layer_->issue(handle_null);
    const Handle copied = issue_copy(first);
    layer_->issue(copied);
    layer_->finish(0);
    (void)gma().layer_commands().poll();  // as the layer's thread does
    layer_->await_begun(2);               // by the service thread
    EXPECT_EQ(std::memcmp(ranks_.starter(1), "nobody!", 8), 0);
    layer_->finish(1);
    EXPECT_EQ(gma().finish_all().count, 0U);
}

TEST_F(LayerCarrierTest,
       commands_whose_orders_are_met_together_begin_in_the_order_of_their_numbers) {
    constexpr std::uint64_t count = 1000;
    const Handle first = layer_->issue(handle_null);
    Handle last = handle_null;
    for (std::uint64_t i = 0; i < count; ++i) last = layer_->issue(first);
    layer_->end_at_once();
    layer_->finish(0);
    EXPECT_TRUE(finish(ranks_[0], last).is_ok());
    const Marks64 all = begun();
    ASSERT_EQ(all.size(), count + 1);
    for (std::uint64_t i = 0; i <= count; ++i) EXPECT_EQ(all[i], i);
}

TEST_F(LayerCarrierTest, a_failure_is_that_of_the_handle_and_fails_what_is_ordered_after_it) {
    const Handle first = layer_->issue(handle_null);
    const Handle second = layer_->issue(first);
    const Handle copied = issue_copy(second);
    layer_->finish(0, Code::peer);
    const Status failed = finish(ranks_[0], first);
    EXPECT_EQ(failed.code(), Code::peer);
    EXPECT_EQ(failed.message(), "the fake has failed");
    const Status behind = finish(ranks_[0], second);
    EXPECT_EQ(behind.code(), Code::order);
    EXPECT_NE(behind.message().find("acp_fake by rank 0"), std::string::npos) << behind.message();
    EXPECT_NE(behind.message().find("not run: the command of handle " + std::to_string(first)),
              std::string::npos)
        << behind.message();
    EXPECT_EQ(finish(ranks_[0], copied).code(), Code::order);
    while (layer_->lapsed() != 1) os::yield_cpu();
    EXPECT_EQ(begun(), Marks64{0});
}

TEST_F(LayerCarrierTest, a_command_behind_one_that_had_failed_lapses_in_the_call_that_issues_it) {
    const Handle bad = gma().issue_copy(0, ranks_[0].starter, 8, handle_null);
    const Handle behind = layer_->issue(bad);
    EXPECT_EQ(layer_->lapsed(), 1U);
    EXPECT_EQ(finish(ranks_[0], bad).code(), Code::address);
    EXPECT_EQ(finish(ranks_[0], behind).code(), Code::order);
    EXPECT_TRUE(begun().empty());
}

TEST_F(LayerCarrierTest, a_waiting_thread_sleeps_until_the_end_and_its_wait_is_shown_in_words) {
    const Handle handle = layer_->issue(handle_null);
    std::thread ender([&] {
        while (layer_->sleeps() == 0) os::yield_cpu();
        const auto is_shown = [&] {
            const auto lines =
                node::describe({node::look_at(ranks_.node(), 0, os::now_ns())}, nullptr);
            return !lines.empty() && lines[0].find("a fake action") != std::string::npos;
        };
        while (!is_shown()) os::yield_cpu();
        layer_->finish(0);
    });
    EXPECT_TRUE(finish(ranks_[0], handle).is_ok());
    ender.join();
}

TEST_F(LayerCarrierTest, cancel_reaches_the_outstanding_command_of_exactly_this_handle) {
    const Handle first = layer_->issue(handle_null);
    const Handle second = layer_->issue(first);
    const Handle copied = issue_copy(second);
    EXPECT_EQ(gma().layer_commands().cancel(second), std::optional(true));
    EXPECT_EQ(gma().layer_commands().cancel(second), std::optional(false));
    EXPECT_EQ(gma().layer_commands().cancel(copied), std::nullopt);
    for (const Handle other : {handle_null, handle_all, handle_cont, copied + 2, first + 1})
        EXPECT_EQ(gma().layer_commands().cancel(other), std::nullopt) << other;
    EXPECT_FALSE(layer_->is_cancelled(0));
    EXPECT_TRUE(layer_->is_cancelled(1));
    layer_->finish(0);
    EXPECT_TRUE(finish(ranks_[0], first).is_ok());
    EXPECT_EQ(gma().layer_commands().cancel(first), std::nullopt);
    layer_->await_begun(2);
    layer_->finish(1);
    EXPECT_TRUE(finish(ranks_[0], copied).is_ok());
}

TEST_F(LayerCarrierTest, finish_all_waits_for_commands_that_have_not_begun) {
    layer_->issue(layer_->issue(handle_null));
    std::thread ender([&] {
        layer_->finish(0);
        layer_->await_begun(2);
        layer_->finish(1, Code::peer);
        (void)gma().layer_commands().poll();
    });
    const node::Unreported failures = gma().finish_all();
    ender.join();
    EXPECT_EQ(failures.count, 1U);
}

TEST_F(LayerCarrierTest, commands_lapse_when_their_layer_goes_at_the_latest) {
    const Handle first = layer_->issue(handle_null);
    layer_->issue(first);
    std::array<LayerEnd, 1> end{LayerEnd{first, Status(Code::peer, "gone")}};
    gma().layer_commands().end(end);
    EXPECT_EQ(gma().finish_all().count, 2U);
    gma().layer_commands().remove(*layer_);
    EXPECT_EQ(layer_->lapsed(), 1U);
}

// The service thread polls while an epoch begins and ends.
TEST_F(LayerCarrierTest, layers_come_and_go_while_threads_poll) {
    std::atomic<bool> is_over{false};
    std::thread poller([&] {
        while (!is_over) (void)gma().layer_commands().poll();
    });
    sync::Bell<>& bell = ranks_.node().slot(0).door.waiter_bell;
    for (int i = 0; i < 2000; ++i) {
        auto other = std::make_unique<FakeLayer>(gma(), bell);
        other->end_at_once();
        EXPECT_TRUE(finish(ranks_[0], other->issue(handle_null)).is_ok());
    }
    is_over = true;
    poller.join();
}

TEST_F(LayerCarrierTest, more_commands_than_the_queue_holds_are_issued_while_others_end) {
    layer_->end_at_once();
    const Handle first = layer_->issue(handle_null);
    EXPECT_TRUE(finish(ranks_[0], first).is_ok());
    constexpr std::uint64_t count = 2 * commands_outstanding_max;
    Handle last = handle_null;
    for (std::uint64_t i = 0; i < count; ++i) last = layer_->issue(last);
    EXPECT_TRUE(finish(ranks_[0], last).is_ok());
    EXPECT_EQ(begun().size(), count + 1);
}

// Chains of commands from several threads, ended by another one, mixed with copies.
TEST_F(LayerCarrierTest, threads_issue_and_wait_at_the_same_time) {
    constexpr int threads = 3;
    constexpr int rounds = 2000;
    layer_->end_at_once();
    std::vector<std::thread> all;
    for (std::uint64_t t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            Handle order = handle_null;
            for (int i = 0; i < rounds; ++i) {
                order = layer_->issue(order);
                order = issue_copy(order, 8 * t);
                if (i % 50 == 0) {
                    EXPECT_TRUE(finish(ranks_[0], order).is_ok());
                }
            }
            EXPECT_TRUE(finish(ranks_[0], order).is_ok());
        });
    }
    for (std::thread& thread : all) thread.join();
    EXPECT_EQ(begun().size(), std::size_t{threads} * rounds);
}

}  // namespace
}  // namespace acp::gma::test
