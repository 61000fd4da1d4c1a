// SPDX-License-Identifier: BSD-3-Clause
// <acp/lock.h>.
#include <cstdint>
#include <string>
#include <utility>

#include "api/boundary.hpp"
#include "api/check.hpp"
#include "api/ends.hpp"
#include "api/library.hpp"
#include "gma/commands.hpp"
#include "memory/hazard.hpp"
#include "sync/queued_lock.hpp"

#include <acp/lock.h>

#include "lock/locks.hpp"

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::library;
using base::Result;
using base::Status;
using lock::Locks;

Locks& locks() noexcept {
    return *library().locks;
}

// "acp_lock(lock 0x.. on rank 1) by rank 0 on host"
Status named(const char* call, acp_lock_t lock, Status failure) {
    if (failure.is_ok()) return failure;
    return std::move(failure).within(std::string(call) + "(lock " +
                                     library().allocator->name_of(lock.ga) + ")" +
                                     gma::by_rank(library().member->rank()));
}

// The calling thread, by its hazard line.
sync::LockParty party_of(const memory::HazardLine& line) noexcept {
    const api::Library& here = library();
    return {here.gma->space().process(), here.hazards->index_of(line), 0};
}

// Takes a free lock of this node, as most calls do: one compare-and-swap.
[[gnu::always_inline]] inline bool take_at_once(acp_lock_t lock) noexcept {
    memory::HazardLine* const line = api::inline_line;
    const bool is_taken =
        api::is_free(line) &&
        lock::change_at_once(api::fast_path.view, *line, lock.ga, [line](auto& head) {
            return sync::QueuedLock<>::take_if_free(head, party_of(*line));
        });
    if (is_taken) memory::claim_for_lock(*line);
    return is_taken;
}

[[gnu::noinline]] int take(const char* call, acp_lock_t lock, std::int64_t timeout_ns) noexcept {
    return api::run<Gravity::misuse_ends>(call, -1, [&]() -> Result<int> {
        if (api::inline_line == nullptr) api::open_inline_path();
        auto taken = locks().take(lock.ga, timeout_ns, api::report_of_long_wait(call));
        if (!taken.is_ok()) return named(call, lock, std::move(taken).failure());
        if (!taken.value().has_lock) return int{ACP_NONE};
        if (auto* const line = library().hazards->own_line(); line != nullptr)
            memory::claim_for_lock(*line);
        return taken.value().has_died ? 1 : 0;
    });
}

template <typename Body>
int run_on(const char* call, acp_lock_t lock, const Body& body) noexcept {
    const bool is_ok = api::run<Gravity::misuse_ends>(
        call, false, [&]() -> Status { return named(call, lock, body(locks())); });
    return is_ok ? 0 : -1;
}

[[gnu::noinline]] int unlock_long(acp_lock_t lock) noexcept {
    return run_on("acp_unlock", lock, [&](Locks& all) {
        Status status = all.release(lock.ga);
        auto* const line = library().hazards->own_line();
        if (status.is_ok() && line != nullptr) memory::unclaim_for_lock(*line);
        return status;
    });
}

}  // namespace

extern "C" {

acp_lock_t acp_create_lock(int rank) {
    return {api::run<Gravity::misuse_ends>(
        "acp_create_lock", acp_ga_t{ACP_GA_NULL}, [&]() -> Result<acp_ga_t> {
            const auto body = [&]() -> Result<acp_ga_t> {
                auto process = api::process_of("rank", rank);
                if (!process.is_ok()) return std::move(process).failure();
                return locks().make(process.value());
            };
            auto made = body();
            if (made.is_ok()) return made;
            return std::move(made).failure().within("acp_create_lock(rank " + std::to_string(rank) +
                                                    ")" + gma::by_rank(library().member->rank()));
        })};
}

int acp_free_lock(acp_lock_t lock) {
    return run_on("acp_free_lock", lock, [&](Locks& all) { return all.free(lock.ga); });
}

int acp_lock(acp_lock_t lock) {
    return take_at_once(lock) ? 0 : take("acp_lock", lock, -1);
}

int acp_try_lock(acp_lock_t lock) {
    return take_at_once(lock) ? 0 : take("acp_try_lock", lock, 0);
}

int acp_lock_timeout(acp_lock_t lock, int64_t timeout_ns) {
    return take_at_once(lock) ? 0 : take("acp_lock_timeout", lock, timeout_ns);
}

int acp_unlock(acp_lock_t lock) {
    memory::HazardLine* const line = api::inline_line;
    const bool is_released =
        api::is_free(line) &&
        lock::change_at_once(api::fast_path.view, *line, lock.ga, [line](auto& head) {
            return sync::QueuedLock<>::release_if_alone(head, party_of(*line));
        });
    if (!is_released) return unlock_long(lock);
    memory::unclaim_for_lock(*line);
    return 0;
}
}
