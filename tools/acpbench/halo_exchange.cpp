// SPDX-License-Identifier: BSD-3-Clause
// Messages, memory and plan of one rank. Each rank's main thread.
#include "halo_exchange.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "exchange_study/paper_patterns.hpp"

namespace acp::bench {

namespace {

constexpr std::uint64_t line_bytes = 64;

// Where a rank stands on a torus of two columns.
struct Place {
    int column = 0;
    int row = 0;
};

int rank_at(Place place, int rows) {
    return (place.row + rows) % rows * 2 + (place.column + 2) % 2;
}

// What a rank sends in a message: no two messages begin alike.
char content_of(int rank, std::size_t message) {
    return static_cast<char>(1 + (static_cast<std::size_t>(rank) * 31 + message) % 251);
}

int rails_of_job() {
    const char* const told = std::getenv("ACP_RAILS");  // NOLINT(concurrency-mt-unsafe)
    return told == nullptr ? 1 : std::max(1, std::atoi(told));
}

}  // namespace

HaloExchange::HaloExchange(const Job& job, std::uint32_t grid_size, bool is_shared) {
    if (!job.is_one_node()) rails_ = rails_of_job();
    add_messages(job, grid_size);
    heap_ = acp_malloc(2 * half_bytes_, job.rank());
    must(heap_ != ACP_GA_NULL);
    find_targets(job);
    if (is_shared) {
        memory_ = static_cast<char*>(acp_query_address(heap_));
    } else {
        private_.resize(2 * half_bytes_);
        memory_ = private_.data();
    }
    std::memset(memory_, 0, 2 * half_bytes_);
    for (std::size_t i = 0; i < messages_.size(); ++i)
        std::memset(memory_ + messages_[i].offset, content_of(job.rank(), i), messages_[i].bytes);
    compile(job.rank(), job.ranks());
}

HaloExchange::~HaloExchange() {
    for (const acp_plan_t plan : plans_) (void)acp_free_plan(plan);
    (void)acp_free_pattern(pattern_);
    for (const acp_atkey_t key : keys_) (void)acp_unregister_memory(key);
    (void)acp_free(heap_);
}

void HaloExchange::add_messages(const Job& job, std::uint32_t grid_size) {
    const int rank = job.rank();
    const int ranks = job.ranks();
    const bool is_torus = ranks >= 4 && ranks % 2 == 0;
    for (const exchange::OffsetMessage& message :
         exchange_study::paper_messages(exchange_study::PaperPattern::eight, grid_size)) {
        Message its{(rank + 1) % ranks, (rank + ranks - 1) % ranks, half_bytes_, message.bytes};
        if (is_torus) {
            const Place here{rank % 2, rank / 2};
            const int east = message.offset[0];
            const int north = message.offset[1];
            its.to = rank_at({here.column + east, here.row + north}, ranks / 2);
            its.from = rank_at({here.column - east, here.row - north}, ranks / 2);
        }
        messages_.push_back(its);
        bytes_ += its.bytes;
        half_bytes_ += (its.bytes + line_bytes - 1) / line_bytes * line_bytes;
    }
}

void HaloExchange::compile(int rank, int ranks) {
    pattern_ = acp_create_pattern(acp_world_team());
    must(pattern_ != ACP_PATTERN_NULL);
    const auto shift_to = [=](int other) { return (other - rank + ranks) % ranks; };
    for (const Message& its : messages_) {
        char* const source = memory_ + its.offset;
        must(acp_add_send_pattern(pattern_, shift_to(its.to), source, its.bytes) == 0);
        must(acp_add_recv_pattern(pattern_, shift_to(its.from), source + half_bytes_, its.bytes) ==
             0);
    }
    plan_ = acp_compile_pattern(pattern_, nullptr);
    must(plan_ != ACP_PLAN_NULL);
    plans_.push_back(plan_);
    if (rails_ == 1) return;
    // A network whose nodes have one engine has one rail.
    const std::string network = "torus 1000 " + std::to_string(ranks) + "\nengines 1\n";
    plans_.push_back(acp_compile_pattern(pattern_, network.c_str()));
    must(plans_.back() != ACP_PLAN_NULL);
}

// The colour of an address chooses the rail.
void HaloExchange::find_targets(const Job& job) {
    char* const targets = static_cast<char*>(acp_query_address(heap_)) + half_bytes_;
    for (int rail = 0; rail < rails_; ++rail) {
        targets_.emplace_back(static_cast<std::size_t>(job.ranks()));
        keys_.push_back(ACP_ATKEY_NULL);
        must(acp_register_all(targets, half_bytes_, rail, targets_.back().data(), &keys_.back()) ==
             0);
    }
}

void HaloExchange::use_one_rail(bool is_wanted) {
    plan_ = plans_.at(is_wanted ? 1 : 0);
}

void HaloExchange::start() {
    must(acp_start_plan(plan_) == 0);
}

void HaloExchange::wait() {
    must(acp_wait_plan(plan_) == 0);
}

void HaloExchange::check() {
    std::memset(memory_ + half_bytes_, 0, half_bytes_);
    sync_all();  // no receiver reads a message of the last exchange in place after this barrier
    start();
    wait();
    for (std::size_t i = 0; i < messages_.size(); ++i) {
        const char* const target = memory_ + half_bytes_ + messages_[i].offset;
        const char content = content_of(messages_[i].from, i);
        if (target[0] != content || std::memcmp(target, target + 1, messages_[i].bytes - 1) != 0)
            give_up("message " + std::to_string(i) + " did not arrive whole");
    }
}

void HaloExchange::copy_within() {
    for (const Message& its : messages_)
        std::memcpy(memory_ + half_bytes_ + its.offset, memory_ + its.offset, its.bytes);
}

void HaloExchange::put_all() {
    acp_handle_t last = ACP_HANDLE_NULL;
    std::size_t rail = 0;
    for (const Message& its : messages_) {
        const auto to = static_cast<std::size_t>(its.to);
        const acp_ga_t target = targets_[rail++ % targets_.size()][to] + its.offset;
        last = acp_put(target, memory_ + its.offset, its.bytes, ACP_HANDLE_NULL);
    }
    acp_complete(last);
}

}  // namespace acp::bench
