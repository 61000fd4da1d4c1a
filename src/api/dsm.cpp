// SPDX-License-Identifier: BSD-3-Clause
// <acp/dsm.h>.
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "api/shared_range.hpp"
#include "api/team_calls.hpp"
#include "base/format.hpp"
#include "os/fault_handler.hpp"

#include <acp/dsm.h>

#include "operations/lock_operations.hpp"

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::library;
using base::Code;
using base::Result;
using base::Status;
using dsm::SharedPages;
static_assert(ACP_BIND_BYTES_MAX == operations::lock_bytes_max);
static_assert(ACP_UPDATE_ALWAYS - ACP_UPDATE_LEARN == static_cast<int>(dsm::UpdateChoice::always));
static_assert(ACP_UPDATE_NEVER - ACP_UPDATE_LEARN == static_cast<int>(dsm::UpdateChoice::never));

// Calls body(shared pages).
template <typename Body>
auto with_pages(const Body& body) -> decltype(body(*library().shared_pages)) {
    SharedPages* const pages = library().shared_pages.get();
    if (pages == nullptr)
        return Status(Code::state, "there are no shared pages: call acp_init_dsm");
    return body(*pages);
}

Status open_pages(std::size_t size) {
    api::Library& here = library();
    if (here.shared_pages != nullptr) {
        return {Code::state, "there are shared pages already: acp_finalize_dsm ends them"};
    }
    if (size == 0 || size > SharedPages::bytes_max) {
        return {Code::argument, "the size is " + base::in_bytes(size) + ", of 1 to " +
                                    base::in_bytes(SharedPages::bytes_max)};
    }
    auto opened =
        SharedPages::open({*here.gma, *here.allocator, *here.teams, here.config.page_fault_way,
                           here.config.page_cache_bytes, here.config.page_check,
                           [](acp_ga_t lock, std::span<const std::byte> bytes) {
                               return library().locks->bind(lock, bytes);
                           }},
                          size);
    if (!opened.is_ok()) return std::move(opened).failure();
    here.shared_pages = std::move(opened).value();
    api::begin_shared_range(here.shared_pages->window());
    return {};
}

// Errors: argument.
Result<pages::HomeRule> rule_of(const SharedPages& pages,
                                acp_home_t policy,
                                std::uint64_t argument) {
    const auto refused = [&](const std::string& range) {
        return Status(Code::argument, "the argument of the policy is " + std::to_string(argument) +
                                          ", of " + range);
    };
    const std::uint32_t procs = library().gma->space().segment().shape().procs;
    constexpr std::uint64_t run_max = std::uint64_t{1} << 31;
    switch (policy) {
        case ACP_HOME_CYCLIC:
            if (argument == 0 || argument > run_max)
                return refused("1 to " + std::to_string(run_max) + " pages");
            return pages::HomeRule{pages::HomePolicy::cyclic, false, argument, 0};
        case ACP_HOME_RANK:
            if (argument >= procs) return refused("ranks 0 to " + std::to_string(procs - 1));
            return pages::HomeRule{pages::HomePolicy::fixed, false, 1,
                                   pages.node_of(static_cast<std::uint32_t>(argument))};
        case ACP_HOME_MIGRATING:
        case ACP_HOME_BLOCK:
        case ACP_HOME_FIRST_WRITER:
            break;
        default:
            return Status(Code::argument, "the policy is " +
                                              std::to_string(static_cast<int>(policy)) +
                                              ", and no ACP_HOME_...");
    }
    if (argument != 0) return refused("0 alone");
    const auto rule = policy == ACP_HOME_FIRST_WRITER ? pages::HomePolicy::first_writer
                                                      : pages::HomePolicy::block;
    return pages::HomeRule{rule, policy == ACP_HOME_MIGRATING, 1, 0};
}

