// SPDX-License-Identifier: BSD-3-Clause
// Bytes spread over the ranks in blocks of one size: the place of each, and the workspaces that
// this rank has made. Each rank has its blocks in one block of its heap. Knows no collective call.
// One object per epoch. Any thread.
// Tests: tests/unit/data/workspace_test.cpp.
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

// The distribution of a workspace.
struct Spread {
    std::uint64_t bytes = 0;
    std::uint64_t block_bytes = 0;
    std::uint32_t first_rank = 0;
    std::uint32_t ranks = 0;

    [[nodiscard]] std::uint64_t blocks() const noexcept {
        return bytes / block_bytes + (bytes % block_bytes != 0 ? 1 : 0);
    }

    // The bytes of a rank's part.
    [[nodiscard]] std::uint64_t part_bytes(std::uint32_t rank) const noexcept {
        const std::uint32_t turn = (rank + ranks - first_rank) % ranks;
        const std::uint64_t whole = blocks() / ranks + (turn < blocks() % ranks ? 1 : 0);
        return whole * block_bytes;
    }

    // The first rank of the next workspace.
    [[nodiscard]] std::uint32_t next_rank() const noexcept {
        return static_cast<std::uint32_t>((first_rank + blocks() % ranks) % ranks);
    }

    friend bool operator==(const Spread&, const Spread&) = default;
};

struct Workspace {
    Spread spread;
    std::uint32_t own_rank = 0;
    std::vector<GlobalAddress> parts;  // one address per rank, 0: it has none

    // The address of the byte at an offset.
    [[nodiscard]] GlobalAddress address(std::uint64_t offset) const noexcept {
        const std::uint64_t block = offset / spread.block_bytes;
        const auto rank =
            static_cast<std::uint32_t>((spread.first_rank + block % spread.ranks) % spread.ranks);
        return parts[rank] + block / spread.ranks * spread.block_bytes +
               offset % spread.block_bytes;
    }
};

// Names a workspace of this process: > 0, and never reused, so that a destroyed one is not taken
// for another.
using WorkspaceNumber = std::uint64_t;

class Workspaces {
public:
    static constexpr std::uint64_t block_bytes_usual = 1 << 20;

    //   gma, allocator  outlive this
    //   numbers_given   numbers_given() of the epoch before this one
    Workspaces(gma::Gma& gma, Allocator& allocator, WorkspaceNumber numbers_given) noexcept
        : gma_(gma), allocator_(allocator), numbers_given_(numbers_given) {}

    // Errors: argument.   ranks  number of ranks of the job
    base::Status set_parameters(std::uint64_t first_rank,
                                std::uint64_t block_bytes,
                                std::uint32_t ranks);

    // The distribution of the next workspace.
    [[nodiscard]] Spread next(std::uint64_t bytes, std::uint32_t ranks) const;

    // Reserves the number of a new workspace, and the memory for it, so that add() cannot fail. The
    // workspace does not exist until then.
    [[nodiscard]] WorkspaceNumber reserve(std::uint32_t ranks);

    // Gives back a number that was reserved.
    void drop(WorkspaceNumber number) noexcept;

    // Makes the workspace of a reserved number. The next one begins behind it.
    //   parts(rank)  address of that rank's part, 0: it has none
    template <typename Parts>
    void add(WorkspaceNumber number,
             const Spread& spread,
             std::uint32_t own_rank,
             const Parts& parts) noexcept {
        const std::lock_guard<std::mutex> guard(lock_);
        Workspace& made = *known_.at(number);
        made.spread = spread;
        made.own_rank = own_rank;
        for (std::uint32_t rank = 0; rank < spread.ranks; ++rank) made.parts.push_back(parts(rank));
        first_rank_ = spread.next_rank();
    }

    // Forgets a workspace and frees this rank's part. Errors: stale.
    base::Status destroy(WorkspaceNumber workspace);

    [[nodiscard]] WorkspaceNumber numbers_given() const noexcept { return numbers_given_; }

    // Copies bytes to or from memory at an address. Errors: stale, argument, those of the copies.
    base::Status move(WorkspaceNumber workspace,
                      GlobalAddress memory,
                      std::uint64_t bytes,
                      std::uint64_t offset,
                      bool is_read);

private:
    // Finds a workspace that was added; with lock_.
    [[nodiscard]] std::shared_ptr<Workspace> find(WorkspaceNumber number) const;

    gma::Gma& gma_;
    Allocator& allocator_;
    mutable std::mutex lock_;  // guards the members below; not held while bytes are copied
    std::uint64_t block_bytes_ = block_bytes_usual;
    std::uint64_t first_rank_ = 0;
    WorkspaceNumber numbers_given_;
    std::map<WorkspaceNumber, std::shared_ptr<Workspace>> known_;
};

}  // namespace acp::data
