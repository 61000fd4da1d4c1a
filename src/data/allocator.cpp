// SPDX-License-Identifier: BSD-3-Clause
// The slow paths: other nodes, heaps that are opened for the first time, and the messages of
// failures.
#include "data/allocator.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "data/ask.hpp"
#include "data/remote_call.hpp"
#include "os/cpu.hpp"

#include "allocator/heap_operations.hpp"
#include "allocator/heap_size_text.hpp"

namespace acp::data {

using base::Code;
using base::Result;
using base::Status;

namespace {

// The result of one operation on another node, while it is in flight.
struct Group {
    local::Nothing nothing;
    std::array<GlobalAddress, allocator::blocks_max> addresses{};
    std::uint32_t result_bytes = 0;
};

// The piece of a block that is cleared after `done` bytes of it.
allocator::ToClear piece_to_clear(GlobalAddress block, std::uint64_t done, std::uint64_t bytes) {
    return {block, done, std::min(allocator::clear_bytes_max, bytes - done)};
}

}  // namespace

Allocator::Allocator(gma::Gma& gma)
    : gma_(gma),
      space_(gma.space()),
      hazards_(gma.hazards()),
      heap_count_(space_.segment().shape().heap_bytes != 0 ? space_.segment().shape().local_procs
                                                           : 0),
      heaps_(std::make_unique<HeapHere[]>(heap_count_)),
      own_rank_(space_.rank()) {
    for (std::uint32_t slot = 0; slot < heap_count_; ++slot) {
        heaps_[slot].start = start_of(space_.segment().shape().first_process + slot);
    }
    own_.start = start_of(space_.process());
}

Allocator::~Allocator() {
    for (std::uint32_t i = 0; i < heap_count_; ++i) {
        delete heaps_[i].heap.load(std::memory_order_relaxed);
    }
}

Status Allocator::no_heaps() const {
    return {Code::unsupported,
            "this job has no heaps: " + allocator::heap_size_text(space_.segment())};
}

// nullptr: the process is of another node.
Result<allocator::NodeHeap*> Allocator::heap_of(std::uint32_t process) {
    if (heap_count_ == 0) return no_heaps();
    if (!space_.is_on_node(process)) return static_cast<allocator::NodeHeap*>(nullptr);
    std::atomic<allocator::NodeHeap*>& place = heaps_[space_.slot_of(process)].heap;
    allocator::NodeHeap* known = place.load(std::memory_order_acquire);
    if (known != nullptr) return known;
    auto made = std::make_unique<allocator::NodeHeap>(space_.segment(), space_.slot_of(process),
                                                      gma_.hazards());
    if (place.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel))
        known = made.release();
    // release: partners are allocate_own(), free_own()
    if (process == space_.process()) own_.heap.store(known, std::memory_order_release);
    return known;
}

std::string Allocator::owner_name(std::uint32_t process) const {
    return space_.owner_name(start_of(process));
}

Result<std::uint32_t> Allocator::owner_of(GlobalAddress address) const {
    const std::uint64_t process = space_.layout().process(address);
    if (address == 0 || process >= space_.segment().shape().procs) {
        return Status(Code::address, space_.explain(address, 1));
    }
    return static_cast<std::uint32_t>(process);
}

std::string Allocator::name_of(GlobalAddress address) const {
    const std::uint64_t process = space_.layout().process(address);
    std::string name = base::hex(address);
    if (address == 0 || process >= space_.segment().shape().procs) return name;
    return name + " on rank " +
           std::to_string(space_.segment().rank_of(static_cast<std::uint32_t>(process)));
}

Status Allocator::refusal(heap::Freed freed, GlobalAddress address) const {
    const std::string place = "global address " + base::hex(address);
    switch (freed) {
        case heap::Freed::done:
            return {};
        case heap::Freed::not_allocated:
            return {Code::stale, place + ": no block is allocated there: it was freed before"};
        case heap::Freed::not_a_block:
            return {Code::address, place + ": it lies inside a block, or where none can begin"};
        case heap::Freed::outside:
            return {Code::address, place + ": it is no address that acp_malloc gave"};
        case heap::Freed::of_container:
            return {Code::address,
                    place +
                        ": it is a part of a container, a lock or memory of a team, which their "
                        "calls free"};
        case heap::Freed::smashed:
            break;
    }
    return {Code::system, place +
                              ": the words of the heap around it contradict each other "
                              "(acp_heap_check tells more)"};
}

