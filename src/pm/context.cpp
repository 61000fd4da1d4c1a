// SPDX-License-Identifier: BSD-3-Clause
// Ways to destinations, looking after the pool, waiting, and ends of others.
#include "pm/context.hpp"

#include <algorithm>
#include <new>
#include <string>

#include "gma/condition.hpp"
#include "node/death.hpp"
#include "node/loss.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"

namespace acp::pm {

using base::Code;
using base::Status;

// Whatever the number of processes; but for what is under way to other nodes.
static_assert(pool_bytes + sizeof(Context) + message_bytes_max +
                  ReceivePool<NodeHost>::private_bytes() +
                  outlets * (sizeof(FarOutlet) + ring_shape.lines() * sizeof(std::uint64_t)) <=
              std::uint64_t{3} << 20);

Context::Context(gma::Gma& gma,
                 data::Allocator& allocator,
                 std::uint32_t number,
                 memory::GlobalAddress pool)
    : host_(gma, allocator, number),
      address_(pool),
      memory_(host_.pointer_to(host_.process(), pool)),
      deaths_word_(gma.space().segment().control().deaths),
      pool_(host_, memory_),
      staging_(message_bytes_max) {
    const node::Shape& shape = gma.space().segment().shape();
    has_far_ = shape.procs != shape.local_procs;
}

void Context::open() noexcept {
    pool_.open();
    // release: partner is NodeHost::pool_of, operations::TakeLease; the pool is there
    host_.pool_word(host_.process()).store(address_, std::memory_order_release);
}

void Context::close() noexcept {
    if (OutletSlot* const to = std::exchange(reserved_, nullptr); to != nullptr)
        to->near.has_value() ? to->near->cancel() : to->far->cancel();
    if (is_held_ || ready_.data != nullptr) pool_.release();
    is_held_ = false;
    ready_ = {};
    // Before the leases end: whoever finds none sees why.
    host_.pool_word(host_.process()).store(address_ | pool_closed, std::memory_order_release);
    pool_.close();
}

// --- Destinations ---

Context::OutletSlot* Context::find(std::uint32_t process) noexcept {
    for (OutletSlot& slot : outlets_)
        if (slot.process == process) return &slot;
    return nullptr;
}

// The one that was used longest ago, if nobody needs it any more.
Context::OutletSlot* Context::take_settled() {
    OutletSlot* oldest = nullptr;
    for (OutletSlot& slot : outlets_) {
        if (slot.process == nobody) return &slot;
        const bool is_settled =
            slot.near.has_value() ? slot.near->is_settled() : slot.far->is_settled();
        if (is_settled && (oldest == nullptr || slot.last_use < oldest->last_use)) oldest = &slot;
    }
    return oldest;
}

void Context::make(OutletSlot& slot, std::uint32_t index, std::uint32_t process) {
    slot.process = nobody;
    slot.near.reset();
    slot.far.reset();
    if (!host_.is_near(process)) {
        slot.far = std::make_unique<FarOutlet>(host_, process, index, staging_.data());
    } else {
        auto& own = reinterpret_cast<sync::LeaseDesk<>*>(memory_)->own;
        slot.near.emplace(host_, NearOutlet<NodeHost>::OutletPlace{process, host_.pool_of(process),
                                                                   &own, &host_.bell_of(process)});
    }
    slot.process = process;
}

// Their ways serve others.
void Context::forget_gone() noexcept {
    deaths_heeded_ = deaths();
    for (OutletSlot& slot : outlets_) {
        if (slot.process == nobody || !host_.is_gone(slot.process)) continue;
        slot.process = nobody;
        slot.near.reset();
        slot.far.reset();
    }
    last_ = nullptr;
}

Context::OutletSlot* Context::find_or_make(std::uint32_t process) {
    if (deaths() != deaths_heeded_) forget_gone();
    OutletSlot* const known = find(process);
    if (known != nullptr) return known;
    if (host_.is_gone(process)) return nullptr;
    if (host_.is_near(process) && host_.pool_of(process) == nullptr) return nullptr;
    OutletSlot* const slot = take_settled();
    if (slot == nullptr) return nullptr;
    if (last_ == slot) last_ = nullptr;
    make(*slot, static_cast<std::uint32_t>(slot - outlets_.data()), process);
    return slot;
}

char* Context::reserve_elsewhere(std::uint32_t process, std::uint64_t bytes) noexcept {
    try {
        OutletSlot* const slot = find_or_make(process);
        if (slot == nullptr) return no_room();
        slot->last_use = ++uses_;
        last_ = slot;
        return reserve_at(*slot, bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;  // later, perhaps
    }
}

char* Context::reserve_far(OutletSlot& to, std::uint64_t bytes) noexcept {
    try {
        return to.far->reserve(bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

// Whoever tries again and again gives the receivers' words the care that they need.
char* Context::no_room() noexcept {
    look_at_clock();
    return nullptr;
}

Status Context::why_no_room(std::uint32_t process) {
    OutletSlot* const to = find(process);
    const bool is_cut_off = to != nullptr && to->far != nullptr && to->far->is_cut_off();
    if (host_.is_gone(process) || is_cut_off)
        return Status::worded(Code::peer, [&] { return fate_of(process); });
    const bool is_closed =
        host_.is_near(process)
            ? (host_.pool_word(process).load(std::memory_order_relaxed) & pool_closed) != 0
            : to != nullptr && to->far->is_closed();
    if (is_closed) return {Code::stale, "the destination has closed its context"};
    return {};
}

bool Context::is_sent() {
    bool is_all = true;
    for (OutletSlot& slot : outlets_) {
        if (slot.far == nullptr) continue;
        slot.far->go_on();
        is_all = is_all && (slot.far->is_sent() || slot.far->is_cut_off());
    }
    if (!is_all) look_at_clock();
    return is_all;
}

// --- Looking after the pool ---

// When nothing was found, and now and then.
void Context::look_around(PmMessage& found) noexcept {
    look_at_clock();
    if (found.data != nullptr) return;
    found = pool_.receive();
    is_held_ = found.data != nullptr;
}

void Context::look_at_clock() noexcept {
    ++idle_looks_;
    if (has_far_ && idle_looks_ % looks_per_help == 0) (void)host_.gma().help();
    // Who is waited for may need this CPU.
    if (idle_looks_ > looks_alone && idle_looks_ % looks_per_yield == 0) os::yield_cpu();
    if (idle_looks_ % looks_per_clock != 0) return;
    const std::uint64_t now_ns = os::now_ns();
    if (now_ns - tended_at_ns_ >= tend_ns) tend(now_ns);
}

void Context::tend(std::uint64_t now_ns) noexcept {
    tended_at_ns_ = now_ns;
    pool_.tend(now_ns);
    for (OutletSlot& slot : outlets_) {
        if (slot.near.has_value()) {
            slot.near->serve();
        } else if (slot.far != nullptr) {
            try {
                slot.far->go_on();
            } catch (const std::bad_alloc&) {  // later
            }
        }
    }
    if (has_far_) host_.carry_on();
}

bool Context::may_sleep() noexcept {
    tend(os::now_ns());
    if (ready_.data == nullptr && !is_held_) ready_ = pool_.receive();
    return ready_.data == nullptr && !has_new_deaths();
}

// --- Waiting ---

class Context::MessageCondition final : public gma::Condition {
public:
    explicit MessageCondition(Context& context) noexcept : context_(context) {}

    gma::LookResult look() override {
        if (std::exchange(is_announced_, false)) {
            NodeHost::barrier();  // orders the announcement before the looks that follow
            if (!context_.may_sleep()) return gma::LookResult::all;
        }
        if (context_.ready_.data == nullptr) context_.ready_ = context_.receive();
        context_.is_held_ = false;
        const bool has_come = context_.ready_.data != nullptr || context_.has_new_deaths();
        return has_come ? gma::LookResult::all : gma::LookResult::nothing;
    }

    void announce(node::AwaitedEntry& entry, std::uint64_t since_ns) override {
        is_announced_ = true;
        const local::Space& space = context_.host_.gma().space();
        memory::Command told;
        told.source = told.target = space.starter_address(space.process());
        entry.tell(node::AwaitedCall::wait_pm, since_ns, &told);
    }

private:
    Context& context_;
    bool is_announced_ = false;
};

bool Context::wait(std::int64_t timeout_ns) {
    if (is_held_) return true;
    MessageCondition condition(*this);
    return host_.gma().wait_until(condition, timeout_ns) == node::Outcome::ready;
}

// --- Ends of others ---

std::optional<std::uint32_t> Context::take_gone() {
    if (!has_new_deaths()) [[likely]]
        return std::nullopt;
    const node::Segment& segment = host_.gma().space().segment();
    const std::uint32_t deaths_now = deaths();
    told_gone_.resize(segment.shape().procs);
    // What they had sent comes first.
    tend(os::now_ns());
    if (ready_.data == nullptr) ready_ = pool_.receive();
    if (ready_.data != nullptr) return std::nullopt;
    for (std::uint32_t process = 0; process < segment.shape().procs; ++process) {
        if (told_gone_[process] || !host_.is_gone(process)) continue;
        told_gone_[process] = true;
        return process;
    }
    deaths_seen_ = deaths_now;
    return std::nullopt;
}

std::string Context::fate_of(std::uint32_t process) const {
    const local::Space& space = host_.gma().space();
    return host_.is_near(process) ? node::fate(space.segment(), space.slot_of(process))
                                  : node::fate_of_process(space.segment(), process);
}

void Context::settle() noexcept {
    for (OutletSlot& slot : outlets_)
        if (slot.far != nullptr) slot.far->settle();
    host_.settle();
}

}  // namespace acp::pm
