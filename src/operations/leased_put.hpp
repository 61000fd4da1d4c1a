// SPDX-License-Identifier: BSD-3-Clause
// The two typed operations (local/typed_operation.hpp) by which a process takes a lease from an owner on another node (sync/lease.hpp), and writes under it. The gateway
// of the owner's node is the writer, so that a lease can be revoked while datagrams of its holder are in flight: those that arrive later are
// refused. Any thread; one thread at a time for each desk, as a node has one gateway.
// Tests: tests/unit/operations/leased_put_test.cpp.
#pragma once

#include <cstdint>

#include "local/typed_operation.hpp"

namespace acp::operations {

struct TakeLease {
    std::uint64_t desk_word =
        0;  // address of a word that holds the address of the desk; 0, or no multiple of 64: there is none
    std::uint64_t lines_offset =
        0;  // offset of the owner's leases from the desk: a sync::LeasedLine each
    std::uint32_t lines = 0;
    std::uint32_t first = 0;  // the lease that is tried first
    std::uint32_t holder = 0;
    std::uint32_t reserved = 0;
};

struct TakenLease {
    std::uint64_t desk = 0;  // what the word held
    std::uint64_t state =
        0;  // state of the lease that the caller holds now; 0: none was free, and the owner was notified of the demand
    std::uint32_t lease = 0;
    std::uint32_t generation = 0;
};

enum class LeasedWrite : std::uint8_t {
    add,  // to the word, which is 0 before the first of several that add up to a header
    set
};

struct LeasedPut {
    std::uint64_t desk = 0;    // address of the owner's desk
    std::uint64_t line = 0;    // address of the lease's line
    std::uint64_t state = 0;   // as it was taken
    std::uint64_t place = 0;   // written into the gateway's note
    std::uint64_t target = 0;  // address of the bytes, of live memory also where there are none
    std::uint64_t signal = 0;  // address of the word, a multiple of 8
    std::uint64_t value = 0;
    std::uint32_t units = 0;  // that this write counts for
    std::uint8_t lease = 0;   // < 64
    LeasedWrite write = LeasedWrite::add;
    std::uint16_t reserved = 0;
};

static_assert(sizeof(LeasedPut) == 64);

inline constexpr std::uint64_t leased_put_bytes_max = memory::invoke_bytes_max - sizeof(LeasedPut);

struct TakeFreeLease : local::OperationTypes<local::AddressedMemory, TakeLease, TakenLease> {
    static constexpr local::OperationName name{"lease.take", "the first message of a PM context"};
    static base::Code check(const Call& call, const local::OwnerShape& shape) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

// The tail is the bytes to write. Codes besides those of OperationContext::find and alignment: stale
// (the lease has a new holder), timeout (the owner is about to decide: retry later). Then nothing
// was written.
struct PutUnderLease
    : local::
          OperationTypes<local::AddressedMemory, LeasedPut, local::Nothing, leased_put_bytes_max> {
    static constexpr local::OperationName name{"lease.put", "a message of a PM context"};
    static base::Code check(const Call& call, const local::OwnerShape& shape) noexcept;
    static base::Code run(Owner& owner, const Call& call, Reply& reply) noexcept;
};

inline constexpr std::uint32_t take_lease_number = local::operation_number<TakeFreeLease>;
inline constexpr std::uint32_t leased_put_number = local::operation_number<PutUnderLease>;

inline constexpr const auto& leased_put_operations = local::rows_of<TakeFreeLease, PutUnderLease>;

}  // namespace acp::operations