Status Allocator::no_room(std::uint32_t process, std::uint64_t bytes) {
    std::string text = "no room for " +
                       (bytes == 0 ? "the container's own records" : base::in_bytes(bytes)) +
                       " in the heap of " + owner_name(process);
    // This does not walk over all units: a program may try sizes until one fits.
    const auto fill = run<allocator::EstimateFill>(process, {});
    if (fill.is_ok() && fill.value().output.limit != 0) {
        text += ": " + base::human_size(fill.value().output.bytes) + " of " +
                base::human_size(fill.value().output.limit) + " are in use";
    }
    return {Code::memory, text + "; acprun --heap-size sets how much a heap may take"};
}

template <typename Operation>
Result<typename RemoteCall<Operation>::Returned> Allocator::run(
    std::uint32_t process,
    const typename Operation::Input& input,
    local::Bytes tail,
    std::span<std::byte> room) {
    return RemoteCall<Operation>(gma_, *this).run(process, input, tail, room);
}

Result<GlobalAddress> Allocator::allocate(std::uint32_t process,
                                          std::uint64_t bytes,
                                          std::uint64_t alignment,
                                          allocator::BlockOwner whose) {
    GlobalAddress address = 0;
    auto allocated = run<allocator::AllocateBlocks>(
        process, {static_cast<std::uint32_t>(alignment), whose},
        std::as_bytes(std::span(&bytes, 1)), std::as_writable_bytes(std::span(&address, 1)));
    if (!allocated.is_ok()) return std::move(allocated).failure();
    if (address == 0) return no_room(process, bytes);
    return address;
}

// Leaves 0 in place of the addresses that found no room.
Status Allocator::allocate_groups(std::uint32_t process,
                                  std::span<const std::uint64_t> sizes,
                                  std::span<GlobalAddress> addresses,
                                  allocator::BlockOwner whose) {
    using Call = RemoteCall<allocator::AllocateBlocks>;
    const allocator::ToAllocate request{allocator::alignment_least, whose};
    const bool is_here = space_.is_on_node(process);
    const std::size_t groups = (sizes.size() + allocator::blocks_max - 1) / allocator::blocks_max;
    std::vector<Group> in_flight(is_here ? 0 : groups);
    Asks asks(gma_);
    for (std::size_t i = 0; i < groups; ++i) {
        const std::size_t first = i * allocator::blocks_max;
        const std::size_t count =
            std::min<std::size_t>(allocator::blocks_max, sizes.size() - first);
        const auto tail = std::as_bytes(sizes.subspan(first, count));
        if (!is_here) {
            Group& group = in_flight[i];
            asks.add_or_fail(Call::request(process, request, {tail}, group.nothing,
                                           std::as_writable_bytes(std::span(group.addresses)),
                                           group.result_bytes));
            continue;
        }
        auto allocated = run<allocator::AllocateBlocks>(
            process, request, tail, std::as_writable_bytes(addresses.subspan(first, count)));
        if (!allocated.is_ok()) return std::move(allocated).failure();
    }
    auto status = asks.wait();
    auto to = addresses.begin();
    for (const Group& group : in_flight) {
        const auto room = static_cast<std::size_t>(addresses.end() - to);
        const std::size_t count = std::min<std::size_t>(allocator::blocks_max, room);
        const std::size_t told = std::min(group.result_bytes / sizeof(GlobalAddress), count);
        std::copy_n(group.addresses.begin(), told, to);
        to += static_cast<std::ptrdiff_t>(count);
    }
    return status;
}

Result<allocator::LentBlock> Allocator::borrow(std::uint32_t process, std::uint64_t bytes) {
    auto lent = run<allocator::LendBlock>(process, {bytes, space_.process()});
    if (!lent.is_ok()) return std::move(lent).failure();
    if (lent.value().output.address == 0) return no_room(process, bytes);
    return lent.value().output;
}

