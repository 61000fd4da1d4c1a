// SPDX-License-Identifier: BSD-3-Clause
// Claims lines for threads, and does the owner's part of a revocation.
#include "local/hazards.hpp"

#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <utility>

#include "base/fence.hpp"
#include "node/death.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "os/futex.hpp"
#include "os/membarrier.hpp"

namespace acp::local {

#if defined(__SANITIZE_THREAD__)
#define ACP_PLAIN_HAZARDS 0  // ThreadSanitizer sees neither membarrier nor fences
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ACP_PLAIN_HAZARDS 0
#endif
#endif
#ifndef ACP_PLAIN_HAZARDS
#define ACP_PLAIN_HAZARDS 1
#endif

// A line and the thread that holds it.
struct Hazards::Holding {
    Claims* claims = nullptr;
    memory::HazardLine* line = nullptr;
    // the thread's variable that also points to the line; nullptr: there is none
    memory::HazardLine** place = nullptr;
};

// The lines of this process, and which of them are taken.
class Hazards::Claims {
public:
    Claims(const node::Segment& segment, std::uint32_t slot)
        : lines_(segment.hazards(slot)), slot_(&segment.slot(slot)) {
        for (memory::HazardLine& line : lines_) {
            // an earlier Hazards of this process has left it claimed
            if (line.claims.load(std::memory_order_relaxed) != 0) {
                line.target.store(0, std::memory_order_relaxed);
                line.claims.store(0, std::memory_order_relaxed);
            }
        }
        for (std::size_t i = 0; i < holdings_.size(); ++i) {
            holdings_[i] = {this, &lines_[i], nullptr};
        }
    }

    // Claims a free line for the calling thread; nullptr when all are taken.
    Holding* claim() {
        const std::scoped_lock lock(mutex_);
        for (std::uint32_t i = 0; i + 1 < lines_.size(); ++i) {  // the last one is shared
            if (lines_[i].claims.load(std::memory_order_relaxed) == 0) {
                lines_[i].claims.store(1, std::memory_order_relaxed);
                if (slot_->hazard_lines_used.load(std::memory_order_relaxed) < i + 1) {
                    // seq_cst: stored before the line is used, so that later scans include it
                    slot_->hazard_lines_used.store(i + 1, std::memory_order_seq_cst);
                }
                return &holdings_[i];
            }
        }
        return nullptr;
    }

    void give_back(memory::HazardLine* line) {
        // relaxed: the only thread of a forked child stores it before it gives a line back
        if (is_abandoned_.load(std::memory_order_relaxed)) return;
        const std::scoped_lock lock(mutex_);
        line->target.store(0, std::memory_order_release);
        line->claims.store(line->claims.load(std::memory_order_relaxed) - 1,
                           std::memory_order_relaxed);
    }

