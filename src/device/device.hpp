// SPDX-License-Identifier: BSD-3-Clause
// The role of a device: memory that its owner reaches only through the device's engine, which
// copies bytes between that memory and memory of the process. A Device knows no global address, no
// rank and no message: a layer above gives its memory addresses and decides what is copied.
//
// The contract of every implementation (tests/unit/device/device_conformance.hpp):
//   - allocate() returns addresses of the device's own space, multiples of `alignment`. They are
//     numbers: a process that loads or stores there fails.
//   - A copy is begun by copy_in(), copy_out() or copy_inside(), which return a ticket at once, and
//     ends later. All copies of one device take effect in the order in which they were begun, so
//     a ticket that has ended means that all earlier ones have ended.
//   - poll() lets the engine make progress for at most step_bytes of copying, and never blocks.
//   - The memory of the process that a copy names must stay as it is until its ticket has ended.
//   - At most copies_max copies are in flight; one more is refused with Code::limit.
//   - free() of memory with copies in flight is legal: those copies end before the memory can be
//     allocated again.
//   - After a failure of the engine the device is lost: every later call fails with Code::system
//     and a sentence that names the device. Tickets in flight then fail too; none stays in flight.
// Errors: argument (a range that leaves its allocation; 0 bytes), stale (no allocation is there),
// memory (no room; the message has wanted, free and total), limit, system (lost). On failure nothing
// is changed.
// Threads: one at a time. No call throws but bad_alloc of allocate().
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace acp::device {

enum class DeviceKind : std::uint32_t {
    proc = 0,  // a process of the own node: its memory is a block of the owner's heap
    far = 1    // memory of the owner's process that no other process has mapped
};

// "proc", "far"
[[nodiscard]] constexpr const char* name_of(DeviceKind kind) noexcept {
    return kind == DeviceKind::proc ? "proc" : "far";
}

struct DeviceInfo {
    DeviceKind kind = DeviceKind::proc;
    std::string name;          // "far:64M"
    std::uint64_t bytes = 0;   // memory of the device
    bool can_copy = false;     // allocate() and copies work
    bool can_call = false;     // functions can be called on it (acp_call)
    std::string why_not = {};  // why it can not do what it can not do; "" if it can do all
};

using DeviceAddress = std::uint64_t;

// The number of a copy, from 1 in the order of their beginnings.
using Ticket = std::uint64_t;

class Device {
public:
    static constexpr std::uint64_t alignment = 256;            // each allocation has it
    static constexpr std::uint64_t step_bytes = 256ULL << 10;  // the most that one poll() copies
    static constexpr std::uint32_t copies_max = 64;            // those that have not ended

    Device() = default;
    virtual ~Device() = default;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    [[nodiscard]] virtual const DeviceInfo& info() const noexcept = 0;

    //   bytes  1 .. what is free
    virtual base::Result<DeviceAddress> allocate(std::uint64_t bytes) = 0;

    //   address  of allocate()
    virtual base::Status free(DeviceAddress address) = 0;

    // Begin a copy from memory of the process, to memory of the process, and within the device,
    // where the ranges may overlap.
    virtual base::Result<Ticket> copy_in(DeviceAddress target,
                                         const char* source,
                                         std::uint64_t bytes) = 0;
    virtual base::Result<Ticket> copy_out(char* target,
                                          DeviceAddress source,
                                          std::uint64_t bytes) = 0;
    virtual base::Result<Ticket> copy_inside(DeviceAddress target,
                                             DeviceAddress source,
                                             std::uint64_t bytes) = 0;

    // Progress of the engine. True when it copied something or a ticket ended.
    virtual bool poll() noexcept = 0;

    // All copies with this ticket and earlier ones have ended.
    [[nodiscard]] virtual bool has_ended(Ticket ticket) const noexcept = 0;

    // Whether the engine has failed. Tickets that had not ended have failed.
    [[nodiscard]] virtual bool is_lost() const noexcept = 0;
};

}  // namespace acp::device
