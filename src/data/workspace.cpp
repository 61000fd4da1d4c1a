// SPDX-License-Identifier: BSD-3-Clause
// Copies block by block under one handle.
#include "data/workspace.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "base/format.hpp"
#include "data/ask.hpp"

namespace acp::data {

using base::Code;
using base::Status;

namespace {

// The most copies in flight at once.
constexpr std::size_t pieces_max = 1024;

Status no_workspace(WorkspaceNumber number) {
    return {Code::stale, "there is no such workspace as " + std::to_string(number) +
                             ": it was destroyed, or never made by this rank"};
}

}  // namespace

Status Workspaces::set_parameters(std::uint64_t first_rank,
                                  std::uint64_t block_bytes,
                                  std::uint32_t ranks) {
    if (first_rank >= ranks) {
        return {Code::argument, "rank " + std::to_string(first_rank) + " is not one of 0 to " +
                                    std::to_string(ranks - 1)};
    }
    if (block_bytes == 0) return {Code::argument, "blocks of 0 bytes hold nothing"};
    const std::lock_guard<std::mutex> guard(lock_);
    first_rank_ = first_rank;
    block_bytes_ = block_bytes;
    return {};
}

Spread Workspaces::next(std::uint64_t bytes, std::uint32_t ranks) const {
    const std::lock_guard<std::mutex> guard(lock_);
    return {bytes, block_bytes_, static_cast<std::uint32_t>(first_rank_), ranks};
}

WorkspaceNumber Workspaces::reserve(std::uint32_t ranks) {
    auto made = std::make_shared<Workspace>();
    made->parts.reserve(ranks);
    const std::lock_guard<std::mutex> guard(lock_);
    known_.emplace(numbers_given_ + 1, std::move(made));
    return ++numbers_given_;
}

void Workspaces::drop(WorkspaceNumber number) noexcept {
    const std::lock_guard<std::mutex> guard(lock_);
    known_.erase(number);
}

std::shared_ptr<Workspace> Workspaces::find(WorkspaceNumber number) const {
    const auto known = known_.find(number);
    return known != known_.end() && !known->second->parts.empty() ? known->second : nullptr;
}

Status Workspaces::destroy(WorkspaceNumber workspace) {
    std::shared_ptr<const Workspace> found;
    {
        const std::lock_guard<std::mutex> guard(lock_);
        found = find(workspace);
        if (found == nullptr) return no_workspace(workspace);
        known_.erase(workspace);
    }
    const GlobalAddress own = found->parts[found->own_rank];
    return own != 0 ? allocator_.free(own) : Status();
}

Status Workspaces::move(WorkspaceNumber workspace,
                        GlobalAddress memory,
                        std::uint64_t bytes,
                        std::uint64_t offset,
                        bool is_read) {
    std::shared_ptr<const Workspace> found;
    {
        const std::lock_guard<std::mutex> guard(lock_);
        found = find(workspace);
        if (found == nullptr) return no_workspace(workspace);
    }
    const Spread& spread = found->spread;
    if (offset > spread.bytes || bytes > spread.bytes - offset) {
        return {Code::argument, base::in_bytes(bytes) + " from offset " + std::to_string(offset) +
                                    " are not all in a workspace of " +
                                    base::in_bytes(spread.bytes)};
    }
    if (bytes == 0) return {};
    const std::uint64_t first = offset / spread.block_bytes;
    const std::uint64_t last = (offset + bytes - 1) / spread.block_bytes;
    const auto piece = [&](std::uint64_t i) {
        const std::uint64_t begin = std::max(offset, (first + i) * spread.block_bytes);
        const std::uint64_t end =
            std::min(offset + bytes, (first + i) * spread.block_bytes + spread.block_bytes);
        const GlobalAddress there = found->address(begin);
        const GlobalAddress here = memory + (begin - offset);
        return is_read ? std::tuple(here, there, end - begin)
                       : std::tuple(there, here, end - begin);
    };
    // Waits for its own copies alone: failures of the program's commands do not concern this call,
    // and this call alone reports its own.
    Status status;
    Asks pieces(gma_);
    for (std::uint64_t i = 0; i <= last - first && status.is_ok(); ++i) {
        const auto [target, source, size] = piece(i);
        pieces.add_copy(target, source, size);
        if (pieces.size() == pieces_max) status = pieces.wait();
    }
    Status rest = pieces.wait();
    return status.is_ok() ? std::move(rest) : std::move(status);
}

}  // namespace acp::data
