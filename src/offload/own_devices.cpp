// SPDX-License-Identifier: BSD-3-Clause
// The owner's side of allocations on devices.
#include "offload/own_devices.hpp"

#include <atomic>
#include <new>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "base/device_plan.hpp"

#include "device/far.hpp"

namespace acp::offload {

using base::Code;
using base::Result;
using base::Status;

Result<std::unique_ptr<OwnDevices>> OwnDevices::open(std::string_view list) {
    auto made = std::make_unique<OwnDevices>();
    const auto plans = base::parse_device_plan(list);
    ACP_ASSERT(plans.has_value());
    for (const base::DevicePlan& plan : *plans) {
        const auto number = static_cast<std::uint32_t>(made->devices_.size()) + 1;
        auto device = device::FarDevice::open({plan.bytes, number, plan.fails_at});
        if (!device.is_ok()) return std::move(device).failure();
        made->devices_.push_back(std::move(device).value());
    }
    return made;
}

Status OwnDevices::publish(const node::Segment& segment,
                           std::uint32_t slot,
                           local::Registry& registry) {
    // Without devices the place stays zero, and its page untouched.
    if (devices_.empty()) return {};
    auto key =
        registry.add_device(0, mailbox::registers_bytes(device_count()), memory::device_registers);
    if (!key.is_ok()) return std::move(key).failure().within("the registers of devices");
    registry_ = &registry;
    char* const place = segment.claimed(slot, device_registers_range);
    // relaxed: a meeting of all ranks comes before the first use
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(place))
        .store(key.value(), std::memory_order_relaxed);
    return {};
}

Result<std::uint64_t> OwnDevices::on_request(std::uint64_t offset, std::uint64_t operand) noexcept {
    if (registry_ == nullptr || offset % mailbox::register_bytes != 0) {
        return Status::bare(Code::argument);
    }
    try {
        if (offset == mailbox::free_register) return free(operand);
        for (std::uint32_t number = 1; number < device_count(); ++number) {
            if (offset == mailbox::allocate_register(number)) return allocate(number, operand);
        }
    } catch (const std::bad_alloc&) {
        return Status::bare(Code::memory);
    }
    return Status::bare(Code::argument);
}

Result<std::uint64_t> OwnDevices::allocate(std::uint32_t number, std::uint64_t bytes) {
    device::Device& device = *devices_[number - 1];
    auto address = device.allocate(bytes);
    if (!address.is_ok()) return std::move(address).failure();
    auto key = registry_->add_device(address.value(), bytes, number);
    if (!key.is_ok()) (void)device.free(address.value());
    return key;
}

Result<std::uint64_t> OwnDevices::free(std::uint64_t block) {
    const auto number = registry_->device_of(block);
    if (number && *number == memory::device_registers) return Status::bare(Code::argument);
    auto address = registry_->remove_device(block);
    if (!address.is_ok()) return std::move(address).failure();
    device::Device* const device = number ? this->device(*number) : nullptr;
    if (device == nullptr) return Status::bare(Code::argument);
    if (auto status = device->free(address.value()); !status.is_ok()) return status;
    return std::uint64_t{0};
}

}  // namespace acp::offload