acp_stats_dsm_t stats_of(const SharedPages& pages) noexcept {
    const dsm::PageCounters& counters = pages.counters();
    const auto value = [](const dsm::PageCounter& counter) {
        return counter.load(std::memory_order_relaxed);
    };
    acp_stats_dsm_t stats{};
    stats.bytes = pages.bytes();
    stats.bytes_allocated = value(counters.calls.pages_allocated) * pages::page_bytes;
    stats.allocations = value(counters.calls.allocations);
    stats.barriers = value(counters.calls.barriers);
    stats.faults = value(counters.faults.faults);
    stats.fault_ns = value(counters.faults.ns);
    stats.pages_fetched = value(counters.fetches.pages);
    stats.pages_prefetched = value(counters.prefetched);
    stats.pages_sent = value(counters.flushes.pages);
    stats.bytes_sent = value(counters.flushes.bytes);
    stats.pages_dropped = value(counters.calls.dropped);
    stats.homes_gained = value(counters.calls.gained);
    stats.pages_updated = value(counters.updated);
    stats.pages_ahead = value(counters.faults.ahead);
    stats.pages_ahead_unused = value(counters.calls.unused);
    stats.cache_bytes = pages.cache_bytes();
    stats.bytes_cached = pages.bytes_cached();
    stats.pages_evicted = value(counters.evictions.pages);
    stats.pages_evicted_sent = value(counters.evictions.sent.pages);
    stats.bytes_evicted_sent = value(counters.evictions.sent.bytes);
    stats.races = value(counters.checks.races);
    stats.pages_unchecked = value(counters.checks.unchecked);
    return stats;
}

}  // namespace

