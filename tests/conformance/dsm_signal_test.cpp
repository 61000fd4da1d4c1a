// SPDX-License-Identifier: BSD-3-Clause
// Signal handlers of a program touch shared pages while their thread sends, fetches or exchanges pages:
// within a small bound of copies, so that their faults evict pages that were written. The handlers get
// no memory from the allocator. No thread waits for itself, and all that the handlers wrote reaches all
// ranks.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#include <thread>
#include <vector>

#include "conformance/dsm_fixture.hpp"
#include "support/random.hpp"
#include "support/refuse_memory.hpp"

namespace acp::test {
namespace {

constexpr std::size_t pages_count = 512;
constexpr std::size_t words_of_page = page / 8;
constexpr std::size_t total_word = words_of_page / 2;  // behind the words of the ranks

volatile std::uint64_t* area = nullptr;
std::size_t own_word = 0;
std::atomic<bool> may_touch{false};
std::uint64_t touches = 0;  // counted by the handler
constinit thread_local bool is_in_handler = false;
Random* places = nullptr;

// Reads a word of a page, and counts in a word of another one.
void touch(int /*signal*/) {
    if (!may_touch.load(std::memory_order_relaxed)) return;
    is_in_handler = true;
    (void)area[places->below(pages_count) * words_of_page + own_word];
    const std::size_t counted = places->below(pages_count) * words_of_page + own_word;
    area[counted] = area[counted] + 1;
    ++touches;
    is_in_handler = false;
}

// Signals to a thread, until the end of this object.
class Signals {
public:
    explicit Signals(pthread_t thread)
        : sender_([this, thread] {
              while (!is_stopping_.load(std::memory_order_relaxed)) {
                  pthread_kill(thread, SIGUSR1);
                  nanosleep(&pause, nullptr);  // lint: sleep is the subject
              }
          }) {}

    ~Signals() {
        is_stopping_.store(true, std::memory_order_relaxed);
        sender_.join();
    }

    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

private:
    static constexpr timespec pause{0, 100'000};

    std::atomic<bool> is_stopping_{false};
    std::thread sender_;
};

class DsmSignalTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        if (is_refused_here()) GTEST_SKIP() << acp_error_message();
        ASSERT_EQ(acp_init_dsm(pages_count * page), 0) << acp_error_message();
        ASSERT_EQ(acp_set_cache_dsm(64 * page), 0) << acp_error_message();
        auto* const bytes = static_cast<std::uint64_t*>(acp_alloc_dsm(pages_count * page));
        ASSERT_NE(bytes, nullptr) << acp_error_message();
        area = bytes;
        own_word = static_cast<std::size_t>(rank_);
        places = &random_;
        touches = 0;
        refuse_for_good(1, all_from_there, [] { return is_in_handler; });

        struct sigaction action {};

        action.sa_handler = touch;
        action.sa_flags = SA_RESTART;
        sigaction(SIGUSR1, &action, nullptr);
    }

    void TearDown() override {
        if (area != nullptr) {
            EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
        }
        area = nullptr;
        RankedTest::TearDown();
    }

    // The handlers of all ranks counted each of their touches.
    void expect_all_counts() const {
        area[own_word * words_of_page + total_word + own_word] = touches;
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        EXPECT_GT(touches, 0U);
        for (std::size_t rank = 0; rank < static_cast<std::size_t>(procs_); ++rank) {
            std::uint64_t sum = 0;
            for (std::size_t i = 0; i < pages_count; ++i) sum += area[i * words_of_page + rank];
            EXPECT_EQ(sum, area[rank * words_of_page + total_word + rank]) << "of rank " << rank;
        }
        EXPECT_EQ(Refusal::seen(), 0U) << "allocations in handlers of faults";
    }

    void call(std::uint64_t kind) {
        const std::size_t first = chosen_.below(pages_count);
        void* const from = const_cast<std::uint64_t*>(area) + first * words_of_page;
        const std::size_t bytes = chosen_.between(1, pages_count - first) * page;
        switch (kind) {
            case 0:
                EXPECT_EQ(acp_fence_dsm(from, bytes), 0) << acp_error_message();
                break;
            case 1:
                EXPECT_EQ(acp_prefetch_dsm(from, bytes), 0) << acp_error_message();
                break;
            default:
                EXPECT_EQ(acp_flush_dsm(from, bytes), 0) << acp_error_message();
        }
    }

    Random random_{static_cast<std::uint64_t>(acp_rank()) + 1};
    Random chosen_{static_cast<std::uint64_t>(acp_rank()) + 101};
};

TEST_F(DsmSignalTest, handlers_touch_pages_while_their_thread_is_in_a_call) {
    constexpr int epochs = 4;
    constexpr std::uint64_t calls = 60;
    allow_seconds(200);
    for (int epoch = 0; epoch < epochs; ++epoch) {
        {
            const Signals signals(pthread_self());
            may_touch.store(true, std::memory_order_relaxed);
            // On one node all calls may end before the first signal comes.
            for (std::uint64_t i = 0; i < calls || touches == 0; ++i) call(chosen_.below(3));
            may_touch.store(false, std::memory_order_relaxed);
        }
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    }
    expect_all_counts();
}

TEST_F(DsmSignalTest, handlers_send_what_they_evict_without_memory_of_the_allocator) {
    const char* const text = std::getenv("TEST_ROUNDS");
    const int epochs = text == nullptr ? 2 : std::atoi(text);
    allow_seconds(200);
    acp_stats_dsm_t before;
    ASSERT_EQ(acp_query_stats_dsm(&before, sizeof before), 0) << acp_error_message();
    may_touch.store(true, std::memory_order_relaxed);
    for (int epoch = 0; epoch < epochs; ++epoch) {
        for (int i = 0; i < 300; ++i) raise(SIGUSR1);
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    }
    may_touch.store(false, std::memory_order_relaxed);
    acp_stats_dsm_t after;
    ASSERT_EQ(acp_query_stats_dsm(&after, sizeof after), 0) << acp_error_message();
    if (has_several_nodes()) {
        EXPECT_GT(after.pages_evicted_sent, before.pages_evicted_sent);
    }
    expect_all_counts();
}

}  // namespace
}  // namespace acp::test
