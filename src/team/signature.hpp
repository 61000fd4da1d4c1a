// SPDX-License-Identifier: BSD-3-Clause
// The signature of a collective call: two words that travel with all data its members exchange. By
// comparing signatures, members detect that they have made different calls. Pure; any thread.
// Tests: tests/unit/team/signature_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace acp::team {

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
    exscan,
    compile_pattern,
    free_plan,
    init_pages,
    finalize_pages,
    alloc_pages,
    free_pages,
    barrier_pages,
    alloc_home_pages,
    set_home_pages,
    bind_pages
};

// "acp_broadcast_team"
[[nodiscard]] std::string_view name_of(CollectiveCall call) noexcept;

// How a reduction combines elements: the interface's type and operation, or a function of the
// program.
struct Combination {
    std::uint8_t type = 0;       // 0: the program's own elements
    std::uint8_t operation = 0;  // 0: the program's own function

    friend bool operator==(const Combination&, const Combination&) = default;
};

struct Signature {
    std::uint64_t what = 0;  // call, combination, root, and the bits of the form
    // Bytes of each member, or of each pair; for free_memory and free_plan, the number of the
    // allocation or plan; for free_pages, the first page; for set_home_pages also the number of pages,
    // in the upper half; for bind_pages see of_binding().
    std::uint64_t bytes = 0;

    Signature() noexcept = default;

    //   root  a team rank; 0 for calls without a root. alloc_home_pages has here the argument of its
    //         policy, which is combination.type
    Signature(CollectiveCall call,
              std::uint64_t size,
              std::uint32_t root = 0,
              Combination combination = {}) noexcept
        : what(static_cast<std::uint64_t>(call) | std::uint64_t{combination.type} << 8 |
               std::uint64_t{combination.operation} << 16 | std::uint64_t{root} << 32),
          bytes(size) {}

    // bind_pages: the first byte and the upper bits of the number of bytes in `bytes`, the lower ones as
    // the root; what distinguishes locks as the combination.
    [[nodiscard]] static Signature of_binding(std::uint64_t first,
                                              std::uint64_t bytes,
                                              std::uint64_t lock) noexcept {
        const std::uint64_t mixed = lock ^ lock >> 16 ^ lock >> 32;
        return {CollectiveCall::bind_pages,
                bytes >> 32 << binding_first_bits | first,
                static_cast<std::uint32_t>(bytes),
                {static_cast<std::uint8_t>(mixed >> 6), static_cast<std::uint8_t>(mixed >> 14)}};
    }

    [[nodiscard]] std::uint64_t first_bound() const noexcept {
        return bytes & ((std::uint64_t{1} << binding_first_bits) - 1);
    }

    [[nodiscard]] std::uint64_t bytes_bound() const noexcept {
        return bytes >> binding_first_bits << 32 | root();
    }

    [[nodiscard]] CollectiveCall call() const noexcept {
        return static_cast<CollectiveCall>(what & 0xff);
    }

    [[nodiscard]] std::uint32_t root() const noexcept {
        return static_cast<std::uint32_t>(what >> 32);
    }

    [[nodiscard]] Combination combination() const noexcept {
        return {static_cast<std::uint8_t>(what >> 8), static_cast<std::uint8_t>(what >> 16)};
    }

    // The signature of the non-blocking form of this call, acp_nb..._team: it compares equal, but
    // describe() names that form.
    [[nodiscard]] Signature non_blocking() const noexcept {
        Signature begun = *this;
        begun.what |= non_blocking_bit;
        return begun;
    }

    [[nodiscard]] bool is_non_blocking() const noexcept { return (what & non_blocking_bit) != 0; }

    // The signature of acp_sync_team_timeout: it equals that of acp_sync_team, but describe() names
    // this form.
    [[nodiscard]] Signature with_timeout() const noexcept {
        Signature limited = *this;
        limited.what |= timeout_bit;
        return limited;
    }

    [[nodiscard]] bool has_timeout() const noexcept { return (what & timeout_bit) != 0; }

    friend bool operator==(const Signature& one, const Signature& other) noexcept {
        return ((one.what ^ other.what) & ~form_bits) == 0 && one.bytes == other.bytes;
    }

private:
    static constexpr std::uint32_t binding_first_bits = 44;
    static constexpr std::uint64_t non_blocking_bit = 1U << 24;
    static constexpr std::uint64_t timeout_bit = 1U << 25;
    static constexpr std::uint64_t form_bits = non_blocking_bit | timeout_bit;
};

static_assert(sizeof(Signature) == 16);

// The name of a call, in the form in which it was made: "acp_nbsync_team". It needs no memory: a call that waits has to end also where there is none.
class CallName {
public:
    explicit CallName(const Signature& signature) noexcept;

    [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), length_}; }

private:
    std::array<char, 32> text_{};
    std::size_t length_ = 0;
};

// "acp_reduce_team of 80 bytes (int64, sum) to rank 2"
[[nodiscard]] std::string describe(const Signature& signature);

}  // namespace acp::team
