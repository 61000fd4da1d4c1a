// SPDX-License-Identifier: BSD-3-Clause
// What a collective call is, in two words that travel with everything its members exchange: members that have made different calls find
// out by comparing them. Pure; any thread.
// Tests: tests/unit/team/signature_test.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "node/awaited.hpp"

namespace acp::team {

// In the order of node::AwaitedCall, where their names stand.
enum class CollectiveCall : std::uint8_t {
    none,
    sync,
    split,
    split_by_node,
    create,
    free,
    sync_notices,
    free_memory,
    malloc,
    broadcast,
    reduce,
    allreduce,
    gather,
    allgather,
    scatter,
    alltoall,
    alltoallv,
    scan,
    compile_pattern,
    free_plan
};

// As what a wait in the call is told.
[[nodiscard]] node::AwaitedCall awaited_call_of(CollectiveCall call) noexcept;

// "acp_broadcast_team"
[[nodiscard]] std::string_view name_of(CollectiveCall call) noexcept;

// How the elements of a reduction are combined: what the interface calls type and operation, or a function of the program.
struct Combination {
    std::uint8_t type = 0;       // 0: the program's own elements
    std::uint8_t operation = 0;  // 0: the program's own function

    friend bool operator==(const Combination&, const Combination&) = default;
};

struct Signature {
    std::uint64_t what = 0;  // call, combination and root, and whether it does not block
    std::uint64_t bytes =
        0;  // of each member, or of each pair; of free_memory and free_plan which one

    Signature() noexcept = default;

    //   root  a team rank, where the call has one
    Signature(CollectiveCall call,
              std::uint64_t size,
              std::uint32_t root = 0,
              Combination combination = {}) noexcept
        : what(static_cast<std::uint64_t>(call) | std::uint64_t{combination.type} << 8 |
               std::uint64_t{combination.operation} << 16 | std::uint64_t{root} << 32),
          bytes(size) {}

    [[nodiscard]] CollectiveCall call() const noexcept {
        return static_cast<CollectiveCall>(what & 0xff);
    }

    [[nodiscard]] std::uint32_t root() const noexcept {
        return static_cast<std::uint32_t>(what >> 32);
    }

    [[nodiscard]] Combination combination() const noexcept {
        return {static_cast<std::uint8_t>(what >> 8), static_cast<std::uint8_t>(what >> 16)};
    }

    // The same call, begun by acp_nb..._team: it is the same to who compares, and has its own name.
    [[nodiscard]] Signature non_blocking() const noexcept {
        Signature begun = *this;
        begun.what |= non_blocking_bit;
        return begun;
    }

    [[nodiscard]] bool is_non_blocking() const noexcept { return (what & non_blocking_bit) != 0; }

    friend bool operator==(const Signature& one, const Signature& other) noexcept {
        return ((one.what ^ other.what) & ~non_blocking_bit) == 0 && one.bytes == other.bytes;
    }

private:
    static constexpr std::uint64_t non_blocking_bit = 1U << 24;
};

static_assert(sizeof(Signature) == 16);

// "acp_reduce_team of 80 bytes (int64, sum) to rank 2"
[[nodiscard]] std::string describe(const Signature& signature);

}  // namespace acp::team
