// SPDX-License-Identifier: BSD-3-Clause
// Registering and revoking private memory.
#include "local/registry.hpp"

#include <algorithm>
#include <string>

#include "base/format.hpp"
#include "os/cross_memory.hpp"
#include "os/mapping.hpp"

namespace acp::local {

namespace {

constexpr std::uint32_t no_room = memory::granules_per_process;

}  // namespace

Registry::Registry(Space& space, Hazards& hazards)
    : space_(space), hazards_(hazards), first_own_(space.shared_granules()), cursor_(first_own_) {
    granules_.reserve(memory::granules_per_process);
}

std::uint32_t Registry::find_room(std::uint64_t count) const {
    const std::uint32_t all = memory::granules_per_process;
    std::uint32_t run = 0;
    // Searches from the cursor to the end, then from the start; a run of granules does not wrap
    // around.
    for (std::uint32_t step = 0, at = cursor_; step < 2 * (all - first_own_); ++step, ++at) {
        if (at == all) {
            at = first_own_;
            run = 0;
        }
        run = state_of(at) == State::free ? run + 1 : 0;
        if (run == count) {
            return at + 1 - run;
        }
    }
    return no_room;
}

// The generation of a granule's last use, in this epoch or an earlier one; 0 = never used.
std::uint32_t Registry::generation(std::uint32_t granule) const noexcept {
    return space_.layout().generation(
        space_.shared_row()[granule].start.load(std::memory_order_relaxed));
}

std::uint32_t Registry::next_generation(std::uint32_t first, std::uint64_t count) const {
    // One generation for the whole run, different from the last one of each of its granules.
    const std::uint32_t max = space_.layout().generation_max();
    std::uint32_t candidate = generation(first);
    for (std::uint32_t attempt = 0; attempt < max; ++attempt) {
        candidate = candidate % max + 1;
        bool is_fresh = true;
        for (std::uint64_t i = 0; i < count && is_fresh; ++i) {
            is_fresh = generation(static_cast<std::uint32_t>(first + i)) != candidate;
        }
        if (is_fresh) {
            return candidate;
        }
    }
    // there are more granules than generations: no generation is new for all of them
    return candidate;
}

void Registry::publish(std::uint32_t first,
                       std::uint64_t count,
                       const Described& memory,
                       GlobalAddress start) noexcept {
    const auto fill = [&](memory::TableEntry& entry, bool is_direct) {
        entry.start.store(start, std::memory_order_relaxed);
        entry.base.store(memory.address - reinterpret_cast<std::uint64_t>(space_.view().base),
                         std::memory_order_relaxed);
        entry.owner_address.store(memory.address, std::memory_order_relaxed);
        entry.kind.store(memory.kind, std::memory_order_relaxed);
        entry.device.store(memory.device, std::memory_order_relaxed);
        entry.bytes.store(memory.bytes, std::memory_order_release);  // partner: Space::find
        // partner: View::direct
        entry.direct_bytes.store(is_direct ? memory.bytes : 0, std::memory_order_release);
    };
    const bool is_mapped = memory.kind != memory::MemoryKind::device;
    space_.note_used(static_cast<std::uint32_t>(first + count));
    const bool has_window = space_.window_row() != space_.shared_row();
    for (std::uint32_t g = first; g < first + count; ++g) {
        if (has_window) {
            fill(space_.window_row()[g], is_mapped && space_.reach().is_own_direct);
        }
        fill(space_.shared_row()[g], false);
    }
}

base::Result<Key> Registry::add(void* address,
                                std::uint64_t bytes,
                                std::uint32_t color,
                                os::Rights rights) {
    if (address == nullptr) {
        return base::Status(base::Code::argument, "the address is NULL");
    }
    if (auto status = os::check_mapped(address, bytes, rights); !status.is_ok()) {
        return status;
    }
    const auto kind = os::is_hidden_from_others(address, bytes) ? memory::MemoryKind::hidden
                                                                : memory::MemoryKind::private_pages;
    return assign({reinterpret_cast<std::uint64_t>(address), bytes, kind, 0}, color);
}

base::Result<Key> Registry::add_device(std::uint64_t address,
                                       std::uint64_t bytes,
                                       std::uint32_t device) {
    return assign({address, bytes, memory::MemoryKind::device, device}, 0);
}

// Finds room, and publishes the registration there.
base::Result<Key> Registry::assign(const Described& memory, std::uint32_t color) {
    const std::uint64_t bytes = memory.bytes;
    const std::uint64_t count = space_.layout().granules_for(bytes);
    const std::scoped_lock lock(mutex_);
    if (has_ended_) free_ended();
    const std::uint32_t first = count <= memory::granules_per_process ? find_room(count) : no_room;
    if (first == no_room) {
        return base::Status(
            base::Code::limit,
            "no room to register " + std::to_string(bytes) + " bytes: it needs " +
                std::to_string(count) + " of " + std::to_string(memory::granules_per_process) +
                " granules of " + std::to_string(space_.layout().granule_bytes()) +
                " bytes in a row, and " + std::to_string(live_) +
                " registrations are live; unregister some, or register larger pieces");
    }
    const GlobalAddress start =
        space_.layout().segment_start(space_.process(), first, next_generation(first, count));
    const auto next = static_cast<std::uint32_t>(first + count);
    if (next > granules_.size()) granules_.resize(next);
    std::fill_n(granules_.begin() + first, count,
                Granule{State::live, static_cast<std::uint8_t>(color)});
    publish(first, count, memory, start);
    cursor_ = next == memory::granules_per_process ? first_own_ : next;
    ++live_;
    return space_.layout().colored(start, color);
}

base::Result<std::uint32_t> Registry::granule_of(Key key) const {
    const memory::GaLayout& layout = space_.layout();
    const std::uint32_t granule = layout.granule(key);
    const GlobalAddress start = key & layout.colorless_mask();
    if (key == 0 || layout.process(key) != space_.process() || layout.generation(key) == 0 ||
        granule < first_own_ || (key & (layout.granule_bytes() - 1)) != 0) {
        return base::Status(base::Code::argument, "not a key of this rank: " + base::hex(key));
    }
    const GlobalAddress last = space_.shared_row()[granule].start.load(std::memory_order_relaxed);
    if (state_of(granule) == State::live && last == start) {
        const std::uint32_t color = granule_at(granule).color;
        if (layout.color(key) == color) return granule;
        return base::Status(base::Code::argument,
                            "never a key of this rank: " + base::hex(key) + " has color " +
                                std::to_string(layout.color(key)) +
                                ", and the registration there has color " + std::to_string(color));
    }
    // The granule was never used, or the address lies inside a registration that began before it. A
    // key of an earlier use of the granule would have another generation than the registration that
    // covers it now.
    const bool is_inside =
        layout.granule(last) != granule && layout.generation(last) == layout.generation(key);
    if (last == 0 || is_inside) {
        return base::Status(base::Code::argument, "never a key of this rank: " + base::hex(key));
    }
    return base::Status(base::Code::stale,
                        "the registration of this key has ended: " + base::hex(key));
}

// The number of granules of a live registration: consecutive entries with the same start. Its
// `bytes` may be zero already (revoke()).
std::uint32_t Registry::count_of(std::uint32_t first) const noexcept {
    const memory::TableEntry* row = space_.shared_row();
    const std::uint64_t start = row[first].start.load(std::memory_order_relaxed);
    std::uint32_t end = first + 1;
    while (end < memory::granules_per_process && state_of(end) == State::live &&
           row[end].start.load(std::memory_order_relaxed) == start) {
        ++end;
    }
    return end - first;
}

void Registry::kill(std::uint32_t first, std::uint32_t count) noexcept {
    const auto clear = [](memory::TableEntry& entry) {
        // seq_cst: precedes the scan of the hazard lines
        entry.direct_bytes.store(0, std::memory_order_seq_cst);
        entry.bytes.store(0, std::memory_order_seq_cst);
    };
    for (std::uint32_t g = first; g < first + count; ++g) {
        clear(space_.window_row()[g]);
        clear(space_.shared_row()[g]);
    }
}

bool Registry::is_of_device(std::uint32_t granule) const noexcept {
    return space_.shared_row()[granule].kind.load(std::memory_order_relaxed) ==
           memory::MemoryKind::device;
}

void Registry::revoke(Key key) noexcept {
    const std::scoped_lock lock(mutex_);
    const std::uint32_t first = space_.layout().granule(key);
    kill(first, count_of(first));
}

base::Status Registry::remove(Key key) {
    std::unique_lock lock(mutex_);
    const auto found = granule_of(key);
    if (!found.is_ok()) {
        return {found.failure().code(), std::string(found.failure().message())};
    }
    const std::uint32_t first = found.value();
    if (is_of_device(first)) {
        return {base::Code::argument,
                base::hex(key) + " is memory of a device: acp_free_device frees it"};
    }
    const std::uint32_t count = count_of(first);
    kill(first, count);
    std::fill_n(granules_.begin() + first, count, Granule{State::dying});
    // other threads may register while this one waits; a dying granule is not assigned
    lock.unlock();
    const std::uint64_t first_index =
        space_.layout().index(space_.layout().segment_start(space_.process(), first, 1));

    struct Range {
        const memory::GaLayout& layout;
        std::uint64_t first;
        std::uint64_t count;
    };

    const Range range{space_.layout(), first_index, count};
    // The function captures one word, so that it allocates no memory: once the registration has
    // ended, waiting must not fail.
    hazards_.wait_until_unnamed([&range](GlobalAddress address) {
        return range.layout.index(address) - range.first < range.count;
    });
    lock.lock();
    std::fill_n(granules_.begin() + first, count, Granule{State::free});
    --live_;
    return {};
}

// Frees the granules of ended registrations of devices that no thread names.
void Registry::free_ended() noexcept {
    const memory::GaLayout& layout = space_.layout();
    has_ended_ = false;
    const std::uint64_t own = layout.index(layout.segment_start(space_.process(), 0, 1));
    hazards_.order_with_readers();
    for (std::uint32_t granule = first_own_; granule < granules_.size(); ++granule) {
        if (granules_[granule].state != State::ended) continue;
        const auto is_there = [&layout, at = own + granule](GlobalAddress address) {
            return layout.index(address) == at;
        };
        if (hazards_.is_named(is_there)) {
            has_ended_ = true;
        } else {
            granules_[granule].state = State::free;
        }
    }
}

base::Result<std::uint64_t> Registry::remove_device(Key key) {
    const std::scoped_lock lock(mutex_);
    const auto found = granule_of(key);
    if (!found.is_ok()) {
        return base::Status(found.failure().code(), std::string(found.failure().message()));
    }
    const std::uint32_t first = found.value();
    if (!is_of_device(first)) {
        return base::Status(base::Code::argument,
                            base::hex(key) + " is no key of memory of a device");
    }
    const memory::TableEntry& entry = space_.shared_row()[first];
    const std::uint32_t count = count_of(first);
    kill(first, count);
    std::fill_n(granules_.begin() + first, count, Granule{State::ended});
    has_ended_ = true;
    --live_;
    return entry.owner_address.load(std::memory_order_relaxed);
}

std::optional<std::uint32_t> Registry::device_of(Key key) const {
    const std::scoped_lock lock(mutex_);
    const auto found = granule_of(key);
    if (!found.is_ok()) return std::nullopt;
    if (!is_of_device(found.value())) return std::nullopt;
    const memory::TableEntry& entry = space_.shared_row()[found.value()];
    return static_cast<std::uint32_t>(entry.device.load(std::memory_order_relaxed));
}

base::Result<GlobalAddress> Registry::address_in(Key key, const void* byte) const {
    const std::scoped_lock lock(mutex_);
    const auto found = granule_of(key);
    if (!found.is_ok()) {
        return base::Status(found.failure().code(), std::string(found.failure().message()));
    }
    const memory::TableEntry& entry = space_.shared_row()[found.value()];
    const std::uint64_t offset =
        reinterpret_cast<std::uint64_t>(byte) - entry.owner_address.load(std::memory_order_relaxed);
    if (offset >= entry.bytes.load(std::memory_order_relaxed)) {
        return base::Status(base::Code::address,
                            "the pointer lies outside the registration, at offset " +
                                std::to_string(static_cast<std::int64_t>(offset)) + " of " +
                                base::in_bytes(entry.bytes.load(std::memory_order_relaxed)));
    }
    return key + offset;
}

std::uint32_t Registry::live() const {
    const std::scoped_lock lock(mutex_);
    return live_;
}

}  // namespace acp::local