extern "C" {

int acp_init_dsm(size_t size) {
    return api::run_team_call("acp_init_dsm", [&] { return open_pages(size); });
}

int acp_finalize_dsm(void) {
    return api::run_team_call("acp_finalize_dsm", [] {
        return with_pages([](SharedPages& pages) {
            Status status = pages.close();
            if (status.code() == Code::state) return status;  // nothing has changed
            api::end_shared_range();
            library().shared_pages.reset();
            return status;
        });
    });
}

void* acp_alloc_dsm(size_t size) {
    constexpr const char* call = "acp_alloc_dsm";
    return api::run<Gravity::misuse_ends>(
        call, static_cast<void*>(nullptr), [&]() -> Result<void*> {
            auto made = with_pages([&](SharedPages& pages) { return pages.allocate(size); });
            if (!made.is_ok()) return api::in_call(call, std::move(made).failure());
            return static_cast<void*>(made.value());
        });
}

void* acp_alloc_home_dsm(size_t size, acp_home_t policy, uint64_t argument) {
    constexpr const char* call = "acp_alloc_home_dsm";
    return api::run<Gravity::misuse_ends>(
        call, static_cast<void*>(nullptr), [&]() -> Result<void*> {
            auto made = with_pages([&](SharedPages& pages) -> Result<char*> {
                auto rule = rule_of(pages, policy, argument);
                if (!rule.is_ok()) return std::move(rule).failure();
                return pages.allocate(size, rule.value(), static_cast<std::uint8_t>(policy),
                                      static_cast<std::uint32_t>(argument));
            });
            if (!made.is_ok()) return api::in_call(call, std::move(made).failure());
            return static_cast<void*>(made.value());
        });
}

int acp_set_home_dsm(const void* address, size_t size, int rank) {
    return api::run_team_call("acp_set_home_dsm", [&] {
        return with_pages([&](SharedPages& pages) -> Status {
            const std::uint32_t procs = library().gma->space().segment().shape().procs;
            if (size == 0) return {Code::argument, "the size is 0 bytes"};
            if (rank < 0 || static_cast<std::uint32_t>(rank) >= procs) {
                return {Code::argument, "the rank is " + std::to_string(rank) + ", of 0 to " +
                                            std::to_string(procs - 1)};
            }
            return pages.set_home(address, size, static_cast<std::uint32_t>(rank));
        });
    });
}

int acp_query_home_dsm(const void* address) {
    constexpr const char* call = "acp_query_home_dsm";
    return api::run<Gravity::misuse_ends>(call, -1, [&]() -> Result<int> {
        auto home = with_pages([&](const SharedPages& pages) -> Result<std::uint32_t> {
            return pages.home_of(address);
        });
        if (!home.is_ok()) return api::in_call(call, std::move(home).failure());
        return static_cast<int>(home.value());
    });
}

int acp_bind_dsm(acp_lock_t lock, const void* address, size_t size) {
    return api::run_team_call("acp_bind_dsm", [&] {
        return with_pages([&](SharedPages& pages) { return pages.bind(lock.ga, address, size); });
    });
}

int acp_free_dsm(void* address) {
    return api::run_team_call("acp_free_dsm", [&] {
        return with_pages([&](SharedPages& pages) { return pages.free(address); });
    });
}

int acp_barrier_dsm(void) {
    return api::run_team_call("acp_barrier_dsm", [] {
        return with_pages([](SharedPages& pages) { return pages.synchronize(); });
    });
}

int acp_prefetch_dsm(const void* address, size_t size) {
    return api::run_team_call("acp_prefetch_dsm", [&] {
        return with_pages([&](SharedPages& pages) {
            return size == 0 ? Status() : pages.prefetch(address, size);
        });
    });
}

int acp_flush_dsm(const void* address, size_t size) {
    return api::run_team_call("acp_flush_dsm", [&] {
        return with_pages(
            [&](SharedPages& pages) { return size == 0 ? Status() : pages.flush(address, size); });
    });
}

int acp_fence_dsm(const void* address, size_t size) {
    return api::run_team_call("acp_fence_dsm", [&] {
        return with_pages(
            [&](SharedPages& pages) { return size == 0 ? Status() : pages.fence(address, size); });
    });
}

int acp_set_update_dsm(const void* address, size_t size, int update) {
    return api::run_team_call("acp_set_update_dsm", [&] {
        return with_pages([&](SharedPages& pages) -> Status {
            if (update < ACP_UPDATE_LEARN || update > ACP_UPDATE_NEVER) {
                return {Code::argument, "update is " + std::to_string(update) +
                                            ", which is no constant ACP_UPDATE_..."};
            }
            if (size == 0) return {};
            return pages.choose_update(address, size,
                                       static_cast<dsm::UpdateChoice>(update - ACP_UPDATE_LEARN));
        });
    });
}

int acp_set_cache_dsm(size_t bytes) {
    return api::run_team_call("acp_set_cache_dsm", [&] {
        return with_pages([&](SharedPages& pages) {
            pages.set_cache(bytes);
            return Status();
        });
    });
}

// Not by the boundary: it runs in a signal handler.
int acp_handle_fault_dsm(const void* info, const void* context) {
    return info != nullptr && os::handle_fault(*static_cast<const siginfo_t*>(info), context) ? 1
                                                                                              : 0;
}

acp_ga_t acp_query_ga_dsm(const void* address) {
    constexpr const char* call = "acp_query_ga_dsm";
    return api::run<Gravity::misuse_ends>(call, ACP_GA_NULL, [&]() -> Result<acp_ga_t> {
        auto ga = with_pages([&](const SharedPages& pages) -> Result<acp_ga_t> {
            return pages.address_of(address);
        });
        return ga.is_ok() ? std::move(ga) : api::in_call(call, std::move(ga).failure());
    });
}

int acp_query_stats_dsm(acp_stats_dsm_t* stats, size_t size) {
    return api::run_team_call("acp_query_stats_dsm", [&] {
        return with_pages([&](const SharedPages& pages) -> Status {
            if (stats == nullptr) return {Code::argument, "stats is NULL"};
            if (size == 0) return {Code::argument, "the size of stats is 0"};
            const acp_stats_dsm_t now = stats_of(pages);
            std::memset(stats, 0, size);
            std::memcpy(stats, &now, std::min(size, sizeof now));
            return {};
        });
    });
}

}  // extern "C"
