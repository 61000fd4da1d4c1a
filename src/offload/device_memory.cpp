// SPDX-License-Identifier: BSD-3-Clause
// The caller's side of allocations on devices.
#include "offload/device_memory.hpp"

#include <string>
#include <utility>

#include "base/format.hpp"
#include "mailbox/device_host.hpp"
#include "offload/own_devices.hpp"

namespace acp::offload {

using base::Code;
using base::Result;
using base::Status;

std::string DeviceMemory::name_of(std::uint32_t process) const {
    const local::Space& space = gma_.space();
    return space.owner_name(space.starter_address(process));
}

// The global address of a process's registers; 0: it has none.
Result<std::uint64_t> DeviceMemory::registers_of(std::uint32_t process) {
    const auto word = gma_.space().claimed_address(process, device_registers_range);
    return gma_.fetch<std::uint64_t, memory::Operation::add>(word, {0, 0});
}

Result<std::uint64_t> DeviceMemory::request(std::uint64_t register_at, std::uint64_t operand) {
    return gma_.fetch<std::uint64_t, memory::Operation::swap>(register_at, {operand, 0});
}

Result<std::uint64_t> DeviceMemory::allocate(std::uint32_t process,
                                             std::uint32_t device,
                                             std::uint64_t bytes) {
    auto registers = registers_of(process);
    if (!registers.is_ok()) return registers;
    const std::string name = "device " + std::to_string(device) + " of " + name_of(process);
    if (registers.value() == 0) {
        return Status(Code::argument,
                      name + " does not exist: device 0 is its only one (ACP_DEVICES)");
    }
    auto block = request(registers.value() + mailbox::allocate_register(device), bytes);
    if (block.is_ok() || block.failure().code() == Code::peer) return block;
    switch (const Code code = block.failure().code()) {
        case Code::address:
        case Code::argument:
            return Status(Code::argument, name + " does not exist (ACP_DEVICES)");
        case Code::memory:
            return Status(code, name + " has no room for " + base::in_bytes(bytes));
        case Code::limit:
            return Status(code, "no room for the address of " + base::in_bytes(bytes) + " on " +
                                    name +
                                    ": the addresses of that rank's registrations and "
                                    "blocks of devices are used up");
        case Code::system:
            return Status(code, name + " is lost");
        default:
            return block;
    }
}

Status DeviceMemory::free(std::uint64_t block) {
    const local::Space& space = gma_.space();
    const memory::GaLayout& layout = space.layout();
    const auto process = static_cast<std::uint32_t>(layout.process(block));
    if (layout.process(block) >= space.segment().shape().procs || space.is_shared(block)) {
        return {Code::address, "no block of a device begins there"};
    }
    auto registers = registers_of(process);
    if (!registers.is_ok()) return std::move(registers).failure();
    if (registers.value() == 0) {
        return {Code::address, "no block of a device begins there: " + name_of(process) +
                                   " has no device "
                                   "whose memory is not its heap"};
    }
    auto answer = request(registers.value() + mailbox::free_register, block);
    if (answer.is_ok()) return {};
    switch (const Code code = answer.failure().code()) {
        case Code::stale:
            return {code, "the block of " + name_of(process) + " was freed before"};
        case Code::argument:
            return {code, "no block of a device of " + name_of(process) + " begins there"};
        case Code::system:
            return {code, "the device of that memory of " + name_of(process) + " is lost"};
        default:
            return std::move(answer).failure();
    }
}

}  // namespace acp::offload
