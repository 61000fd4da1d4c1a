// SPDX-License-Identifier: BSD-3-Clause
// <acp/device.h>. Device 0 is the rank's heap, the others are offload's.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "api/boundary.hpp"
#include "api/library.hpp"
#include "base/format.hpp"
#include "gma/commands.hpp"
#include "offload/device_memory.hpp"
#include "offload/own_devices.hpp"

#include <acp/device.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::library;
using base::Code;
using base::Result;
using base::Status;

static_assert(ACP_DEVICE_PROC == static_cast<int>(device::DeviceKind::proc));
static_assert(ACP_DEVICE_FAR == static_cast<int>(device::DeviceKind::far));

Status named(const std::string& call, Status failure) {
    if (failure.is_ok()) return failure;
    return std::move(failure).within(call + gma::by_rank(library().member->rank()));
}

int own_device_count() {
    return std::max(1, static_cast<int>(library().own_devices->device_count()));
}

// Copies a text with its terminating zero, and truncates a text that is too long.
void write_text(std::span<char> target, std::string_view text) {
    const std::size_t bytes = std::min(text.size(), target.size() - 1);
    std::memcpy(target.data(), text.data(), bytes);
    target[bytes] = '\0';
}

// What the rank's heap makes of device 0.
device::DeviceInfo heap_info() {
    device::DeviceInfo info{device::DeviceKind::proc, "proc", 0, true, true, ""};
    const auto process = library().gma->space().process();
    const auto usage = library().allocator->usage(process);
    if (usage.is_ok()) info.bytes = usage.value().limit_bytes;
    if (info.bytes == 0) {
        info.can_copy = false;
        info.why_not = "its memory is the rank's heap, and the job has no heaps (ACP_HEAP_SIZE)";
    }
    return info;
}

Result<acp_ga_t> allocate(std::size_t bytes, int rank, int number) {
    const std::uint32_t procs = library().member->procs();
    if (rank < 0 || static_cast<std::uint32_t>(rank) >= procs) {
        return Status(Code::argument, "rank " + std::to_string(rank) + " is not one of 0 to " +
                                          std::to_string(procs - 1));
    }
    if (number < 0) {
        return Status(Code::argument, "device " + std::to_string(number) + " does not exist");
    }
    const std::uint32_t process =
        library().gma->space().segment().process_of(static_cast<std::uint32_t>(rank));
    const std::uint64_t wanted = std::max<std::uint64_t>(bytes, 1);
    if (number != 0) {
        return library().device_memory->allocate(process, static_cast<std::uint32_t>(number),
                                                 wanted);
    }
    return library().allocator->allocate(process, wanted, allocator::alignment_least);
}

}  // namespace

extern "C" {

int acp_devices(void) {
    return api::run<Gravity::misuse_ends>("acp_devices", -1, [] { return own_device_count(); });
}

int acp_query_device(int device, acp_device_info_t* info) {
    const bool is_ok = api::run<Gravity::misuse_ends>("acp_query_device", false, [&]() -> Status {
        const std::string call = "acp_query_device(" + std::to_string(device) + ")";
        if (device < 0 || device >= own_device_count()) {
            return named(call, {Code::argument, "this rank has devices 0 to " +
                                                    std::to_string(own_device_count() - 1)});
        }
        if (info == nullptr) return named(call, {Code::argument, "info is NULL"});
        const device::DeviceInfo found =
            device == 0 ? heap_info()
                        : library().own_devices->device(static_cast<std::uint32_t>(device))->info();
        *info = {};
        info->kind = static_cast<int>(found.kind);
        info->can_copy = found.can_copy ? 1 : 0;
        info->can_call = found.can_call ? 1 : 0;
        info->bytes = found.bytes;
        write_text(info->name, found.name);
        write_text(info->why_not, found.why_not);
        return {};
    });
    return is_ok ? 0 : -1;
}

acp_ga_t acp_malloc_device(size_t bytes, int rank, int device) {
    const auto body = [&]() -> Result<acp_ga_t> {
        auto block = allocate(bytes, rank, device);
        if (block.is_ok()) return block;
        return named("acp_malloc_device(" + base::in_bytes(bytes) + ", rank " +
                         std::to_string(rank) + ", device " + std::to_string(device) + ")",
                     std::move(block).failure());
    };
    return api::run<Gravity::misuse_ends>("acp_malloc_device", ACP_GA_NULL, body);
}

int acp_free_device(acp_ga_t ga) {
    const bool is_ok = api::run<Gravity::failure_ends>("acp_free_device", false, [&]() -> Status {
        if (ga == ACP_GA_NULL) return {};
        const bool is_heap = library().gma->space().is_shared(ga);
        return named("acp_free_device(" + base::hex(ga) + ")",
                     is_heap ? library().allocator->free(ga) : library().device_memory->free(ga));
    });
    return is_ok ? 0 : -1;
}
}
