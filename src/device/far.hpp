// SPDX-License-Identifier: BSD-3-Clause
// The device `far`: memory of the owner's process that no other process has mapped, and an engine
// that copies when it is polled. It has every property of an accelerator behind a bus that others
// must cope with: addresses that no process may dereference, copies that end later, memory that
// runs out, an engine that fails. So it runs, where no accelerator is, the code that one needs.
// Tests: tests/unit/device/far_test.cpp, by the conformance suite of devices.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "os/mapping.hpp"

#include "device/device.hpp"

namespace acp::device {

class FarDevice final : public Device {
public:
    // What `far` is made of.
    struct FarSettings {
        std::uint64_t bytes = 0;     // memory, 1 or more; taken from the system when first touched
        std::uint32_t number = 0;    // the device's in its process: part of its addresses
        std::uint64_t fails_at = 0;  // the engine fails in this step, counted from 1; 0: never
    };

    // Errors: argument (0 bytes), memory, system.
    static base::Result<std::unique_ptr<FarDevice>> open(const FarSettings& settings);

    [[nodiscard]] const DeviceInfo& info() const noexcept override { return info_; }

    base::Result<DeviceAddress> allocate(std::uint64_t bytes) override;
    base::Status free(DeviceAddress address) override;
    base::Result<Ticket> copy_in(DeviceAddress target,
                                 const char* source,
                                 std::uint64_t bytes) override;
    base::Result<Ticket> copy_out(char* target, DeviceAddress source, std::uint64_t bytes) override;
    base::Result<Ticket> copy_inside(DeviceAddress target,
                                     DeviceAddress source,
                                     std::uint64_t bytes) override;
    bool poll() noexcept override;

    [[nodiscard]] bool has_ended(Ticket ticket) const noexcept override { return ticket <= ended_; }

    [[nodiscard]] bool is_lost() const noexcept override { return is_lost_; }

private:
    // A copy in flight. It is made from its end where the ranges overlap so that its beginning
    // would overwrite what is still to be read.
    struct Copy {
        char* target = nullptr;
        const char* source = nullptr;
        std::uint64_t bytes = 0;
        std::uint64_t done = 0;
        bool is_backward = false;
    };

    // An allocation, by its offset.
    struct Block {
        std::uint64_t bytes = 0;
        Ticket free_after = live;  // freed: the last copy that may use it
    };

    static constexpr Ticket live = ~Ticket{0};

    FarDevice(const FarSettings& settings, os::Mapping memory);
    [[nodiscard]] base::Status lost() const;
    base::Result<char*> find(DeviceAddress address, std::uint64_t bytes) const;
    base::Result<Ticket> begin(char* target, const char* source, std::uint64_t bytes);
    [[nodiscard]] std::uint64_t find_gap(std::uint64_t bytes) const noexcept;
    [[nodiscard]] std::uint64_t free_bytes() const noexcept;
    void drop_freed() noexcept;

    os::Mapping memory_;
    DeviceInfo info_;
    DeviceAddress base_;  // address of the first byte
    std::uint64_t fails_at_;
    std::uint64_t steps_ = 0;
    std::map<std::uint64_t, Block> blocks_;
    std::array<Copy, copies_max> copies_;  // tickets ended_ + 1 .. begun_ are in flight
    Ticket begun_ = 0;
    Ticket ended_ = 0;
    bool is_lost_ = false;
};

}  // namespace acp::device
