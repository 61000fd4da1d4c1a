// SPDX-License-Identifier: BSD-3-Clause
// <acp/dsm.h>.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "api/shared_range.hpp"
#include "api/team_calls.hpp"
#include "base/format.hpp"
#include "os/fault_handler.hpp"

#include <acp/dsm.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::library;
using base::Code;
using base::Result;
using base::Status;
using dsm::SharedPages;

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
    auto opened = SharedPages::open(
        {*here.gma, *here.allocator, *here.teams, here.config.page_fault_way}, size);
    if (!opened.is_ok()) return std::move(opened).failure();
    here.shared_pages = std::move(opened).value();
    api::begin_shared_range(here.shared_pages->window());
    return {};
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
