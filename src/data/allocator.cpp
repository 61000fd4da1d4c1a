// SPDX-License-Identifier: BSD-3-Clause
// The slow paths: other nodes, heaps that are opened for the first time, and the messages of
// failures.
#include "data/allocator.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "data/ask.hpp"

#include "allocator/operations.hpp"

namespace acp::data {

using base::Code;
using base::Result;
using base::Status;

namespace {

// The blocks of one operation to another node, while it is in flight.
struct Group {
    std::array<std::uint64_t, allocator::blocks_max + 1> asked{};
    std::array<std::uint64_t, allocator::blocks_max> told{};
    std::uint32_t told_bytes = 0;
    std::size_t first = 0;
    std::size_t count = 0;
};

template <typename Words>
std::span<const std::byte> bytes_of(const Words& words, std::size_t count) {
    return std::as_bytes(std::span(words).first(count));
}

}  // namespace

Allocator::Allocator(gma::Gma& gma)
    : gma_(gma),
      space_(gma.space()),
      hazards_(gma.hazards()),
      blocks_offset_(node::claim_offset(node::Claim::heap_blocks, space_.segment().shape())),
      heap_count_(space_.segment().shape().heap_bytes != 0 ? space_.segment().shape().local_procs
                                                           : 0),
      heaps_(std::make_unique<HeapHere[]>(heap_count_)) {
    for (std::uint32_t slot = 0; slot < heap_count_; ++slot) {
        heaps_[slot].start = start_of(space_.segment().shape().first_process + slot);
    }
}

Allocator::~Allocator() {
    for (std::uint32_t i = 0; i < heap_count_; ++i) {
        delete heaps_[i].heap.load(std::memory_order_relaxed);
    }
}

Status Allocator::no_heaps() const {
    return {
        Code::unsupported,
        "this job has no heaps: it was started with ACP_HEAP_SIZE=0 or acprun --heap-size 0, or "
        "little memory was free"};
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
    if (place.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel)) {
        return made.release();
    }
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
                        ": it is a part of a container or memory of a team, which their calls "
                        "free"};
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
    std::array<std::uint64_t, 2> used_and_limit{};
    if (auto heap = heap_of(process); heap.is_ok() && heap.value() != nullptr) {
        used_and_limit = {heap.value()->bytes_in_use(), heap.value()->limit_bytes()};
    } else {
        std::uint32_t told = 0;
        const auto status = ask({process,
                                 allocator::in_use_number,
                                 {},
                                 std::as_writable_bytes(std::span(used_and_limit)),
                                 &told});
        if (!status.is_ok()) used_and_limit = {};
    }
    if (const auto [used, limit] = used_and_limit; limit != 0)
        text += ": " + base::human_size(used) + " of " + base::human_size(limit) + " are in use";
    return {Code::memory, text + "; acprun --heap-size sets how much a heap may take"};
}

Status Allocator::ask(const gma::Invocation& call) {
    if (heap_count_ == 0) return no_heaps();
    return data::ask(gma_, call);
}

Result<GlobalAddress> Allocator::allocate(std::uint32_t process,
                                          std::uint64_t bytes,
                                          std::uint64_t alignment,
                                          allocator::BlockOwner whose) {
    auto heap = heap_of(process);
    if (!heap.is_ok()) return std::move(heap).failure();
    GlobalAddress address = 0;
    if (heap.value() == nullptr) {
        auto status = allocate_there(process, {&bytes, 1},
                                     {static_cast<std::uint32_t>(alignment), whose}, {&address, 1});
        if (!status.is_ok()) return status;
    } else {
        local::Hazards::Lease lease(gma_.hazards());
        const std::uint32_t thread = gma_.hazards().index_of(lease.line());
        const heap::Offset block = heap.value()->allocate(thread, bytes, alignment, whose);
        address = block != heap::no_block ? start_of(process) + block : 0;
    }
    if (address == 0) return no_room(process, bytes);
    return address;
}

