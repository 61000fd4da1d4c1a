// SPDX-License-Identifier: BSD-3-Clause
// Moves bytes to and from memory of this process's devices, in steps: the driver begins a copy of a
// device's engine, and looks in later rounds whether it has ended. Between memory of the process
// and memory of a device the bytes pass through staging memory, which is all that the engine
// reaches: so the engine's copies need no hazard pointer, and a range of the process may be
// unregistered while one is in flight.
//
// There are two kinds of staging memory. A chunk belongs to a PieceCopy of this process's queues
// while it moves; one that waits for room at its receiver has none. A slot holds the bytes of a
// received message until the engine has placed them, which depends on no other process: so a
// process always receives its messages at last, and two processes that send to each other's devices
// never deadlock.
//
// An atomic reads its word, changes it here and writes it. No copy to that device begins in
// between; all copies of this process's devices are begun here. The driver only.
// Tests: tests/unit/mailbox/forwarder_devices_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mailbox/device_host.hpp"
#include "mailbox/forwarder_memory.hpp"
#include "mailbox/forwarder_queues.hpp"

namespace acp::mailbox {

class ForwarderDevices {
public:
    static constexpr std::uint32_t chunk_count = 8;
    static constexpr std::uint64_t chunk_bytes = device::Device::step_bytes;
    static constexpr std::uint32_t slot_count = 32;
    static_assert(chunk_count + slot_count < device::Device::copies_max);

    // How far a step has come.
    enum class DeviceStep : std::uint8_t {
        waiting,   // nothing was done; it waits for the engine, a chunk or an atomic
        advanced,  // something was begun or done, and more remains
        ready,     // the bytes are there (read())
        ended      // the whole piece of work has ended, or has failed
    };

    //   memory  must outlive this
    explicit ForwarderDevices(ForwarderMemory& memory) noexcept : memory_(memory) {}

    // Takes the devices of this process and memory for staging.
    //   host  must outlive the polls; has devices   slot_bytes  longest payload of a message
    // Throws std::bad_alloc.
    void open(DeviceHost& host, std::uint32_t slot_bytes);

    // Whether a place is memory of a device of this process.
    [[nodiscard]] bool is_own(const local::Place& place) const noexcept {
        return place.is_device() && place.slot == memory_.own_slot();
    }

    // One step of a copy within this process, one of whose ends at least is memory of its devices.
    // Call while a Naming of both ends lives, with the places of the whole copy.
    //   verdict  written when the copy has ended
    [[nodiscard]] DeviceStep move(PieceCopy& copy,
                                  const local::Place& target,
                                  const local::Place& source,
                                  AccessVerdict& verdict);

    // One step of reading bytes of a copy that are then sent: ready, with the bytes from copy.done
    // on, one at least. Call while a Naming of the source lives.
    [[nodiscard]] DeviceStep read(PieceCopy& copy,
                                  const local::Place& source,
                                  std::span<const char>& ready,
                                  AccessVerdict& verdict);

    // The first of the bytes that read() gave were sent, and copy.done is past them.
    void note_sent(PieceCopy& copy) noexcept;

    // There was no room for the bytes that read() gave: they are read anew when there is, so that a
    // copy whose receiver takes nothing keeps no staging memory.
    void forget_read(PieceCopy& copy) noexcept {
        if (copy.chunk != none) give_chunk(copy);
    }

    // One step of an atomic on a word of a device, or of the store of an old value there. Call while
    // a Naming of the word lives.
    //   verdict  its operand becomes the old value
    [[nodiscard]] DeviceStep run(PieceCopy& job, const local::Place& word, AccessVerdict& verdict);

    // A request to the owner of devices (device_host.hpp).
    [[nodiscard]] AccessVerdict request(const memory::Command& command, const local::Place& word);

    // The number of messages whose bytes can be taken.
    [[nodiscard]] std::uint32_t free_slots() const noexcept {
        return host_ != nullptr ? slot_count - placement_count_ : ~0U;
    }

    // Takes the bytes of a message for memory of a device of this process; take_placed() returns
    // their result. False: their target is no such memory. There must be a free slot.
    [[nodiscard]] bool place(const MessageHead& head, std::span<const char> payload);

    // Whether the copy of a message's bytes has begun, and take_placed() may return its result.
    [[nodiscard]] bool has_placements() const noexcept { return begun_count_ != 0; }

    // The result of a message that place() took.
    struct Placed {
        std::uint32_t origin = 0;
        std::uint64_t token = 0;
        AccessVerdict verdict;
    };

    // The next result that the initiator of a copy must get: its failure, or its end.
    [[nodiscard]] std::optional<Placed> take_placed() noexcept;

    // Call when a copy leaves the queues before it has ended.
    void abandon(PieceCopy& copy) noexcept;

    // The engines make progress. Returns the number of steps.
    std::uint32_t poll();

    // Whether a copy of an engine is in flight.
    [[nodiscard]] bool has_work() const noexcept;

private:
    static constexpr std::uint32_t none = PieceCopy::no_chunk;

    struct Chunk {
        device::Device* device = nullptr;  // whose copy uses it; nullptr: it is free
        device::Ticket ticket = 0;
        std::uint64_t begin = 0;  // offset of its bytes in the copy
        std::uint64_t bytes = 0;
        bool is_out = false;        // the engine writes the chunk
        bool is_abandoned = false;  // free when the ticket has ended
    };

    // The bytes of a message.
    struct InboundSlot {
        device::Device* device = nullptr;  // nullptr: its copy has not begun
        device::Ticket ticket = 0;
        memory::GlobalAddress target = 0;
        memory::GlobalAddress source = 0;
        std::uint64_t bytes = 0;
        std::uint64_t token = 0;
        std::uint32_t origin = 0;
        bool is_last = false;
        AccessVerdict verdict;
    };

    [[nodiscard]] device::Device* device_of(const local::Place& place) const noexcept;
    [[nodiscard]] char* memory_of(std::uint32_t chunk) noexcept;
    [[nodiscard]] bool is_locked(const device::Device* device) const noexcept;
    std::uint32_t take_chunk() noexcept;
    void give_chunk(PieceCopy& copy) noexcept;
    DeviceStep begun(PieceCopy& copy,
                     std::uint32_t chunk,
                     base::Result<device::Ticket> ticket,
                     Blame blame,
                     AccessVerdict& verdict);
    DeviceStep begin_move(PieceCopy& copy,
                          const local::Place& target,
                          const local::Place& source,
                          AccessVerdict& verdict);
    DeviceStep begin_read(PieceCopy& copy, const local::Place& source, AccessVerdict& verdict);
    DeviceStep await(PieceCopy& copy, Blame blame, AccessVerdict& verdict) noexcept;
    bool begin_placement(InboundSlot& placement, const char* bytes);
    std::uint32_t begin_placements();

    ForwarderMemory& memory_;
    DeviceHost* host_ = nullptr;
    std::uint32_t slot_bytes_ = 0;
    std::vector<char> staging_;  // chunks, then slots
    std::array<Chunk, chunk_count> chunks_{};
    std::array<InboundSlot, slot_count> placements_{};  // a ring, oldest at placement_first_
    std::uint32_t placement_first_ = 0;
    std::uint32_t placement_count_ = 0;
    std::uint32_t begun_count_ = 0;  // slots whose copy has begun, from the oldest on
    // The chunks of atomics that have read their word and not written it, one for a device at most.
    std::uint32_t atomics_ = 0;  // a bit for each
};

}  // namespace acp::mailbox
