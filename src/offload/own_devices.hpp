// SPDX-License-Identifier: BSD-3-Clause
// The devices of this process with memory of their own, and the blocks that are allocated there:
// makes the devices, publishes the registers by which all ranks allocate and free (device_host.hpp
// of mailbox), and carries those requests out. A block is one registration of memory::MemoryKind
// device, so that a freed block's addresses are stale. Device 0, whose memory is the rank's heap, is
// none of them.
//
// open() and publish(): one thread, before other ranks make requests. All else: the driver.
// Tests: tests/unit/offload/own_devices_test.cpp, tests/conformance/device_test.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "local/registry.hpp"
#include "mailbox/device_host.hpp"
#include "node/claims.hpp"
#include "node/segment.hpp"

#include "device/device.hpp"

namespace acp::offload {

// The global address of a process's registers; 0: it has no devices but device 0. Writer: the
// process, before the meeting that ends acp_init. Readers: all processes of the job.
inline constexpr node::ClaimedRange device_registers_range{
    .name = "address of the registers of devices",
    .bytes = [](const node::Shape&) -> std::uint64_t { return node::claim_alignment; }};

class OwnDevices final : public mailbox::DeviceHost {
public:
    // Makes the devices of a list (base/device_plan.hpp), which has been checked.
    // Errors: memory, system.
    static base::Result<std::unique_ptr<OwnDevices>> open(std::string_view list);

    // Gives the registers addresses, and writes them to the claimed range; if there are no devices,
    // writes that there are none.
    //   slot, registry  of this process; the registry must outlive the requests
    // Errors: limit.
    base::Status publish(const node::Segment& segment,
                         std::uint32_t slot,
                         local::Registry& registry);

    // One more than the highest number; 0 if there is no device.
    [[nodiscard]] std::uint32_t device_count() const noexcept override {
        return devices_.empty() ? 0 : static_cast<std::uint32_t>(devices_.size()) + 1;
    }

    // Devices 1 and up.
    [[nodiscard]] device::Device* device(std::uint32_t number) noexcept override {
        return number != 0 && number <= devices_.size() ? devices_[number - 1].get() : nullptr;
    }

    base::Result<std::uint64_t> on_request(std::uint64_t offset,
                                           std::uint64_t operand) noexcept override;

private:
    base::Result<std::uint64_t> allocate(std::uint32_t number, std::uint64_t bytes);
    base::Result<std::uint64_t> free(std::uint64_t block);

    std::vector<std::unique_ptr<device::Device>> devices_;
    local::Registry* registry_ = nullptr;  // nullptr: not published
};

}  // namespace acp::offload
