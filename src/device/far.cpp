// SPDX-License-Identifier: BSD-3-Clause
// First fit in one mapping, and a ring of copies that poll() makes step by step.
#include "device/far.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/format.hpp"
#include "base/parse.hpp"

namespace acp::device {

namespace {

// No processor accepts an address with these upper bits in a load or store.
constexpr std::uint64_t space_of(std::uint32_t number) noexcept {
    constexpr std::uint64_t first = 0x0fa0;
    return (first + number) << 48U;
}

constexpr std::uint64_t no_gap = ~std::uint64_t{0};

constexpr std::uint64_t rounded_up(std::uint64_t bytes) noexcept {
    return (bytes + Device::alignment - 1) / Device::alignment * Device::alignment;
}

}  // namespace

base::Result<std::unique_ptr<FarDevice>> FarDevice::open(const FarSettings& settings) {
    if (settings.bytes == 0) return base::Status(base::Code::argument, "a device of 0 bytes");
    auto memory = os::Mapping::map_anonymous(settings.bytes);
    if (!memory.is_ok()) return std::move(memory).failure().within("the memory of device far");
    return std::unique_ptr<FarDevice>(new FarDevice(settings, std::move(memory).value()));
}

FarDevice::FarDevice(const FarSettings& settings, os::Mapping memory)
    : memory_(std::move(memory)),
      info_{DeviceKind::far, "far:" + base::size_text(settings.bytes),
            settings.bytes,  true,
            false,           "device far has memory alone; functions run on device 0, proc"},
      base_(space_of(settings.number)),
      fails_at_(settings.fails_at) {}

base::Status FarDevice::lost() const {
    return base::Status::worded(base::Code::system, [&] {
        return "the device " + info_.name + " is lost: its engine has failed";
    });
}

// Reclaims freed allocations after the last copy that uses them has ended.
void FarDevice::drop_freed() noexcept {
    std::erase_if(blocks_, [this](const auto& one) {
        return one.second.free_after != live && one.second.free_after <= ended_;
    });
}

std::uint64_t FarDevice::free_bytes() const noexcept {
    std::uint64_t used = 0;
    for (const auto& [offset, block] : blocks_) used += rounded_up(block.bytes);
    return info_.bytes - std::min(used, info_.bytes);
}

std::uint64_t FarDevice::find_gap(std::uint64_t bytes) const noexcept {
    std::uint64_t at = 0;
    for (const auto& [offset, block] : blocks_) {
        if (offset - at >= bytes) return at;
        at = offset + rounded_up(block.bytes);
    }
    return at <= info_.bytes && info_.bytes - at >= bytes ? at : no_gap;
}

base::Result<DeviceAddress> FarDevice::allocate(std::uint64_t bytes) {
    if (is_lost_) return lost();
    if (bytes == 0) return base::Status(base::Code::argument, "an allocation of 0 bytes");
    drop_freed();
    std::uint64_t at = find_gap(bytes);
    if (at == no_gap && begun_ != ended_) {  // copies in flight may hold freed memory
        while (poll()) {
        }
        if (is_lost_) return lost();
        drop_freed();
        at = find_gap(bytes);
    }
    if (at == no_gap) {
        return base::Status(base::Code::memory, "the device " + info_.name + " has no room for " +
                                                    base::in_bytes(bytes) + " in one piece: " +
                                                    std::to_string(free_bytes()) + " of " +
                                                    base::in_bytes(info_.bytes) + " are free");
    }
    blocks_.emplace(at, Block{bytes, live});
    return base_ + at;
}

base::Status FarDevice::free(DeviceAddress address) {
    if (is_lost_) return lost();
    const auto found = blocks_.find(address - base_);
    if (found == blocks_.end() || found->second.free_after != live) {
        return {base::Code::stale,
                "no allocation of device " + info_.name + " begins at " + base::hex(address)};
    }
    found->second.free_after = begun_;
    drop_freed();
    return {};
}

// The memory of a range that lies in one allocation.
base::Result<char*> FarDevice::find(DeviceAddress address, std::uint64_t bytes) const {
    const std::uint64_t offset = address - base_;
    auto next = blocks_.upper_bound(offset);
    if (next == blocks_.begin()) {
        return base::Status(base::Code::stale, "no allocation of device " + info_.name + " is at " +
                                                   base::hex(address));
    }
    const auto& [start, block] = *std::prev(next);
    if (offset - start >= block.bytes || block.free_after != live) {
        return base::Status(base::Code::stale, "no allocation of device " + info_.name + " is at " +
                                                   base::hex(address));
    }
    if (bytes == 0 || bytes > block.bytes - (offset - start)) {
        return base::Status(base::Code::argument,
                            base::in_bytes(bytes) + " from offset " +
                                std::to_string(offset - start) + " of an allocation of " +
                                base::in_bytes(block.bytes) + " on device " + info_.name);
    }
    return memory_.data() + offset;
}

base::Result<Ticket> FarDevice::begin(char* target, const char* source, std::uint64_t bytes) {
    if (begun_ - ended_ == copies_max) {
        return base::Status::bare(base::Code::limit);
    }
    const bool is_backward = target > source && target < source + bytes;
    ++begun_;
    copies_[begun_ % copies_max] = {target, source, bytes, 0, is_backward};
    return begun_;
}

base::Result<Ticket> FarDevice::copy_in(DeviceAddress target,
                                        const char* source,
                                        std::uint64_t bytes) {
    if (is_lost_) return lost();
    auto place = find(target, bytes);
    if (!place.is_ok()) return std::move(place).failure();
    return begin(place.value(), source, bytes);
}

base::Result<Ticket> FarDevice::copy_out(char* target, DeviceAddress source, std::uint64_t bytes) {
    if (is_lost_) return lost();
    auto place = find(source, bytes);
    if (!place.is_ok()) return std::move(place).failure();
    return begin(target, place.value(), bytes);
}

base::Result<Ticket> FarDevice::copy_inside(DeviceAddress target,
                                            DeviceAddress source,
                                            std::uint64_t bytes) {
    if (is_lost_) return lost();
    auto to = find(target, bytes);
    if (!to.is_ok()) return std::move(to).failure();
    auto from = find(source, bytes);
    if (!from.is_ok()) return std::move(from).failure();
    return begin(to.value(), from.value(), bytes);
}

bool FarDevice::poll() noexcept {
    if (is_lost_ || begun_ == ended_) return false;
    if (++steps_ == fails_at_) {
        is_lost_ = true;
        return true;
    }
    std::uint64_t room = step_bytes;
    while (begun_ != ended_ && room != 0) {
        Copy& copy = copies_[(ended_ + 1) % copies_max];
        const std::uint64_t bytes = std::min(room, copy.bytes - copy.done);
        const std::uint64_t at = copy.is_backward ? copy.bytes - copy.done - bytes : copy.done;
        std::memmove(copy.target + at, copy.source + at, bytes);
        copy.done += bytes;
        room -= bytes;
        if (copy.done == copy.bytes) ++ended_;
    }
    return true;
}

}  // namespace acp::device