void Allocator::give_back(const allocator::LentBlock& lent) noexcept {
    try {
        const auto process = static_cast<std::uint32_t>(space_.layout().process(lent.address));
        (void)run<allocator::TakeBackBlock>(process, lent);
    } catch (const std::exception&) {
        // Without memory for the call the block stays on loan.
    }
}

Status Allocator::replace(GlobalAddress old, const allocator::LentBlock& lent) {
    const auto process = static_cast<std::uint32_t>(space_.layout().process(lent.address));
    auto replaced = run<allocator::ReplaceBlock>(process, {lent, old});
    if (replaced.is_ok()) return refusal(replaced.value().output.freed, old);
    auto failure = std::move(replaced).failure();
    if (failure.code() != Code::stale) return failure;
    return {Code::stale, "the new block was taken back: this rank was taken for dead"};
}

Status Allocator::allocate_many(std::uint32_t process,
                                std::span<const std::uint64_t> sizes,
                                std::span<GlobalAddress> addresses,
                                allocator::BlockOwner whose) {
    std::fill(addresses.begin(), addresses.end(), 0);
    if (auto heap = heap_of(process); !heap.is_ok()) return std::move(heap).failure();
    auto status = allocate_groups(process, sizes, addresses, whose);
    const auto missing = std::find(addresses.begin(), addresses.end(), 0U);
    if (status.is_ok() && missing == addresses.end()) return status;
    const auto index = static_cast<std::size_t>(missing - addresses.begin());
    (void)free_many(addresses, whose);
    std::fill(addresses.begin(), addresses.end(), 0);
    if (!status.is_ok()) return status;
    return no_room(process, sizes[index]).within("block " + std::to_string(index));
}

// One piece at a time: a gateway runs the operations that it has in turn, and others wait for it.
Status Allocator::clear(GlobalAddress block, std::uint64_t bytes) {
    auto owner = owner_of(block);
    if (!owner.is_ok()) return std::move(owner).failure();
    for (std::uint64_t done = 0; done < bytes; done += allocator::clear_bytes_max) {
        auto cleared =
            run<allocator::ClearBlock>(owner.value(), piece_to_clear(block, done, bytes));
        if (!cleared.is_ok()) return std::move(cleared).failure();
    }
    return {};
}

Status Allocator::borrow_cleared(std::span<const std::uint32_t> processes,
                                 std::uint64_t bytes,
                                 std::span<allocator::LentBlock> blocks) {
    if (bytes <= allocator::clear_bytes_max) return {};
    const auto for_each_far = [&](const auto& call) {
        for (std::size_t i = 0; i < processes.size(); ++i) {
            if (!space_.is_on_node(processes[i])) call(processes[i], blocks[i]);
        }
    };
    local::Nothing nothing;
    Asks asks(gma_);
    for_each_far([&](std::uint32_t process, allocator::LentBlock& block) {
        asks.add_or_fail(RemoteCall<allocator::LendBlock>::request(
            process, {bytes, space_.process()}, {}, block));
    });
    auto status = asks.wait();
    for (std::uint64_t done = 0; done < bytes && status.is_ok();
         done += allocator::clear_bytes_max) {
        for_each_far([&](std::uint32_t process, const allocator::LentBlock& block) {
            if (block.address == 0) return;
            asks.add_or_fail(RemoteCall<allocator::ClearBlock>::request(
                process, piece_to_clear(block.address, done, bytes), {}, nothing));
        });
        status = asks.wait();
    }
    if (status.is_ok()) return status;
    for_each_far([&](std::uint32_t, allocator::LentBlock& block) {
        if (block.address != 0) give_back(std::exchange(block, {}));
    });
    return status;
}

Status Allocator::free(GlobalAddress address, allocator::BlockOwner whose) {
    auto owner = owner_of(address);
    if (!owner.is_ok()) return std::move(owner).failure();
    return free_group(owner.value(), {&address, 1}, whose);
}

