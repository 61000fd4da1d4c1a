// SPDX-License-Identifier: BSD-3-Clause
// An arena: memory of each rank, and its global address on all ranks. It is a part of the starter
// memory, or private memory that the arena registers. One suite runs over both kinds. Collective to
// make and to end; main thread; a test uses at most one starter arena at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <acp.h>

namespace acp::test {

enum class Kind { starter, registered };

[[nodiscard]] inline const char* name_of(Kind kind) {
    return kind == Kind::starter ? "starter" : "registered";
}

class Arena {
public:
    //   bytes  the same on every rank; a starter arena has at most starter_room() - begin
    //   begin  where in the starter memory, a multiple of 64; ignored for registered memory
    Arena(Kind kind, std::size_t bytes, std::size_t begin = 0);
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena();

    [[nodiscard]] Kind kind() const noexcept { return kind_; }

    [[nodiscard]] acp_ga_t at(int rank, std::size_t offset = 0) const {
        return addresses_[static_cast<std::size_t>(rank)] + offset;
    }

    // The caller's own bytes.
    [[nodiscard]] std::span<std::byte> local() const noexcept { return {local_, bytes_}; }

    // A copy of another rank's bytes, on whatever node it is.
    [[nodiscard]] std::vector<std::byte> fetched_from(int rank) const;

    // An aligned word of the caller's own bytes.
    template <typename Word>
    [[nodiscard]] Word& word(std::size_t offset = 0) const noexcept {
        return *reinterpret_cast<Word*>(local_ + offset);
    }

    // The registration's key, ACP_ATKEY_NULL for starter memory.
    [[nodiscard]] acp_atkey_t key() const noexcept { return key_; }

private:
    struct Release {
        void operator()(std::byte* memory) const noexcept;
    };

    Kind kind_;
    std::size_t bytes_;
    std::unique_ptr<std::byte[], Release> memory_;
    std::byte* local_ = nullptr;
    acp_atkey_t key_ = ACP_ATKEY_NULL;
    std::vector<acp_ga_t> addresses_;
};

// The byte a test writes at a place, different for neighbouring places, ranks and rounds.
[[nodiscard]] inline std::byte pattern(std::uint64_t round, int rank, std::size_t offset) noexcept {
    std::uint64_t mixed = (offset + 1) * 0x9e3779b97f4a7c15ULL;
    mixed += round * 0xc2b2ae3d27d4eb4fULL;
    mixed ^= static_cast<std::uint64_t>(rank) << 48;
    mixed ^= mixed >> 29;
    mixed *= 0xbf58476d1ce4e5b9ULL;
    return static_cast<std::byte>(mixed >> 56);
}

void fill_pattern(std::span<std::byte> bytes, std::uint64_t round, int rank);

}  // namespace acp::test
