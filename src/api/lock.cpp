// SPDX-License-Identifier: BSD-3-Clause
// <acp/lock.h>.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "api/boundary.hpp"
#include "api/check.hpp"
#include "api/ends.hpp"
#include "api/library.hpp"
#include "gma/commands.hpp"
#include "memory/hazard.hpp"
#include "sync/lock_bytes.hpp"
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

// The bytes of shared pages that are bound to a lock; nullptr: none.
dsm::BoundRange* bound_to(acp_lock_t lock) noexcept {
    dsm::SharedPages* const pages = library().shared_pages.get();
    return pages == nullptr ? nullptr : pages->bound_to(lock.ga);
}

// Room for the lock's record, on the stack.
class BoundRoom {
public:
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): as much of the room as is used is written
    explicit BoundRoom(const dsm::BoundRange* range) noexcept
        : bytes_(room_.data(), range == nullptr ? 0 : range->record_bytes()) {}

    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }

private:
    std::array<std::byte, operations::lock_bytes_max> room_;
    std::span<std::byte> bytes_;
};

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
        lock::change_inline(api::fast_path.view, *line, lock.ga, [line](auto& head) {
            return sync::QueuedLock<>::take_if_free(head, party_of(*line));
        });
    if (is_taken) memory::claim_for_lock(*line);
    return is_taken;
}

// The number of the calling thread in its process.
std::uint32_t own_thread() {
    const auto* const line = library().hazards->own_line();
    return line != nullptr ? library().hazards->index_of(*line) : sync::lock_thread_shared;
}

// Runs change(head, record, range) on a lock of this node with which bytes travel; returns as
// change_inline(). The pages of the range are at hand.
template <typename Change>
[[gnu::always_inline]] inline bool change_bound(acp_lock_t lock, const Change& change) noexcept {
    memory::HazardLine* const line = api::inline_line;
    const dsm::SharedPages* const pages = library().shared_pages.get();
    if (!api::is_free(line) || pages == nullptr) return false;
    const auto change_head = [&](auto& head) {
        dsm::BoundRange* const range = pages->find_bound(lock.ga);
        if (range == nullptr || range->way != dsm::BoundWay::travels ||
            !pages->has_bound_pages(*range)) {
            return false;
        }
        const auto record = sync::LockBytes<>::of(head, range->bytes);
        return record && change(head, *record, *range);
    };
    return lock::change_inline<lock::LockKind::bound>(api::fast_path.view, *line, lock.ga,
                                                      change_head);
}

// take_at_once() of a lock with bytes, which come into the pages.
[[gnu::noinline]] bool take_bound_at_once(acp_lock_t lock) noexcept {
    memory::HazardLine* const line = api::inline_line;
    const auto take = [line](auto& head, const auto& record, dsm::BoundRange& range) {
        const sync::LockParty me = party_of(*line);
        if (!sync::QueuedLock<>::take_if_free(head, me)) return false;
        record.read(library().shared_pages->bound_bytes(range));
        range.holder.store(me.thread + 1, std::memory_order_relaxed);
        return true;
    };
    const bool is_taken = change_bound(lock, take);
    if (is_taken) memory::claim_for_lock(*line);
    return is_taken;
}

// Publishes the bytes and releases the lock, if no thread waits for it.
[[gnu::noinline]] bool release_bound_at_once(acp_lock_t lock) noexcept {
    memory::HazardLine* const line = api::inline_line;
    const auto release = [line](auto& head, const auto& record, dsm::BoundRange& range) {
        const sync::LockParty me = party_of(*line);
        if (!sync::QueuedLock<>::is_held_by(head, me)) return false;
        const dsm::SharedPages& pages = *library().shared_pages;
        pages.report_bound(range);
        record.publish(pages.bound_bytes(range));
        range.holder.store(0, std::memory_order_relaxed);
        if (sync::QueuedLock<>::release_if_alone(head, me)) return true;
        range.holder.store(me.thread + 1, std::memory_order_relaxed);
        return false;
    };
    const bool is_released = change_bound(lock, release);
    if (is_released) memory::unclaim_for_lock(*line);
    return is_released;
}

// A thread that has got the lock cannot get its bytes. A log says that a holder died, which the next
// holder does not learn from the lock.
lock::BoundBytes record_after_failure(const dsm::BoundRange& range, bool has_died) noexcept {
    if (range.way != dsm::BoundWay::logged || !has_died) return {};
    return range.log.bytes();
}

[[gnu::noinline]] int take(const char* call, acp_lock_t lock, std::int64_t timeout_ns) noexcept {
    return api::run<Gravity::misuse_ends>(call, -1, [&]() -> Result<int> {
        if (api::inline_line == nullptr) api::open_inline_path();
        dsm::BoundRange* const range = bound_to(lock);
        const BoundRoom room(range);
        auto taken =
            locks().take(lock.ga, timeout_ns, api::report_of_long_wait(call), room.bytes());
        if (!taken.is_ok()) return named(call, lock, std::move(taken).failure());
        if (!taken.value().has_lock) return int{ACP_NONE};
        if (range != nullptr) {
            const bool has_died = taken.value().has_died;
            Status entered =
                library().shared_pages->enter_bound(*range, room.bytes(), own_thread(), has_died);
            if (!entered.is_ok()) {
                (void)locks().release(lock.ga, record_after_failure(*range, has_died));
                return named(call, lock, std::move(entered));
            }
        }
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
        dsm::BoundRange* const range = bound_to(lock);
        const BoundRoom room(range);
        Status left;
        if (range != nullptr)
            left = library().shared_pages->leave_bound(*range, own_thread(), room.bytes());
        Status status = all.release(lock.ga, room.bytes());
        if (range != nullptr && status.is_ok()) {
            library().shared_pages->end_bound(*range, own_thread(), room.bytes());
        } else if (range != nullptr && status.code() == base::Code::peer) {
            // Another thread may hold the lock.
            range->note_released_by(own_thread());
        }
        auto* const line = library().hazards->own_line();
        if (status.is_ok() && line != nullptr) memory::unclaim_for_lock(*line);
        return status.is_ok() ? std::move(left) : std::move(status);
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
    return run_on("acp_free_lock", lock, [&](Locks& all) {
        if (bound_to(lock) == nullptr) return all.free(lock.ga);
        return Status(base::Code::state,
                      "bytes of shared pages are bound to the lock: acp_bind_dsm with size 0 ends "
                      "that");
    });
}

int acp_lock(acp_lock_t lock) {
    return take_at_once(lock) || take_bound_at_once(lock) ? 0 : take("acp_lock", lock, -1);
}

int acp_try_lock(acp_lock_t lock) {
    return take_at_once(lock) || take_bound_at_once(lock) ? 0 : take("acp_try_lock", lock, 0);
}

int acp_lock_timeout(acp_lock_t lock, int64_t timeout_ns) {
    if (take_at_once(lock) || take_bound_at_once(lock)) return 0;
    return take("acp_lock_timeout", lock, timeout_ns);
}

int acp_unlock(acp_lock_t lock) {
    memory::HazardLine* const line = api::inline_line;
    const bool is_released =
        api::is_free(line) &&
        lock::change_inline(api::fast_path.view, *line, lock.ga, [line](auto& head) {
            return sync::QueuedLock<>::release_if_alone(head, party_of(*line));
        });
    if (!is_released) return release_bound_at_once(lock) ? 0 : unlock_long(lock);
    memory::unclaim_for_lock(*line);
    return 0;
}
}