// Leaves 0 in place of the addresses that found no room.
Status Allocator::allocate_there(std::uint32_t process,
                                 std::span<const std::uint64_t> sizes,
                                 const allocator::AllocateHead& head,
                                 std::span<GlobalAddress> addresses) {
    const std::size_t groups = (sizes.size() + allocator::blocks_max - 1) / allocator::blocks_max;
    std::vector<Group> under_way(groups);
    Asks asks(gma_);
    for (std::size_t i = 0; i < groups; ++i) {
        Group& group = under_way[i];
        group.first = i * allocator::blocks_max;
        group.count = std::min<std::size_t>(allocator::blocks_max, sizes.size() - group.first);
        static_assert(sizeof head == sizeof group.asked[0]);
        std::memcpy(group.asked.data(), &head, sizeof head);
        std::copy_n(sizes.begin() + static_cast<std::ptrdiff_t>(group.first), group.count,
                    group.asked.begin() + 1);
        asks.add_or_fail({process, allocator::allocate_number,
                          bytes_of(group.asked, group.count + 1),
                          std::as_writable_bytes(std::span(group.told)), &group.told_bytes});
    }
    auto status = asks.wait();
    for (const Group& group : under_way) {
        const std::size_t told = group.told_bytes / sizeof(std::uint64_t);
        std::copy_n(group.told.begin(), std::min(told, group.count),
                    addresses.begin() + static_cast<std::ptrdiff_t>(group.first));
    }
    return status;
}

Result<allocator::LentBlock> Allocator::borrow(std::uint32_t process, std::uint64_t bytes) {
    const allocator::LendRequest request{bytes, space_.process()};
    allocator::LentBlock lent;
    std::uint32_t told = 0;
    auto status = ask({process, allocator::lend_number, std::as_bytes(std::span(&request, 1)),
                       std::as_writable_bytes(std::span(&lent, 1)), &told});
    if (!status.is_ok()) return status;
    if (lent.address == 0) return no_room(process, bytes);
    return lent;
}

void Allocator::give_back(const allocator::LentBlock& lent) noexcept {
    try {
        const auto process = static_cast<std::uint32_t>(space_.layout().process(lent.address));
        (void)ask({process,
                   allocator::take_back_number,
                   std::as_bytes(std::span(&lent, 1)),
                   {},
                   nullptr});
    } catch (const std::exception&) {
        // Without memory for the call the block stays on loan.
    }
}

Status Allocator::replace(GlobalAddress old, const allocator::LentBlock& lent) {
    const allocator::ReplaceRequest request{lent, old};
    heap::Freed freed = heap::Freed::done;
    std::uint32_t told = 0;
    const auto process = static_cast<std::uint32_t>(space_.layout().process(lent.address));
    auto status = ask({process, allocator::replace_number, std::as_bytes(std::span(&request, 1)),
                       std::as_writable_bytes(std::span(&freed, 1)), &told});
    if (status.code() == Code::stale)
        return {Code::stale, "the new block was taken back: this rank was taken for dead"};
    return status.is_ok() ? refusal(freed, old) : std::move(status);
}

Status Allocator::allocate_many(std::uint32_t process,
                                std::span<const std::uint64_t> sizes,
                                std::span<GlobalAddress> addresses,
                                allocator::BlockOwner whose) {
    std::fill(addresses.begin(), addresses.end(), 0);
    auto heap = heap_of(process);
    if (!heap.is_ok()) return std::move(heap).failure();
    Status status;
    if (heap.value() == nullptr) {
        status = allocate_there(process, sizes, {allocator::alignment_least, whose}, addresses);
    } else {
        local::Hazards::Lease lease(gma_.hazards());
        const std::uint32_t thread = gma_.hazards().index_of(lease.line());
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            const heap::Offset block =
                heap.value()->allocate(thread, sizes[i], allocator::alignment_least, whose);
            if (block == heap::no_block) break;
            addresses[i] = start_of(process) + block;
        }
    }
    const auto missing = std::find(addresses.begin(), addresses.end(), 0U);
    if (status.is_ok() && missing == addresses.end()) return status;
    const auto index = static_cast<std::size_t>(missing - addresses.begin());
    (void)free_many(addresses, whose);
    std::fill(addresses.begin(), addresses.end(), 0);
    return status.is_ok() ? no_room(process, sizes[index]) : std::move(status);
}

Status Allocator::clear(GlobalAddress block, std::uint64_t bytes) {
    auto owner = owner_of(block);
    if (!owner.is_ok()) return std::move(owner).failure();
    auto heap = heap_of(owner.value());
    if (!heap.is_ok()) return std::move(heap).failure();
    if (heap.value() != nullptr) {
        heap.value()->clear_blocks(block - start_of(owner.value()), bytes);
        return {};
    }
    Asks asks(gma_);
    for (std::uint64_t done = 0; done < bytes; done += allocator::clear_bytes_max) {
        const allocator::ClearRequest request{block, done,
                                              std::min(allocator::clear_bytes_max, bytes - done)};
        asks.add({owner.value(),
                  allocator::clear_number,
                  std::as_bytes(std::span(&request, 1)),
                  {},
                  nullptr});
    }
    return asks.wait();
}

