// SPDX-License-Identifier: BSD-3-Clause
// Makes outlets to destinations, and reuses their slots.
#include "pm/outlets.hpp"

#include <new>

namespace acp::pm {

char* OutletSlot::reserve_far(std::uint64_t bytes) const noexcept {
    try {
        return far->reserve(bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;  // a later attempt may succeed
    }
}

OutletSlot* Outlets::find(std::uint32_t process) noexcept {
    for (OutletSlot& slot : slots_)
        if (slot.process == process) return &slot;
    return nullptr;
}

OutletSlot* Outlets::find_or_make(std::uint32_t process) {
    OutletSlot* slot = find(process);
    if (slot == nullptr) {
        if (host_.is_gone(process)) return nullptr;
        if (host_.is_near(process) && host_.pool_of(process) == nullptr) return nullptr;
        slot = take_settled();
        if (slot == nullptr) return nullptr;
        make(*slot, static_cast<std::uint32_t>(slot - slots_.data()), process);
    }
    slot->last_use = ++uses_;
    return slot;
}

// A free slot, or the settled one that was used least recently.
OutletSlot* Outlets::take_settled() {
    OutletSlot* oldest = nullptr;
    for (OutletSlot& slot : slots_) {
        if (slot.process == nobody) return &slot;
        if (slot.is_settled() && (oldest == nullptr || slot.last_use < oldest->last_use))
            oldest = &slot;
    }
    return oldest;
}

void Outlets::make(OutletSlot& slot, std::uint32_t index, std::uint32_t process) {
    slot.clear();
    if (!host_.is_near(process)) {
        slot.far = std::make_unique<FarOutlet>(host_, process, index, staging_.data());
    } else {
        slot.near.emplace(host_,
                          NearOutlet<NodeHost>::OutletPlace{process, host_.pool_of(process), &note_,
                                                            &host_.bell_of(process)});
    }
    slot.process = process;
}

void Outlets::forget_gone() noexcept {
    for (OutletSlot& slot : slots_)
        if (slot.process != nobody && host_.is_gone(slot.process)) slot.clear();
}

void Outlets::serve() noexcept {
    for (OutletSlot& slot : slots_) {
        if (slot.near.has_value()) {
            slot.near->serve();
        } else if (slot.far != nullptr) {
            try {
                slot.far->go_on();
            } catch (const std::bad_alloc&) {  // a later call retries
            }
        }
    }
}

bool Outlets::is_sent() {
    bool is_all = true;
    for (OutletSlot& slot : slots_) {
        if (slot.far == nullptr) continue;
        slot.far->go_on();
        is_all = is_all && (slot.far->is_sent() || slot.far->is_cut_off());
    }
    return is_all;
}

void Outlets::settle() noexcept {
    for (OutletSlot& slot : slots_)
        if (slot.far != nullptr) slot.far->settle();
}

}  // namespace acp::pm
