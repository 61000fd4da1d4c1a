// SPDX-License-Identifier: BSD-3-Clause
// The devices of a process, as its forwarder sees them, and the requests that other processes make
// to their owner. A request is an atomic: a swap of 8 bytes on a register, a word at a global
// address whose entry in the address table has device_registers for its device. The operand is the
// request's argument, and the old value is its answer. So a request comes from any process of the
// job, has a handle, waits for its order, and fails as any atomic does when its owner is dead.
// Threads: the driver of the process, one at a time.
#pragma once

#include <cstdint>

#include "base/status.hpp"

#include "device/device.hpp"

namespace acp::mailbox {

inline constexpr std::uint64_t register_bytes = 8;

// The register that frees a block: the operand is its global address, the answer is 0.
inline constexpr std::uint64_t free_register = 0;

// The register of a device that allocates a block: the operand is a number of bytes, the answer the
// global address of the block.
[[nodiscard]] constexpr std::uint64_t allocate_register(std::uint32_t device) noexcept {
    return (device + std::uint64_t{1}) * register_bytes;
}

// The bytes of all registers of a process.
[[nodiscard]] constexpr std::uint64_t registers_bytes(std::uint32_t devices) noexcept {
    return allocate_register(devices);
}

class DeviceHost {
public:
    DeviceHost() = default;
    virtual ~DeviceHost() = default;
    DeviceHost(const DeviceHost&) = delete;
    DeviceHost& operator=(const DeviceHost&) = delete;

    // The numbers of devices are below it; device() may be nullptr for some.
    [[nodiscard]] virtual std::uint32_t device_count() const noexcept = 0;

    // nullptr: there is none whose engine copies.
    [[nodiscard]] virtual device::Device* device(std::uint32_t number) noexcept = 0;

    // Carries out a request. Bounded: it takes no longer than an allocation.
    //   offset  of the register; may be any number, for it is what a peer has sent
    // Errors: argument (no such register or device), those of the device, limit (no room for an
    // address), stale.
    virtual base::Result<std::uint64_t> on_request(std::uint64_t offset,
                                                   std::uint64_t operand) noexcept = 0;
};

}  // namespace acp::mailbox