Status Allocator::free(GlobalAddress address, allocator::BlockOwner whose) {
    auto owner = owner_of(address);
    if (!owner.is_ok()) return std::move(owner).failure();
    auto heap = heap_of(owner.value());
    if (!heap.is_ok()) return std::move(heap).failure();
    if (heap.value() == nullptr) return free_there(owner.value(), {&address, 1}, whose);
    local::Hazards::Lease lease(gma_.hazards());
    const heap::Offset block = allocator::offset_in_heap(space_, owner.value(), address);
    return refusal(heap.value()->free(gma_.hazards().index_of(lease.line()), block, whose),
                   address);
}

//   addresses  at most blocks_max
Status Allocator::free_there(std::uint32_t process,
                             std::span<const GlobalAddress> addresses,
                             allocator::BlockOwner whose) {
    std::array<heap::Freed, allocator::blocks_max> freed{};
    std::uint32_t told = 0;
    const std::uint32_t operation = whose == allocator::BlockOwner::program
                                        ? allocator::free_number
                                        : allocator::free_owned_number;
    auto status = ask({process, operation, std::as_bytes(addresses),
                       std::as_writable_bytes(std::span(freed)), &told});
    for (std::size_t i = 0; status.is_ok() && i < told; ++i) {
        status = refusal(freed[i], addresses[i]);
    }
    return status;
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
            note(free_there(process, all.subspan(done, count), whose));
        }
    }
    for (const GlobalAddress address : refused) note(free(address, whose));
    return first;
}

Result<std::uint64_t> Allocator::usable_bytes(GlobalAddress address) {
    auto owner = owner_of(address);
    if (!owner.is_ok()) return std::move(owner).failure();
    auto heap = heap_of(owner.value());
    if (!heap.is_ok()) return std::move(heap).failure();
    std::uint64_t usable = 0;
    if (heap.value() != nullptr) {
        usable =
            heap.value()->usable_bytes(allocator::offset_in_heap(space_, owner.value(), address));
    } else {
        std::uint32_t told = 0;
        auto status =
            ask({owner.value(), allocator::usable_number, std::as_bytes(std::span(&address, 1)),
                 std::as_writable_bytes(std::span(&usable, 1)), &told});
        if (!status.is_ok()) return status;
    }
    if (usable != 0) return usable;
    return Status(Code::address,
                  "global address " + base::hex(address) +
                      ": no allocated block begins there, or it is a part of a container");
}

Result<heap::Usage> Allocator::usage(std::uint32_t process) {
    auto heap = heap_of(process);
    if (!heap.is_ok()) return std::move(heap).failure();
    heap::Usage usage;
    if (heap.value() != nullptr) {
        local::Hazards::Lease lease(gma_.hazards());
        usage = heap.value()->usage(gma_.hazards().index_of(lease.line()));
        return usage;
    }
    std::uint32_t told = 0;
    auto status = ask({process,
                       allocator::usage_number,
                       {},
                       std::as_writable_bytes(std::span(&usage, 1)),
                       &told});
    if (!status.is_ok()) return status;
    return usage;
}

Status Allocator::check(std::uint32_t process) {
    auto heap = heap_of(process);
    if (!heap.is_ok()) return std::move(heap).failure();
    std::string finding;
    if (heap.value() != nullptr) {
        local::Hazards::Lease lease(gma_.hazards());
        const auto findings = heap.value()->findings(gma_.hazards().index_of(lease.line()));
        if (!findings.empty()) finding = findings.front();
    } else {
        std::array<char, memory::invoke_bytes_max> text{};
        std::uint32_t told = 0;
        auto status = ask(
            {process, allocator::check_number, {}, std::as_writable_bytes(std::span(text)), &told});
        if (!status.is_ok()) return status;
        finding.assign(text.data(), told);
    }
    if (finding.empty()) return {};
    return {Code::system, "the heap of " + owner_name(process) + " is damaged: " + finding};
}

}  // namespace acp::data
