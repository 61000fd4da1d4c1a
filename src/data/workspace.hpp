// SPDX-License-Identifier: BSD-3-Clause
// Bytes spread over the ranks in blocks of one size: where each lies, and the workspaces that a rank knows. Each rank has its blocks in
// one block of its heap. Knows no collective call. One for each epoch. Any thread.
// Tests: tests/conformance/workspace_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.hpp"
#include "data/allocator.hpp"
#include "gma/gma.hpp"

namespace acp::data {

// How a workspace is spread.
struct Spread {
    std::uint64_t bytes = 0;
    std::uint64_t block_bytes = 0;
    std::uint32_t first_rank = 0;
    std::uint32_t ranks = 0;

    [[nodiscard]] std::uint64_t blocks() const noexcept {
        return bytes / block_bytes + (bytes % block_bytes != 0 ? 1 : 0);
    }

    // Of a rank, in bytes.
    [[nodiscard]] std::uint64_t part_bytes(std::uint32_t rank) const noexcept {
        const std::uint32_t turn = (rank + ranks - first_rank) % ranks;
        const std::uint64_t whole = blocks() / ranks + (turn < blocks() % ranks ? 1 : 0);
        return whole * block_bytes;
    }

    // Where the next workspace begins.
    [[nodiscard]] std::uint32_t next_rank() const noexcept {
        return static_cast<std::uint32_t>((first_rank + blocks() % ranks) % ranks);
    }

    // Tells others whether they ask for the same.
    [[nodiscard]] std::uint64_t digest() const noexcept {
        constexpr std::uint64_t odd = 0x9e3779b97f4a7c15ULL;
        return ((bytes * odd ^ block_bytes) * odd ^ first_rank) * odd;
    }
};

struct Workspace {
    Spread spread;
    std::uint32_t own_rank = 0;
    std::vector<GlobalAddress> parts;  // of each rank, 0 where it has none

    // Where the byte at an offset lies.
    [[nodiscard]] GlobalAddress address(std::uint64_t offset) const noexcept {
        const std::uint64_t block = offset / spread.block_bytes;
        const auto rank =
            static_cast<std::uint32_t>((spread.first_rank + block % spread.ranks) % spread.ranks);
        return parts[rank] + block / spread.ranks * spread.block_bytes +
               offset % spread.block_bytes;
    }
};

class Workspaces {
public:
    static constexpr std::uint64_t block_bytes_usual = 1 << 20;

    //   gma, allocator  outlive this
    Workspaces(gma::Gma& gma, Allocator& allocator) noexcept : gma_(gma), allocator_(allocator) {}

    // Errors: argument.   ranks  of the job
    base::Status set_parameters(std::uint64_t first_rank,
                                std::uint64_t block_bytes,
                                std::uint32_t ranks);

    // As the next workspace will be spread.
    [[nodiscard]] Spread next(std::uint64_t bytes, std::uint32_t ranks) const;

    // Notes a workspace. The next one begins behind it.
    [[nodiscard]] const Workspace* add(Workspace workspace);

    // Forgets a workspace and frees the own part. Errors: stale.
    base::Status destroy(const Workspace* workspace);

    // Copies bytes to or from memory at an address. Errors: stale, argument, those of the copies.
    base::Status move(const Workspace* workspace,
                      GlobalAddress memory,
                      std::uint64_t bytes,
                      std::uint64_t offset,
                      bool is_read);

private:
    gma::Gma& gma_;
    Allocator& allocator_;
    mutable std::mutex lock_;  // of all that follows; not held while bytes are copied
    std::uint64_t block_bytes_ = block_bytes_usual;
    std::uint64_t first_rank_ = 0;
    std::map<const Workspace*, std::shared_ptr<const Workspace>> known_;
};

}  // namespace acp::data
