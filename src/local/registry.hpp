// SPDX-License-Identifier: BSD-3-Clause
// The registrations of one rank: gives private memory global addresses and takes them back. A key
// is the address of the registration's first byte, with its colour. Granules are assigned round
// robin, so a granule is reused as late as possible, and then with another generation. Any thread
// of the process.
// Tests: tests/unit/local/registry_test.cpp (reuses_the_oldest_granule,
// gives_each_registration_its_own_key,
// refuses_the_4097th_only_when_no_granule_is_left, nothing_lands_after_unregister).
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "base/status.hpp"
#include "local/hazards.hpp"
#include "local/space.hpp"
#include "os/mapping.hpp"

namespace acp::local {

using Key = std::uint64_t;

class Registry {
public:
    //   space, hazards  must outlive this; the space's starter memory must be published
    // Throws std::bad_alloc. Later calls allocate memory only for the message of a failure.
    Registry(Space& space, Hazards& hazards);

    //   address, bytes  mapped memory of this process that allows the accesses in `rights`, bytes
    //                   >= 1
    //   color           < colors of the job (the caller has checked this)
    //   rights          read: the caller of add() rejects commands that write there
    // Errors: argument (not mapped), limit (no room). Does not block.
    base::Result<Key> add(void* address,
                          std::uint64_t bytes,
                          std::uint32_t color,
                          os::Rights rights = os::Rights::read_write);

    // Registers memory of a device of this process. The address is not checked, and no load or store
    // reaches it through a window.
    //   address  of the device's address space   device  its number in this process, or
    //            memory::device_registers
    // Errors: limit (no room). Does not block.
    base::Result<Key> add_device(std::uint64_t address, std::uint64_t bytes, std::uint32_t device);

    // Ends a registration of add_device(), whose memory only this process reaches: lookups find it
    // stale from now on. Its granules are given to no other registration while a thread of the node
    // names them. Does not block.
    // Returns the address that add_device() was given. Errors: argument (never a key of a device),
    // stale (ended before).
    base::Result<std::uint64_t> remove_device(Key key);

    // The device whose memory a key names, or device_registers; nullopt: it is no live key of
    // add_device().
    [[nodiscard]] std::optional<std::uint32_t> device_of(Key key) const;

    // The first half of remove(): lookups find the memory stale from now on. Does not wait for
    // threads that already use it; remove(), which must follow, waits. Does not block.
    //   key  live
    void revoke(Key key) noexcept;

    // Ends a registration. Errors: argument (never a key), stale (ended before). Blocks while a
    // thread names the memory in a hazard line.
    base::Status remove(Key key);

    // The address of a byte of a registration. Errors: stale, address (outside).
    base::Result<GlobalAddress> address_in(Key key, const void* byte) const;

    // The number of live registrations.
    [[nodiscard]] std::uint32_t live() const;

private:
    // ended: as dying, but no thread waits until it is free (remove_device)
    enum class State : std::uint8_t { free, live, dying, ended };

    struct Granule {
        State state = State::free;
        std::uint8_t color = 0;  // the colour of a live registration's key
    };

    [[nodiscard]] Granule granule_at(std::uint32_t granule) const noexcept {
        return granule < granules_.size() ? granules_[granule] : Granule{};
    }

    [[nodiscard]] State state_of(std::uint32_t granule) const noexcept {
        return granule_at(granule).state;
    }

    [[nodiscard]] std::uint32_t count_of(std::uint32_t first) const noexcept;
    void kill(std::uint32_t first, std::uint32_t count) noexcept;

    // The number of a key's first granule, or the reason why the key is not live.
    base::Result<std::uint32_t> granule_of(Key key) const;
    [[nodiscard]] std::uint32_t find_room(std::uint64_t count) const;
    [[nodiscard]] std::uint32_t generation(std::uint32_t granule) const noexcept;
    [[nodiscard]] std::uint32_t next_generation(std::uint32_t first, std::uint64_t count) const;

    // What a registration's entries say.
    struct Described {
        std::uint64_t address = 0;  // an address of the owner's process or of its device
        std::uint64_t bytes = 0;
        memory::MemoryKind kind = memory::MemoryKind::private_pages;
        std::uint32_t device = 0;
    };

    base::Result<Key> assign(const Described& memory, std::uint32_t color);
    void publish(std::uint32_t first,
                 std::uint64_t count,
                 const Described& memory,
                 GlobalAddress start) noexcept;
    void free_ended() noexcept;
    [[nodiscard]] bool is_of_device(std::uint32_t granule) const noexcept;

    Space& space_;
    Hazards& hazards_;
    mutable std::mutex mutex_;
    // The granules up to the last one that was assigned. Later granules are free; memory for their
    // states is reserved from the start and not touched. Generations are in the row of
    // the table, which outlives epochs.
    std::vector<Granule> granules_;
    std::uint32_t first_own_;  // first granule after those of the shared segments
    std::uint32_t cursor_;
    std::uint32_t live_ = 0;
    bool has_ended_ = false;  // some granules are in State::ended
};

}  // namespace acp::local
