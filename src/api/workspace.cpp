// SPDX-License-Identifier: BSD-3-Clause
// <acp/workspace.h>: every rank allocates its part, then all get the addresses of the parts and
// learn whether their requests agree.
#include "data/workspace.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/boundary.hpp"
#include "api/ends.hpp"
#include "api/fatal.hpp"
#include "api/gather.hpp"
#include "api/library.hpp"
#include "base/format.hpp"

#include <acp/workspace.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::Gravity;
using api::library;

constexpr const char* create_call = "acp_create_ws";

// The caller's part while it is not certain that all ranks succeed.
class WorkspacePart {
public:
    WorkspacePart() noexcept = default;
    WorkspacePart(const WorkspacePart&) = delete;
    WorkspacePart& operator=(const WorkspacePart&) = delete;

    base::Status allocate(const data::Spread& spread) {
        number_ = library().workspaces->reserve(spread.ranks);
        if (spread.bytes > std::numeric_limits<std::uint64_t>::max() / 2 ||
            spread.block_bytes > std::numeric_limits<std::uint64_t>::max() / 2) {
            return {base::Code::memory, "no heap has room for " + base::in_bytes(spread.bytes) +
                                            " in blocks of " + base::in_bytes(spread.block_bytes)};
        }
        const std::uint64_t bytes = spread.part_bytes(library().member->rank());
        if (bytes == 0) return {};
        const std::uint32_t process = library().gma->space().process();
        auto block = library().allocator->allocate(process, bytes, allocator::alignment_least);
        if (!block.is_ok()) return std::move(block).failure();
        address_ = block.value();
        return {};
    }

    ~WorkspacePart() {
        if (is_kept_) return;
        if (address_ != 0) (void)library().allocator->free(address_);
        library().workspaces->drop(number_);
    }

    [[nodiscard]] acp_ga_t address() const noexcept { return address_; }

    [[nodiscard]] data::WorkspaceNumber keep() noexcept {
        is_kept_ = true;
        return number_;
    }

private:
    data::WorkspaceNumber number_ = 0;
    acp_ga_t address_ = 0;
    bool is_kept_ = false;
};

// The words of each rank: the address of its part, then the workspace that it asks for.
constexpr std::uint32_t words_each = 4;

void write_request(std::span<std::uint64_t> words,
                   const WorkspacePart& part,
                   const data::Spread& spread) noexcept {
    words[0] = part.address();
    words[1] = spread.bytes;
    words[2] = spread.block_bytes;
    words[3] = spread.first_rank;
}

data::Spread read_request(std::span<const std::uint64_t> words, std::uint32_t ranks) noexcept {
    return {words[1], words[2], static_cast<std::uint32_t>(words[3]), ranks};
}

// "800 bytes in blocks of 64 bytes from rank 0 on"
std::string text_of(const data::Spread& spread) {
    return base::in_bytes(spread.bytes) + " in blocks of " + base::in_bytes(spread.block_bytes) +
           " from rank " + std::to_string(spread.first_rank) + " on";
}

base::Status refuse_other_request(std::uint32_t rank,
                                  const data::Spread& asked,
                                  const data::Spread& own) {
    return api::in_call(create_call, {base::Code::mismatch,
                                      "rank " + std::to_string(rank) + " asks for " +
                                          text_of(asked) + ", this rank for " + text_of(own) +
                                          ": all ranks pass one size, and have passed the same to "
                                          "acp_setparams_ws"});
}

base::Result<acp_wsd_t> create(std::uint64_t bytes) {
    const std::uint32_t ranks = library().member->procs();
    const data::Spread spread = library().workspaces->next(bytes, ranks);
    WorkspacePart part;
    std::vector<std::uint64_t> all;
    auto status = api::gather_words(
        {create_call, api::WorldCall::create_workspace, words_each},
        [&](std::span<std::uint64_t> own) -> base::Status {
            auto allocated = part.allocate(spread);
            write_request(own, part, spread);
            if (allocated.is_ok()) return allocated;
            return api::in_call(create_call, std::move(allocated));
        },
        all);
    if (!status.is_ok()) return status;
    const auto request = [&](std::uint32_t rank) {
        return std::span(all).subspan(words_each * std::size_t{rank}, words_each);
    };
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const data::Spread asked = read_request(request(rank), ranks);
        if (asked != spread) return refuse_other_request(rank, asked, spread);
    }
    const data::WorkspaceNumber number = part.keep();
    library().workspaces->add(number, spread, library().member->rank(),
                              [&](std::uint32_t rank) { return request(rank)[0]; });
    return api::handle_of<acp_wsd_t>(number);
}

// A copy between a workspace and memory at an address.
struct Moved {
    acp_ga_t memory;
    std::uint64_t bytes;
    std::uint64_t offset;
    bool is_read;
};

int move_bytes(const char* call, acp_wsd_t workspace, const Moved& moved) noexcept {
    const bool is_ok = api::run<Gravity::misuse_ends>(call, false, [&]() -> base::Status {
        auto status = library().workspaces->move(api::number_of(workspace), moved.memory,
                                                 moved.bytes, moved.offset, moved.is_read);
        if (status.is_ok()) return status;
        return api::in_call(
            call, std::move(status).within(
                      base::in_bytes(moved.bytes) + " at offset " + std::to_string(moved.offset) +
                      ", " + (moved.is_read ? "to " : "from ") + base::hex(moved.memory)));
    });
    return is_ok ? 0 : -1;
}

}  // namespace

extern "C" {

// NOLINTBEGIN(performance-no-int-to-ptr): ACP_WSD_NULL is -1, as in ACP 3.0
int acp_setparams_ws(size_t proc_start, size_t size_default) {
    constexpr const char* call = "acp_setparams_ws";
    const bool is_ok = api::run<Gravity::misuse_ends>(call, false, [&]() -> base::Status {
        auto status = library().workspaces->set_parameters(proc_start, size_default,
                                                           library().member->procs());
        return status.is_ok() ? std::move(status) : api::in_call(call, std::move(status));
    });
    return is_ok ? 0 : -1;
}

acp_wsd_t acp_create_ws(size_t size) {
    if (!library().life.begin_meeting()) [[unlikely]] {
        api::refuse(create_call, true);
        return ACP_WSD_NULL;
    }
    const api::MeetingCall meeting;
    return api::run_always<Gravity::reported>(create_call, ACP_WSD_NULL,
                                              [&] { return create(size); });
}

// NOLINTEND(performance-no-int-to-ptr)

int acp_destroy_ws(acp_wsd_t workspace) {
    constexpr const char* call = "acp_destroy_ws";
    const bool is_ok = api::run<Gravity::misuse_ends>(call, false, [&]() -> base::Status {
        auto status = library().workspaces->destroy(api::number_of(workspace));
        return status.is_ok() ? std::move(status) : api::in_call(call, std::move(status));
    });
    return is_ok ? 0 : -1;
}

int acp_read_ws(acp_wsd_t workspace, acp_ga_t ga, size_t size, size_t offset) {
    return move_bytes("acp_read_ws", workspace, {ga, size, offset, true});
}

int acp_write_ws(acp_wsd_t workspace, acp_ga_t ga, size_t size, size_t offset) {
    return move_bytes("acp_write_ws", workspace, {ga, size, offset, false});
}
}
