// SPDX-License-Identifier: BSD-3-Clause
// How the forwarder touches memory: it names the addresses of an access in the driver's hazard
// line, finds where they lie, moves bytes and runs atomics where this process reaches them, and
// returns the reason where it does not. Reports its accesses to the trace. Knows no completion and
// no message, and of other processes only their slots. The driver only.
// Tests: tests/unit/mailbox/forwarder_memory_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "local/hazards.hpp"
#include "local/space.hpp"
#include "mailbox/forwarder_counters.hpp"
#include "mailbox/forwarder_types.hpp"
#include "memory/command.hpp"

namespace acp::mailbox {

class ForwarderMemory {
public:
    using Observer = std::function<void(const memory::Command&, std::uint32_t origin_slot)>;

    //   the arguments must outlive this
    ForwarderMemory(local::Space& space, local::Hazards& hazards, ForwarderCounters& counters);

    // Hazard pointers to the two addresses of an access, set while this object lives: the places
    // that find() returns stay valid that long.
    class Naming {
    public:
        Naming(ForwarderMemory& memory, memory::GlobalAddress target, memory::GlobalAddress source)
            : line_(memory.line()) {
            memory.hazards_.enter(line_, target, source);
        }

        ~Naming() { memory::leave(line_); }

        Naming(const Naming&) = delete;
        Naming& operator=(const Naming&) = delete;

    private:
        memory::HazardLine& line_;
    };

    // Returns the hazard line, because the next poll may run in another thread.
    void end_poll() noexcept { lease_.reset(); }

    [[nodiscard]] std::uint32_t own_slot() const noexcept { return own_slot_; }

    // Whether the process of `slot` reaches a place: by loads and stores, or by the engine of its
    // device.
    [[nodiscard]] bool reaches(std::uint32_t slot, const local::Place& place) const noexcept {
        return place.slot == slot || (place.is_shared() && space_.reach().is_shared_direct);
    }

    [[nodiscard]] bool reaches_here(const local::Place& place) const noexcept {
        return reaches(own_slot_, place);
    }

    // Find where one end of a command lies, or both. The place is written only when the verdict is
    // ok. Call while a Naming lives.
    [[nodiscard]] AccessVerdict find_target(memory::GlobalAddress address,
                                            std::uint64_t bytes,
                                            local::Place& place) const noexcept {
        return verdict_of(space_.find(address, bytes, place), Blame::target, address);
    }

    [[nodiscard]] AccessVerdict find_source(memory::GlobalAddress address,
                                            std::uint64_t bytes,
                                            local::Place& place) const noexcept {
        return verdict_of(space_.find(address, bytes, place), Blame::source, address);
    }

    [[nodiscard]] AccessVerdict find(memory::GlobalAddress target,
                                     memory::GlobalAddress source,
                                     std::uint64_t bytes,
                                     local::Place& to,
                                     local::Place& from) const noexcept {
        const AccessVerdict verdict = find_target(target, bytes, to);
        return verdict.is_ok() ? find_source(source, bytes, from) : verdict;
    }

    // Moves the bytes of a copy, or of a piece of one, between places that are reached here by loads
    // and stores. Call while a Naming lives.
    //   origin  slot of the command's initiator
    void move(const memory::Command& command,
              const local::Place& target,
              const local::Place& source,
              std::uint32_t origin);

    // Call when the bytes of a command, or of a piece of a copy, were moved to a place here: wakes
    // threads that wait for them, and notes them for the trace and the counters.
    void note_moved(const memory::Command& command,
                    const local::Place& target,
                    std::uint32_t origin);

    // Writes bytes that arrived in a message; finds their place itself, and makes the Naming for
    // it.
    //   source, origin  those of the copy, for the trace and the counters
    [[nodiscard]] AccessVerdict write(memory::GlobalAddress target,
                                      std::span<const char> bytes,
                                      memory::GlobalAddress source,
                                      std::uint32_t origin);

    // Runs an atomic on a word that is reached here; the verdict's operand is the old value. Call
    // while a Naming lives. Refuses a word that is not aligned to its width, and a command without
    // a width.
    [[nodiscard]] AccessVerdict run_atomic(const memory::Command& command,
                                           const local::Place& word,
                                           std::uint32_t origin) const;

    void set_observer(Observer observer) { observer_ = std::move(observer); }

private:
    [[nodiscard]] AccessVerdict verdict_of(base::Code code,
                                           Blame blame,
                                           memory::GlobalAddress address) const noexcept {
        if (code != base::Code::peer) [[likely]]
            return {code, blame, 0};
        return {code, Blame::nothing,
                space_.slot_of(static_cast<std::uint32_t>(space_.layout().process(address)))};
    }

    memory::HazardLine& line() {
        if (!lease_) lease_.emplace(hazards_);
        return lease_->line();
    }

    local::Space& space_;
    local::Hazards& hazards_;
    ForwarderCounters& counters_;
    const std::uint32_t own_slot_;
    std::optional<local::Hazards::Lease>
        lease_;  // the hazard line of the thread that runs this poll
    Observer observer_;
};

}  // namespace acp::mailbox
