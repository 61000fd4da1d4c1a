// SPDX-License-Identifier: BSD-3-Clause
// Finds pools, notes and bells of the processes of a node.
#include "pm/node_host.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "base/fence.hpp"
#include "node/loss.hpp"
#include "node/wait.hpp"
#include "os/futex.hpp"
#include "os/membarrier.hpp"

namespace acp::pm {

using memory::GlobalAddress;

NodeHost::NodeHost(gma::Gma& gma, data::Allocator& allocator, std::uint32_t context)
    : gma_(gma),
      allocator_(allocator),
      space_(gma.space()),
      context_(context),
      fence_(gma.hazards().has_membarrier() ? sync::WriteLease<>::Fence::by_owner
                                            : sync::WriteLease<>::Fence::by_each) {}

void NodeHost::clear(const node::Segment& segment, std::uint32_t slot) noexcept {
    std::memset(segment.claimed(slot, pm_pools), 0, pm_contexts * sizeof(std::uint64_t));
}

void NodeHost::barrier() noexcept {
    if (!os::expedite()) base::fence(std::memory_order_seq_cst);
}

bool NodeHost::connect(InletPath<>& path, const Hello& hello, std::uint32_t index) noexcept {
    if (hello.process >= space_.segment().shape().procs) return false;
    if (is_near(hello.process)) {
        path.set_near(bell_of(hello.process));
        return true;
    }
    auto& credits = credits_[index];
    try {
        if (credits == nullptr) credits = std::make_unique<message::FarCredits>(gma_);
    } catch (const std::bad_alloc&) {
        return false;
    }
    credits->begin({hello.process, hello.cell, credits_in_ring});
    path.set_far(*credits);
    return true;
}

// For a sender on another node the gateway writes, under a note in this process's pool.
bool NodeHost::writes(std::uint32_t process, std::uint64_t place) const noexcept {
    const auto* const own = reinterpret_cast<const sync::LeaseDesk<>*>(pool_of(this->process()));
    if (own != nullptr && (process == nobody || !is_near(process)) && own->gateway.says(place))
        return true;
    const node::Shape& shape = space_.segment().shape();
    for (std::uint32_t i = 0; i < shape.local_procs; ++i) {
        const std::uint32_t other = shape.first_process + i;
        // A dead process leaves its note behind.
        if (process == nobody ? is_gone(other) : process != other) continue;
        const auto* const desk = reinterpret_cast<const sync::LeaseDesk<>*>(pool_of(other));
        if (desk != nullptr && desk->own.says(place)) return true;
    }
    return false;
}

bool NodeHost::is_gone(std::uint32_t process) const noexcept {
    return node::is_gone(space_.segment(), process);
}

void NodeHost::wake(std::uint32_t process) const noexcept {
    if (process != nobody && is_near(process))
        os::futex_wake(bell_of(process).word(), os::everybody);
}

void NodeHost::ring_all() const noexcept {
    // Orders the caller's stores before the check of the bells; partner: Bell::announce()
    base::fence(std::memory_order_seq_cst);
    const node::Shape& shape = space_.segment().shape();
    for (std::uint32_t i = 0; i < shape.local_procs; ++i)
        node::ring_bell_after_rmw(bell_of(shape.first_process + i));
}

std::atomic<std::uint64_t>& NodeHost::pool_word(std::uint32_t process) const noexcept {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(
        space_.segment().claimed(space_.slot_of(process), pm_pools))[context_];
}

GlobalAddress NodeHost::pool_word_address(std::uint32_t process) const noexcept {
    return space_.claimed_address(process, pm_pools) + context_ * sizeof(std::uint64_t);
}

char* NodeHost::pool_of(std::uint32_t process) const noexcept {
    // acquire: makes the pool visible; partner: Context
    const std::uint64_t word = pool_word(process).load(std::memory_order_acquire);
    return word != pool_not_open ? pointer_to(process, word & ~pool_closed) : nullptr;
}

char* NodeHost::pointer_to(std::uint32_t process, GlobalAddress address) const noexcept {
    return space_.segment().claimed(space_.slot_of(process), node::heap_blocks) +
           (address - allocator_.start_of(process));
}

sync::Bell<>& NodeHost::bell_of(std::uint32_t process) const noexcept {
    return space_.segment().slot(space_.slot_of(process)).door.waiter_bell;
}

bool NodeHost::is_carrying() const noexcept {
    return std::any_of(credits_.begin(), credits_.end(), [](const auto& credits) {
        return credits != nullptr && credits->has_waiting();
    });
}

void NodeHost::carry_on() noexcept {
    for (const auto& credits : credits_)
        if (credits != nullptr) credits->carry_on();
}

void NodeHost::settle() noexcept {
    for (const auto& credits : credits_)
        if (credits != nullptr) credits->settle();
}

}  // namespace acp::pm
