// SPDX-License-Identifier: BSD-3-Clause
// Reserves room for messages, tends the pool, and reports dead processes.
#include "pm/context.hpp"

#include <new>
#include <string>

#include "node/loss.hpp"
#include "os/clock.hpp"
#include "os/cpu.hpp"

namespace acp::pm {

using base::Code;
using base::Status;

// Independent of the number of processes, except for messages in flight to other nodes.
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
      outlets_(host_, reinterpret_cast<sync::LeaseDesk<>*>(memory_)->own),
      told_gone_(gma.space().segment()) {
    const node::Shape& shape = gma.space().segment().shape();
    has_far_ = shape.procs != shape.local_procs;
}

void Context::open() noexcept {
    pool_.open();
    // release: publishes the pool; partners: NodeHost::pool_of, operations::TakeLease
    host_.pool_word(host_.process()).store(address_, std::memory_order_release);
    host_.ring_all();  // senders may wait for room here
}

void Context::close() noexcept {
    if (OutletSlot* const to = std::exchange(reserved_, nullptr); to != nullptr) to->cancel();
    if (is_held_ || ready_.data != nullptr) pool_.release();
    is_held_ = false;
    ready_ = {};
    after_select();
    // Before the leases are revoked: a sender that finds none then reads why.
    host_.pool_word(host_.process()).store(address_ | pool_closed, std::memory_order_release);
    pool_.close();
    host_.ring_all();  // senders that wait for room here must fail
}

// --- Destinations ---

char* Context::reserve_elsewhere(std::uint32_t process, std::uint64_t bytes) noexcept {
    try {
        if (const std::uint32_t now = deaths(); now != deaths_heeded_) {
            deaths_heeded_ = now;
            outlets_.forget_gone();
        }
        last_ = outlets_.find_or_make(process);
        return last_ != nullptr ? reserve_at(*last_, bytes) : no_room();
    } catch (const std::bad_alloc&) {
        return nullptr;  // a later attempt may succeed
    }
}

// A process that retries in a loop tends its own receivers' words here.
char* Context::no_room() noexcept {
    (void)look_at_clock();
    return nullptr;
}

Status Context::why_no_room(std::uint32_t process) {
    OutletSlot* const to = outlets_.find(process);
    const bool is_cut_off = to != nullptr && to->far != nullptr && to->far->is_cut_off();
    if (host_.is_gone(process) || is_cut_off)
        return Status::worded(Code::peer, [&] { return fate_of(process); });
    const bool is_closed =
        host_.is_near(process)
            ? (host_.pool_word(process).load(std::memory_order_relaxed) & pool_closed) != 0
            : to != nullptr && to->far->is_closed();
    if (is_closed) {
        return {Code::stale, "the destination, rank " + std::to_string(host_.rank_of(process)) +
                                 ", has closed its context"};
    }
    return {};
}

bool Context::is_sent() {
    const bool is_all = outlets_.is_sent();
    if (!is_all) (void)look_at_clock();
    return is_all;
}

// --- Looking after the pool ---

// Returns the message that has_message() has found.
Context::PmMessage Context::receive_ready() noexcept {
    is_held_ = true;
    idle_looks_ = 0;
    return std::exchange(ready_, {});
}

// Tends the pool if nothing was found, and sometimes otherwise. Tending may recover a message.
Context::PmMessage Context::look_around(PmMessage found) noexcept {
    if (found.data != nullptr) {
        idle_looks_ = 0;
        // Also while messages keep arriving: silent senders, and senders without a lease, need it.
        (void)tend_if_due();
        return found;
    }
    if (!look_at_clock()) return found;
    found = pool_.receive();
    is_held_ = found.data != nullptr;
    return found;
}

// Returns whether it has tended.
bool Context::look_at_clock() noexcept {
    ++idle_looks_;
    if (has_far_ && idle_looks_ % looks_per_help == 0) (void)host_.gma().help();
    // The awaited process may need this CPU.
    if (idle_looks_ > looks_alone && idle_looks_ % looks_per_yield == 0) os::yield_cpu();
    return idle_looks_ % looks_per_clock == 0 && tend_if_due();
}

bool Context::tend_if_due() noexcept {
    const std::uint64_t now_ns = os::now_ns();
    if (now_ns - tended_at_ns_ < tend_ns) return false;
    tend(now_ns);
    return true;
}

void Context::tend(std::uint64_t now_ns) noexcept {
    tended_at_ns_ = now_ns;
    pool_.tend(now_ns);
    outlets_.serve();
    if (has_far_) host_.carry_on();
}

void Context::prepare_sleep() noexcept {
    NodeHost::barrier();  // orders the announcement of the sleep before the polls below
    tend(os::now_ns());
}

base::Result<bool> Context::before_select(int& descriptor) {
    sync::Bell<>& bell = host_.bell_of(host_.process());
    // If the program has closed the descriptor, its number is reused, and the old waker would take
    // the new file for its own.
    if (waker_ != nullptr && !waker_->has_descriptor()) waker_.reset();
    if (waker_ == nullptr) {
        auto made = PollWaker::create(host_.gma().space().segment(), bell);
        if (!made.is_ok()) return std::move(made).failure();
        waker_ = std::move(made).value();
    }
    descriptor = waker_->fd();
    waker_->disarm();
    const std::uint32_t value = bell.announce();
    prepare_sleep();
    if (has_message() || has_gone() || host_.is_carrying()) {
        waker_->signal();
        return false;
    }
    waker_->arm(value);
    host_.gma().leave_for_long();
    return true;
}

// --- Ends of others ---

// Returns a process that is gone and was not returned by take_gone(), or pm::nobody. deaths() grows
// also when the watcher publishes the cause of a death that it has already published.
std::uint32_t Context::find_gone() noexcept {
    const std::uint32_t deaths_now = deaths();
    if (const auto gone = told_gone_.find_new()) return *gone;
    deaths_seen_ = deaths_now;
    return nobody;
}

std::optional<std::uint32_t> Context::take_gone() {
    if (!has_new_deaths()) [[likely]]
        return std::nullopt;
    told_gone_.reserve();
    const std::uint32_t gone = find_gone();
    if (gone == nobody) return std::nullopt;
    // Messages of that process are received first. It was found before this last poll of the pool:
    // a process that dies after the poll may have sent messages after it.
    tend(os::now_ns());
    if (ready_.data == nullptr) ready_ = pool_.receive();
    if (ready_.data != nullptr) return std::nullopt;
    told_gone_.note(gone);
    return gone;
}

std::string Context::fate_of(std::uint32_t process) const {
    return node::fate_of_process(host_.gma().space().segment(), process);
}

void Context::settle() noexcept {
    outlets_.settle();
    host_.settle();
}

}  // namespace acp::pm
