// SPDX-License-Identifier: BSD-3-Clause
// Claiming lines, and the owner's side of revocation.
#include "local/hazards.hpp"

#include <cstdio>
#include <string>
#include <vector>

#include "node/death.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"
#include "os/futex.hpp"
#include "os/membarrier.hpp"

namespace acp::local {

#if defined(__SANITIZE_THREAD__)
#define ACP_PLAIN_HAZARDS 0  // the tool sees neither membarrier nor fences
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ACP_PLAIN_HAZARDS 0
#endif
#endif
#ifndef ACP_PLAIN_HAZARDS
#define ACP_PLAIN_HAZARDS 1
#endif

struct Hazards::Claims {
    std::mutex mutex;
    std::span<memory::HazardLine> lines;  // empty once the process has left
    node::Slot* slot = nullptr;

    memory::HazardLine* claim() {
        const std::scoped_lock lock(mutex);
        for (std::uint32_t i = 0; i + 1 < lines.size(); ++i) {  // the last one is shared
            if (lines[i].is_claimed.load(std::memory_order_relaxed) == 0) {
                lines[i].is_claimed.store(1, std::memory_order_relaxed);
                if (slot->hazard_lines_used.load(std::memory_order_relaxed) < i + 1) {
                    slot->hazard_lines_used.store(
                        i + 1, std::memory_order_seq_cst);  // before the line is used
                }
                return &lines[i];
            }
        }
        return nullptr;
    }

    void give_back(memory::HazardLine* line) {
        const std::scoped_lock lock(mutex);
        if (!lines.empty()) {
            line->target.store(0, std::memory_order_release);
            line->is_claimed.store(0, std::memory_order_relaxed);
        }
    }
};

namespace {

// The lines this thread holds, one per process view it works in (one, but for tests).
struct HeldLine {
    std::weak_ptr<void> owner;
    const void* key;
    memory::HazardLine* line;
    std::function<void()> give_back;
};

// The one the thread used last, found without a search. It is held, too: while it is, its key is no other
// object's address, for a weak pointer keeps the memory of a dead owner.
struct RecentLine {
    const void* key = nullptr;
    memory::HazardLine* line = nullptr;
};

constinit thread_local RecentLine t_recent __attribute__((tls_model("initial-exec")));

struct HeldLines {
    std::vector<HeldLine> held;

    HeldLines() = default;
    HeldLines(const HeldLines&) = delete;
    HeldLines& operator=(const HeldLines&) = delete;

    ~HeldLines() {
        t_recent = {};
        for (const HeldLine& one : held) {
            if (const auto owner = one.owner.lock()) {
                one.give_back();
            }
        }
    }
};

thread_local HeldLines t_held;

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
      has_membarrier_(os::register_expedited() && ACP_PLAIN_HAZARDS != 0),
      claims_(std::make_shared<Claims>()) {
    claims_->lines = segment.hazards(slot);
    claims_->slot = &segment.slot(slot);
    for (memory::HazardLine& line : claims_->lines) {
        if (line.is_claimed.load(std::memory_order_relaxed) !=
            0) {  // of an earlier epoch of this process
            line.target.store(0, std::memory_order_relaxed);
            line.is_claimed.store(0, std::memory_order_relaxed);
        }
    }
}

Hazards::~Hazards() {
    const std::scoped_lock lock(claims_->mutex);
    claims_->lines = {};
}

memory::HazardLine* Hazards::own_line() {
    if (t_recent.key == claims_.get()) [[likely]] {
        return t_recent.line;
    }
    t_recent = {};
    std::erase_if(t_held.held, [](const HeldLine& one) { return one.owner.expired(); });
    for (const HeldLine& one : t_held.held) {
        if (one.key == claims_.get()) {
            t_recent = {one.key, one.line};
            return one.line;
        }
    }
    memory::HazardLine* line = claims_->claim();
    if (line != nullptr) {
        Claims* claims = claims_.get();
        t_held.held.push_back({claims_, claims, line, [claims, line] { claims->give_back(line); }});
        t_recent = {claims, line};
    }
    return line;
}

Hazards::Lease::Lease(Hazards& hazards) : line_(hazards.own_line()) {
    if (line_ == nullptr) {
        lock_ = std::unique_lock(hazards.shared_line_mutex_);
        const std::span lines = hazards.segment_.hazards(hazards.slot_);
        hazards.segment_.slot(hazards.slot_)
            .hazard_lines_used.store(static_cast<std::uint32_t>(lines.size()),
                                     std::memory_order_seq_cst);
        line_ = &lines.back();
    }
}

void Hazards::wait_until_unnamed(const std::function<bool(memory::GlobalAddress)>& is_named) const {
    if (has_membarrier_) {
        (void)os::expedite();  // registered above: cannot be refused now
    } else {
#if ACP_PLAIN_HAZARDS
        std::atomic_thread_fence(std::memory_order_seq_cst);
#else  // the tool knows no fences; a read-modify-write does for it
        segment_.control().deaths.fetch_add(0, std::memory_order_seq_cst);
#endif
    }
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

// Polls first, then naps: nobody rings when a line is left, for the inline path must not pay for it. True when
// it complained about the slot because it is later than that.
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
    std::fprintf(stderr,
                 "acp: rank %u waits in acp_unregister_memory: a thread of %s (process %u) is "
                 "still inside the memory; is that process stopped?\n",
                 segment_.slot(slot_).rank.load(std::memory_order_relaxed),
                 node::name_of(segment_, slot).c_str(),
                 segment_.slot(slot).pid.load(std::memory_order_relaxed));
}

}  // namespace acp::local