//   addresses  at most blocks_max, of the heap of one process
Status Allocator::free_group(std::uint32_t process,
                             std::span<const GlobalAddress> addresses,
                             allocator::BlockOwner whose) {
    std::array<heap::Freed, allocator::blocks_max> freed{};
    auto returned = run<allocator::FreeBlocks>(process, {whose, 0}, std::as_bytes(addresses),
                                               std::as_writable_bytes(std::span(freed)));
    if (!returned.is_ok()) return std::move(returned).failure();
    Status first;
    const std::size_t count = std::min(returned.value().tail_bytes, addresses.size());
    for (std::size_t i = 0; i < count && first.is_ok(); ++i)
        first = refusal(freed[i], addresses[i]);
    return first;
}

Status Allocator::free_many(std::span<const GlobalAddress> addresses, allocator::BlockOwner whose) {
    std::map<std::uint32_t, std::vector<GlobalAddress>> elsewhere;
    std::vector<GlobalAddress> refused;
    {
        local::Hazards::Lease lease(gma_.hazards());
        for (const GlobalAddress address : addresses) {
            if (address == 0 || free_here(lease.line(), address, whose)) continue;
            const auto owner = owner_of(address);
            const bool is_elsewhere = owner.is_ok() && !space_.is_on_node(owner.value());
            (is_elsewhere ? elsewhere[owner.value()] : refused).push_back(address);
        }
    }
    Status first;
    const auto note = [&first](Status status) {
        if (first.is_ok()) first = std::move(status);
    };
    for (const auto& [process, blocks] : elsewhere) {
        const std::span all(blocks);
        for (std::size_t done = 0; done < all.size(); done += allocator::blocks_max) {
            const std::size_t count =
                std::min<std::size_t>(allocator::blocks_max, all.size() - done);
            note(free_group(process, all.subspan(done, count), whose));
        }
    }
    for (const GlobalAddress address : refused) note(free(address, whose));
    return first;
}

Result<std::uint64_t> Allocator::usable_bytes(GlobalAddress address) {
    auto owner = owner_of(address);
    if (!owner.is_ok()) return std::move(owner).failure();
    auto measured = run<allocator::MeasureBlock>(owner.value(), {address});
    if (!measured.is_ok()) return std::move(measured).failure();
    if (const std::uint64_t usable = measured.value().output.bytes; usable != 0) return usable;
    return Status(Code::address,
                  "global address " + base::hex(address) +
                      ": no allocated block begins there, or it is a part of a container");
}

Result<heap::Usage> Allocator::usage(std::uint32_t process) {
    heap::Usage whole;
    for (heap::HeapPlace place;;) {
        auto measured = run<allocator::MeasureHeap>(process, place);
        if (!measured.is_ok()) return std::move(measured).failure();
        const allocator::MeasuredPiece& piece = measured.value().output;
        whole += piece.usage;
        if (piece.is_end != 0) return whole;
        place = piece.next;
    }
}

// A finding is an intermediate state of an operation if it is gone after some moments.
Status Allocator::check(std::uint32_t process) {
    constexpr std::uint32_t walks = 16;        // that find the same
    constexpr std::uint32_t walks_most = 256;  // walks over one piece
    std::array<char, memory::invoke_bytes_max> room{};
    std::string finding;
    heap::HeapPlace place;
    for (std::uint32_t same = 0, all = 1;; ++all) {
        auto checked =
            run<allocator::CheckHeap>(process, place, {}, std::as_writable_bytes(std::span(room)));
        if (!checked.is_ok()) return std::move(checked).failure();
        const std::string_view found(room.data(), checked.value().tail_bytes);
        same = found == finding ? same + 1 : 1;
        finding = found;
        if (!finding.empty() && same == walks)
            return {Code::system, "the heap of " + owner_name(process) + " is damaged: " + finding};
        if (!finding.empty() && all < walks_most) {
            os::nap();
            continue;
        }
        if (checked.value().output.is_end != 0) return {};
        place = checked.value().output.next;
        finding.clear();
        all = 0;
    }
}

}  // namespace acp::data
