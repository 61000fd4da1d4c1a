// SPDX-License-Identifier: BSD-3-Clause
// Allocates and frees memory on the devices of any rank, by requests to their owner: swaps on its
// registers (device_host.hpp of mailbox). Makes the messages of what fails. Knows no device of its
// own process (own_devices.hpp). Any thread.
// Tests: tests/conformance/device_test.cpp.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "gma/gma.hpp"

namespace acp::offload {

class DeviceMemory {
public:
    //   gma  must outlive this
    explicit DeviceMemory(gma::Gma& gma) noexcept : gma_(gma) {}

    // A block on a device of a process.
    //   process  of the job   device  1 or more   bytes  1 or more
    // Errors: argument (no such device), memory, limit (no room for its address), system (the device
    // is lost), peer. Blocks until the owner has answered.
    base::Result<std::uint64_t> allocate(std::uint32_t process,
                                         std::uint32_t device,
                                         std::uint64_t bytes);

    // Frees a block. Commands on it that have not ended fail or end before.
    // Errors: address (no device can have given it), stale, argument (no block begins there),
    // system, peer. Blocks until the owner has answered.
    base::Status free(std::uint64_t block);

private:
    base::Result<std::uint64_t> registers_of(std::uint32_t process);
    base::Result<std::uint64_t> request(std::uint64_t register_at, std::uint64_t operand);
    [[nodiscard]] std::string name_of(std::uint32_t process) const;

    gma::Gma& gma_;
};

}  // namespace acp::offload
