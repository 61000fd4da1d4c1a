// SPDX-License-Identifier: BSD-3-Clause
// The calls of all ranks on the window.
#include "dsm/shared_pages.hpp"

#include <string>
#include <utility>

#include "team/collectives.hpp"

namespace acp::dsm {

namespace {

using base::Code;
using base::Result;
using base::Status;
using team::CollectiveCall;
using team::Signature;

constexpr std::uint64_t pages_for(std::uint64_t bytes) noexcept {
    return bytes / pages::page_bytes + (bytes % pages::page_bytes != 0 ? 1 : 0);
}

constexpr std::uint64_t no_page = ~std::uint64_t{0};

}  // namespace

SharedPages::SharedPages(const SharedPagesTools& tools,
                         team::TeamHandle ranks,
                         std::unique_ptr<WindowMemory> memory,
                         std::uint64_t count)
    : tools_(tools), ranks_(ranks), memory_(std::move(memory)), allocations_(count) {}

Result<std::unique_ptr<SharedPages>> SharedPages::open(const SharedPagesTools& tools,
                                                       std::uint64_t bytes) {
    const node::Segment& segment = tools.gma.space().segment();
    if (segment.shape().nodes > 1) {
        return Status(Code::unsupported,
                      "this version shares pages on one node alone, and the job has " +
                          std::to_string(segment.shape().nodes) + " nodes");
    }
    auto divided = tools.teams.divide(tools.teams.world(), CollectiveCall::init_pages, {0, 0, 0});
    if (!divided.is_ok()) return std::move(divided).failure();
    const team::TeamHandle ranks = divided.value();
    const std::uint64_t count = pages_for(bytes);
    const WindowPlan plan{count * pages::page_bytes, 0};
    std::unique_ptr<WindowMemory> memory;
    Status refusal;
    auto status = tools.teams.run(ranks, {CollectiveCall::init_pages, 0}, [&](team::Team& team) {
        auto opened = WindowMemory::open(team, tools.allocator, segment, plan);
        if (opened.is_ok()) {
            memory = std::move(opened).value();
        } else {
            refusal = std::move(opened).failure();
        }
        return !team.is_broken();
    });
    if (status.is_ok()) status = std::move(refusal);
    if (status.is_ok()) {
        return std::unique_ptr<SharedPages>(
            new SharedPages(tools, ranks, std::move(memory), count));
    }
    (void)tools.teams.free(ranks);
    return status;
}

Status SharedPages::close() {
    auto status = tools_.teams.run(ranks_, {CollectiveCall::finalize_pages, 0},
                                   [](team::Team& team) { return team::synchronize(team); });
    memory_->free_block();
    auto freed = tools_.teams.free(ranks_);
    return status.is_ok() ? std::move(freed) : std::move(status);
}

Result<char*> SharedPages::allocate(std::uint64_t bytes) {
    if (bytes == 0) return Status(Code::argument, "the size is 0 bytes");
    const std::uint64_t count = pages_for(bytes);
    std::uint64_t first = no_page;
    auto status =
        tools_.teams.run(ranks_, {CollectiveCall::alloc_pages, bytes}, [&](team::Team& team) {
            first = allocations_.allocate(count).value_or(no_page);
            return team::synchronize(team);
        });
    if (!status.is_ok()) {
        if (first != no_page) allocations_.free(first);
        return status;
    }
    if (first == no_page) {
        return Status(Code::limit, "no " + std::to_string(count) +
                                       " successive pages are free: of " +
                                       std::to_string(allocations_.page_count()) + " pages " +
                                       std::to_string(allocations_.pages_taken()) +
                                       " are allocated; acp_init_dsm sets their number");
    }
    pages_allocated_.store(allocations_.pages_taken(), std::memory_order_relaxed);
    allocation_count_.store(allocations_.count(), std::memory_order_relaxed);
    return window().tracked(first);
}

Status SharedPages::free(const void* address) {
    const pages::PageNumber first = window().page_of(address);
    const bool is_at_page = window().has(address) && window().tracked(first) == address;
    const auto count = is_at_page ? allocations_.count_at(first) : std::nullopt;
    if (!count) return {Code::argument, "no allocation of shared pages begins at this address"};
    auto status =
        tools_.teams.run(ranks_, {CollectiveCall::free_pages, first}, [&](team::Team& team) {
            if (!team::synchronize(team)) return false;
            if (!team.members().is_leader()) return true;
            // Zero for the next allocation: acp_alloc_dsm returns on no rank before this one calls it.
            memory_->clear({first, *count});
            return true;
        });
    if (!status.is_ok()) return status;
    allocations_.free(first);
    pages_allocated_.store(allocations_.pages_taken(), std::memory_order_relaxed);
    allocation_count_.store(allocations_.count(), std::memory_order_relaxed);
    return {};
}

Status SharedPages::synchronize() {
    auto status = tools_.teams.run(ranks_, {CollectiveCall::barrier_pages, 0},
                                   [](team::Team& team) { return team::synchronize(team); });
    if (status.is_ok()) barriers_.fetch_add(1, std::memory_order_relaxed);
    return status;
}

SharedPagesCounters SharedPages::counters() const noexcept {
    return {pages_allocated_.load(std::memory_order_relaxed),
            allocation_count_.load(std::memory_order_relaxed),
            barriers_.load(std::memory_order_relaxed)};
}

}  // namespace acp::dsm