    void abandon() noexcept { is_abandoned_.store(true, std::memory_order_relaxed); }

private:
    std::mutex mutex_;
    std::span<memory::HazardLine> lines_;
    node::Slot* slot_;
    std::atomic<bool> is_abandoned_{false};
    std::array<Holding, memory::hazard_lines_per_slot> holdings_;
};

constinit thread_local detail::ThreadLine detail::thread_line
    __attribute__((tls_model("initial-exec")));

namespace {

// Numbers the Hazards objects: a later object may have the same address.
std::uint64_t next_view() noexcept {
    static std::atomic<std::uint64_t> views{0};
    // relaxed: the numbers need only differ
    return views.fetch_add(1, std::memory_order_relaxed) + 1;
}

bool names(const memory::HazardLine& line,
           const std::function<bool(memory::GlobalAddress)>& is_named) {
    return memory::is_named_by(line, is_named);
}

constexpr std::uint32_t polls_before_nap = 1000;
constexpr std::uint64_t complain_after_ns = 1'000'000'000;
constexpr std::int64_t nap_ns = 50'000;

}  // namespace

Hazards::Hazards(const node::Segment& segment, std::uint32_t slot)
    : segment_(segment),
      slot_(slot),
      first_line_(segment.hazards(slot).data()),
      view_(next_view()),
      has_membarrier_(os::register_expedited() && ACP_PLAIN_HAZARDS != 0),
      claims_(std::make_unique<Claims>(segment, slot)) {
    auto told = os::ThreadExit::create(at_thread_exit);
    if (told.is_ok()) {
        thread_exit_ = std::move(told).value();
    }
}

Hazards::~Hazards() = default;

void Hazards::abandon() noexcept {
    claims_->abandon();
}

// Called in a thread that exits. The thread's later calls take a line each, because this function
// is not called for it again.
void Hazards::at_thread_exit(void* holding) {
    auto& held = *static_cast<Holding*>(holding);
    detail::thread_line = {0, nullptr, true};
    if (memory::HazardLine** place = std::exchange(held.place, nullptr); place != nullptr) {
        *place = nullptr;
    }
    held.claims->give_back(held.line);
}

// A thread keeps no line if at_thread_exit() is not called for it, or was called already.
bool Hazards::may_keep_line() const noexcept {
    return !detail::thread_line.is_ending && thread_exit_.is_open();
}

// The calling thread's line, claimed at its first call.
Hazards::Holding* Hazards::own_holding() {
    if (!may_keep_line()) {
        return nullptr;
    }
    if (void* held = thread_exit_.get(); held != nullptr) {
        return static_cast<Holding*>(held);
    }
    Holding* claimed = claims_->claim();
    if (claimed != nullptr && !thread_exit_.set(claimed)) {
        claims_->give_back(claimed->line);
        return nullptr;
    }
    return claimed;
}

memory::HazardLine* Hazards::claim_own_line() {
    const Holding* held = own_holding();
    if (held == nullptr) {
        return nullptr;
    }
    detail::thread_line.view = view_;
    detail::thread_line.line = held->line;
    return held->line;
}

void Hazards::keep_own_line(memory::HazardLine*& place) {
    Holding* held = own_holding();
    if (held == nullptr) {
        return;
    }
    held->place = &place;
    place = held->line;
}

Hazards::Lease::Lease(Hazards& hazards) : line_(hazards.free_line()) {
    if (line_ != nullptr) {
        return;
    }
    const bool is_own_in_use = hazards.own_line() != nullptr;
    const Holding* claimed =
        is_own_in_use || !hazards.may_keep_line() ? hazards.claims_->claim() : nullptr;
    if (claimed != nullptr) {
        line_ = claimed->line;
        lender_ = &hazards;
        return;
    }
    lock_ = std::unique_lock(hazards.shared_line_mutex_);
    const std::span lines = hazards.segment_.hazards(hazards.slot_);
    hazards.segment_.slot(hazards.slot_)
        .hazard_lines_used.store(static_cast<std::uint32_t>(lines.size()),
                                 std::memory_order_seq_cst);
    line_ = &lines.back();
}

Hazards::Lease::~Lease() {
    if (lender_ != nullptr) {
        lender_->claims_->give_back(line_);
    }
}

void Hazards::order_with_readers() const noexcept {
    if (has_membarrier_) {
        (void)os::expedite();  // cannot fail: the constructor registered for it
    } else {
        base::fence(std::memory_order_seq_cst);
    }
}

void Hazards::wait_until_unnamed(const std::function<bool(memory::GlobalAddress)>& is_named) const {
    order_with_readers();
    const std::uint64_t complain_at_ns = os::now_ns() + complain_after_ns;
    bool has_complained = false;
    for (std::uint32_t slot = 0; slot < node::slots_of(segment_.shape()); ++slot) {
        const std::uint32_t used =
            segment_.slot(slot).hazard_lines_used.load(std::memory_order_seq_cst);
        for (std::uint32_t i = 0; i < used; ++i) {
            const memory::HazardLine& line = segment_.hazards(slot)[i];
            for (std::uint32_t turns = 0; names(line, is_named) && !node::is_dead(segment_, slot);
                 ++turns) {
                has_complained =
                    pause(turns, slot, has_complained ? ~0ULL : complain_at_ns) || has_complained;
            }
        }
    }
}

bool Hazards::is_named(const std::function<bool(memory::GlobalAddress)>& is_wanted) const noexcept {
    for (std::uint32_t slot = 0; slot < node::slots_of(segment_.shape()); ++slot) {
        if (node::is_dead(segment_, slot)) continue;
        const std::uint32_t used =
            segment_.slot(slot).hazard_lines_used.load(std::memory_order_seq_cst);
        for (std::uint32_t i = 0; i < used; ++i) {
            if (names(segment_.hazards(slot)[i], is_wanted)) return true;
        }
    }
    return false;
}

// Polls first, then sleeps for short times: a thread that leaves its line rings no bell, because
// that would slow the inline path. True when it printed a complaint about the slot, which it does
// after complain_at_ns.
bool Hazards::pause(std::uint32_t turns, std::uint32_t slot, std::uint64_t complain_at_ns) const {
    static const std::atomic<std::uint32_t> never_changes{0};
    if (turns < polls_before_nap) {
        os::relax();
        return false;
    }
    os::futex_wait(never_changes, 0, nap_ns);
    if (turns % polls_before_nap == 0) {
        node::find_the_dead(segment_);
    }
    if (os::now_ns() <= complain_at_ns) {
        return false;
    }
    complain_about(slot);
    return true;
}

void Hazards::complain_about(std::uint32_t slot) const {
    std::fprintf(
        stderr,
        "acp: rank %u takes memory back (acp_unregister_memory, acp_reset or acp_finalize) "
        "and waits: a thread of %s (process %u) is still inside it; is that process "
        "stopped?\n",
        segment_.slot(slot_).rank.load(std::memory_order_relaxed),
        node::name_of(segment_, slot).c_str(),
        segment_.slot(slot).pid.load(std::memory_order_relaxed));
}

}  // namespace acp::local
