// SPDX-License-Identifier: BSD-3-Clause
// The instance, and its state after a fork.
#include "api/library.hpp"

#include <array>
#include <cstddef>
#include <new>

#include "api/last_error.hpp"
#include "os/process.hpp"

namespace acp::api {

constinit std::atomic<Library*> library_at_hand{nullptr};
constinit gma::FastPath fast_path{};
constinit data::Allocator* allocator_at_hand = nullptr;
constinit data::Hashed* hashed_at_hand = nullptr;
constinit std::uint64_t hashed_epoch = 0;
constinit std::array<data::TableViews, heap::threads_with_cache> table_views{};
constinit thread_local data::TableViews* table_views_at_hand
    __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local memory::HazardLine* inline_line __attribute__((tls_model("initial-exec"))) =
    nullptr;

Library& make_library() noexcept {
    // In static memory: it is made before main, where a failed allocation could not be reported.
    // Never destroyed.
    alignas(Library) static constinit std::array<std::byte, sizeof(Library)> room{};
    static Library& instance = *new (room.data()) Library();
    library_at_hand.store(&instance, std::memory_order_release);  // partner: library()
    return instance;
}

namespace {

// The child has the parent's memory but is not a rank: it may only exec or _exit. If it ends by
// exit() all the same, exit handlers must not touch resources of its parent, nor take a lock that
// another thread held at the fork.
void close_in_forked_child() {
    Library& instance = library();
    if (instance.member == nullptr && instance.life.state() == LifeState::not_initialised) {
        return;  // its parent never tried to join: it may
    }
    inline_line = nullptr;
    fast_path.view.index_count = 0;
    fast_path.marks.complete_below.store(0, std::memory_order_relaxed);
    fast_path.marks.order_floor.store(0, std::memory_order_relaxed);
    (void)instance.life.take(Step::fork);
    if (instance.hazards != nullptr) {
        instance.hazards->abandon();
    }
}

// The instance is made when the library is loaded, so that no thread is inside its construction at
// a fork.
const bool is_fork_watched = [] {
    (void)library();
    return os::call_in_forked_child(close_in_forked_child);
}();

}  // namespace

void keep_table_view(const data::ContainerName& name, const data::TablePlace& place) noexcept {
    const std::uint32_t thread = library().hazards->index_of(*inline_line);
    if (thread >= table_views.size()) return;
    table_views_at_hand = &table_views[thread];
    table_views_at_hand->learn(hashed_epoch, name, place, thread);
}

void open_inline_path() noexcept {
    (void)is_fork_watched;
    Library& instance = library();
    if (instance.hazards->has_membarrier()) {
        instance.hazards->keep_own_line(inline_line);
    }
}

void keep(const base::Status& status) noexcept {
    last_error().set(status);
}

}  // namespace acp::api
