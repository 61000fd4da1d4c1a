// SPDX-License-Identifier: BSD-3-Clause
// The instance, and what forking does to it.
#include "api/library.hpp"

#include <array>
#include <cstddef>
#include <new>

#include "api/last_error.hpp"
#include "os/process.hpp"

namespace acp::api {

// In memory of the library's own: the instance is made before main, where nobody could be told that there is none.
alignas(Library) constinit std::array<std::byte, sizeof(Library)> library_room{};
constinit gma::FastPath fast_path{};
constinit data::Hashed* hashed_at_hand = nullptr;
constinit thread_local memory::HazardLine* inline_line __attribute__((tls_model("initial-exec"))) =
    nullptr;

Library& library() noexcept {
    static Library& instance = *new (library_room.data()) Library();  // never destroyed
    return instance;
}

namespace {

// The child has the parent's memory but is not a rank: it may only exec or _exit. Where it ends by exit() all the same,
// nothing that runs then may touch what its parent uses, nor take a lock that another thread held at the fork.
void close_in_forked_child() {
    Library& instance = library();
    if (instance.member == nullptr && instance.life.state() == LifeState::not_initialised) {
        return;  // its parent never tried to join: it may
    }
    inline_line = nullptr;
    fast_path.view.index_count = 0;
    fast_path.marks.complete_floor.store(0, std::memory_order_relaxed);
    fast_path.marks.order_floor.store(0, std::memory_order_relaxed);
    (void)instance.life.take(Step::fork);
    if (instance.hazards != nullptr) {
        instance.hazards->abandon();
    }
}

// The instance is made when the library is loaded, so that no thread is inside its construction at a fork.
const bool is_fork_watched = [] {
    (void)library();
    return os::call_in_forked_child(close_in_forked_child);
}();

}  // namespace

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
