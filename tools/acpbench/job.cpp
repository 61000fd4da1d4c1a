// SPDX-License-Identifier: BSD-3-Clause
// Orders by barrier, and the ball two ranks throw. A rank without an order sleeps in acp_sync, so
// that it takes no core from what is measured. Each rank's main thread.
#include "job.hpp"

#include <cstddef>
#include <cstdio>

#include "os/clock.hpp"
#include "os/cpu.hpp"

#include "stats.hpp"
#include "system.hpp"

namespace acp::bench {

namespace {

// Orders of this file; those of experiments are below.
constexpr std::uint32_t order_nothing = 0;
constexpr std::uint32_t order_leave = ~0U;
constexpr std::uint32_t order_answer_balls = ~1U;

constexpr std::uint64_t last_ball = ~std::uint64_t{0};
constexpr int trips_per_burst = 32;
constexpr int bursts_min = 5;
constexpr int polls_before_yield = 1024;  // the other rank may share this rank's core

// Waits until word differs from `old`. acquire: pairs with the thrower's release; nothing else is
// handed over.
std::uint64_t catch_ball(const std::atomic<std::uint64_t>& word, std::uint64_t old) {
    for (int polls = 0;; ++polls) {
        const std::uint64_t value = word.load(std::memory_order_acquire);
        if (value != old) return value;
        if (polls < polls_before_yield) {
            os::relax();
        } else {
            os::yield_cpu();
        }
    }
}

}  // namespace

void give_up(const std::string& text) {
    std::fprintf(stderr, "acpbench: %s\n", text.c_str());
    end_process(1);
}

void must(bool has_succeeded) {
    if (!has_succeeded) give_up(acp_error_message());
}

void sync_all() {
    if (acp_sync() != 0) give_up(std::string("a rank is gone: ") + acp_error_message());
}

Job::Job(int& argc, char**& argv, int ranks_min, const std::string& hint) {
    if (acp_init(&argc, &argv) != 0)
        give_up(std::string("cannot join a job: ") + acp_error_message());
    rank_ = acp_rank();
    ranks_ = acp_procs();
    if (ranks_ < ranks_min || ranks_ > ranks_max) {
        const std::string problem =
            ranks_ > ranks_max
                ? "at most " + std::to_string(ranks_max) + " ranks can be measured, not "
                : "this needs " + std::to_string(ranks_min) + " ranks and the job has ";
        if (rank_ == 0) {
            std::fprintf(stderr, "acpbench: %s%d; type:\n  %s\n", problem.c_str(), ranks_,
                         hint.c_str());
        }
        acp_finalize();
        end_process(2);
    }
    if (acp_starter_size() < control_bytes) {
        give_up("the starter memory has " + std::to_string(acp_starter_size()) + " bytes and " +
                std::to_string(control_bytes) +
                " are needed; give acprun --starter-size 64k or more");
    }
    starter_bytes_ = acp_starter_size() - control_bytes;
    const auto block_of = [](int rank) {
        return static_cast<Control*>(acp_query_address(acp_query_starter_ga(rank)));
    };
    own_ = block_of(rank_);
    shared_ = block_of(0);
    sync_all();
    find_nodes();
}

// Ranks whose memory is mapped here are on this node; each node is counted at its first rank.
void Job::find_nodes() {
    RankResult mine{};
    while (starter(static_cast<int>(mine.values[0])) == nullptr) ++mine.values[0];
    nodes_ = 0;
    for (const RankResult& its : exchange(mine)) {
        nodes_ += its.values[0] == first_ranks_.size() ? 1 : 0;
        first_ranks_.push_back(its.values[0]);
    }
}

Job::~Job() {
    if (conducts() && ranks_ > 1) give({order_leave, 0, {}});
    acp_finalize();
}

char* Job::starter(int rank) const {
    void* address = acp_query_address(acp_query_starter_ga(rank));
    return address == nullptr ? nullptr : static_cast<char*>(address) + control_bytes;
}

acp_ga_t Job::starter_ga(int rank) const {
    return acp_query_starter_ga(rank) + control_bytes;
}

int Job::partner() const {
    for (int rank = 1; rank < ranks_; ++rank) {
        if (node_of(rank) != node_of(0)) return rank;
    }
    return 1;
}

void Job::need_one_node(const char* what) const {
    if (is_one_node()) return;
    if (conducts()) std::fprintf(stderr, "acpbench: %s: all ranks must be on one node\n", what);
    acp_finalize();
    end_process(2);
}

Control& Job::control() const {
    if (shared_ == nullptr) give_up("rank 0's control block is not mapped on this node");
    return *shared_;
}

void Job::give(const Order& order) const {
    if (ranks_ == 1) return;
    sync_all();  // all ranks have read the last order
    own_->order = order;
    acp_handle_t last = ACP_HANDLE_NULL;
    const acp_ga_t source = acp_query_starter_ga(0) + offsetof(Control, order);
    for (int rank = 1; rank < ranks_; ++rank) {
        const acp_ga_t target = acp_query_starter_ga(rank) + offsetof(Control, order);
        last = acp_copy(target, source, sizeof(Order), ACP_HANDLE_NULL);
    }
    acp_complete(last);
    sync_all();
}

void Job::tell(const RankResult& result) const {
    own_->results[rank_] = result;
    if (conducts()) return;
    const std::uint64_t offset =
        offsetof(Control, results) + sizeof(RankResult) * static_cast<std::uint64_t>(rank_);
    acp_complete(acp_copy(acp_query_starter_ga(0) + offset, acp_query_starter_ga(rank_) + offset,
                          sizeof(RankResult), ACP_HANDLE_NULL));
}

std::vector<RankResult> Job::exchange(const RankResult& mine) const {
    tell(mine);
    sync_all();
    const std::uint64_t offset = offsetof(Control, results);
    const std::uint64_t bytes = sizeof(RankResult) * static_cast<std::uint64_t>(ranks_);
    if (!conducts()) {
        acp_complete(acp_copy(acp_query_starter_ga(rank_) + offset,
                              acp_query_starter_ga(0) + offset, bytes, ACP_HANDLE_NULL));
    }
    // Copies the results before the barrier, after which other ranks may write new ones.
    std::vector<RankResult> all(own_->results, own_->results + ranks_);
    sync_all();
    return all;
}

void Job::follow(const Handler& handler) {
    for (;;) {
        sync_all();
        sync_all();
        const Order order = own_->order;
        switch (order.what) {
            case order_leave:
                return;
            case order_nothing:
                break;
            case order_answer_balls:
                if (rank_ == 1) answer_balls(order);
                break;
            default:
                handler(order);
        }
    }
}

void Job::answer_balls(const Order& order) const {
    std::uint64_t seen = order.arguments[0];
    while ((seen = catch_ball(shared_->ball, seen)) != last_ball) {
        shared_->ball.store(++seen, std::memory_order_release);
    }
}

double Job::round_trip_ns(double budget_ns) {
    if (ranks_ == 1 || starter(1) == nullptr) return 0;
    Order order{order_answer_balls, 0, {}};
    order.arguments[0] = shared_->ball.load(std::memory_order_relaxed);
    give(order);
    std::vector<double> bursts;
    const std::uint64_t start = os::now_ns();
    std::uint64_t now = start;
    // The first burst finds the other rank still on its way.
    for (int burst = -1; burst < bursts_min || static_cast<double>(now - start) < budget_ns;
         ++burst) {
        const std::uint64_t before = os::now_ns();
        for (int trip = 0; trip < trips_per_burst; ++trip) {
            shared_->ball.store(ball_, std::memory_order_release);
            ball_ = catch_ball(shared_->ball, ball_) + 1;
        }
        now = os::now_ns();
        if (burst >= 0) bursts.push_back(static_cast<double>(now - before) / trips_per_burst);
        // One burst suffices where both ranks share a core.
        if (burst >= 0 && bursts.back() > taking_turns_ns) break;
    }
    shared_->ball.store(last_ball, std::memory_order_release);
    const double result = median_of(std::move(bursts));
    round_trips_.push_back(result);
    return result;
}

}  // namespace acp::bench
