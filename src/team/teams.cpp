// SPDX-License-Identifier: BSD-3-Clause
// Makes and frees teams.
#include "team/teams.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/format.hpp"
#include "node/node_table.hpp"
#include "node/wait.hpp"
#include "team/team_parts.hpp"

namespace acp::team {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::uint64_t board_alignment = 64;
static_assert(board_bytes <= world_board_bytes);

constexpr int looks_alone = 256;

}  // namespace

// What each member of the old team gathers about a member when the team is divided.
struct Teams::Candidate {
    std::int64_t color = -1;
    std::int64_t key = 0;
    GlobalAddress board = 0;  // 0: it is in no new team, or has no memory
    std::uint64_t code = 0;   // the error, if the board could not be allocated
    std::uint64_t digest = 0;
};

Teams::Teams(gma::Gma& gma,
             data::Hashed& hashed,
             data::Allocator& allocator,
             const message::ChannelSettings& settings,
             bool is_checking,
             std::uint64_t handles_made)
    : pairing_(gma, hashed),
      telling_(gma),
      all_calls_(gma),
      requests_(gma, all_calls_, handles_made),
      tools_{gma,      allocator,   {gma, allocator, pairing_, settings},
             telling_, is_checking, node::looks_before_wait(gma.space().segment(), looks_alone)},
      entries_(handles_made) {}

void Teams::clear(const node::Segment& segment, std::uint32_t slot) noexcept {
    if (segment.shape().claims.bytes(world_board) == 0) return;
    std::memset(segment.claimed(slot, world_board), 0, sizeof(BoardBlock));
}

Status Teams::no_such_team(TeamHandle handle) {
    return {Code::stale, "there is no such team as " + base::hex(handle) +
                             ": it was freed, or never made by this rank"};
}

Status Teams::late(const Signature& signature) {
    return Status::worded(Code::state, [&signature] {
        return "acp_sync_team_timeout has begun a barrier on this team that has not ended: call "
               "acp_sync_team, or acp_sync_team_timeout until it returns ACP_OK, before " +
               std::string(CallName(signature).text());
    });
}

Status Teams::timeout(const Team& team) {
    return Status::worded(Code::timeout, [&team] {
        const auto missing = team.missing_rank();
        return "not all members have come in time; this one has" +
               (missing ? ", waits for rank " + std::to_string(*missing) + "," : std::string()) +
               " and may go on waiting";
    });
}

Status Teams::Use::why() const {
    if (entry_ == nullptr) return no_such_team(handle_);
    return {Code::state, "another thread of this rank is in a call on the team"};
}

std::uint32_t Teams::node_of(std::uint32_t process) const noexcept {
    const node::Segment& segment = tools_.gma.space().segment();
    return segment.shape().nodes == 1 ? 0 : node::NodeTable(segment).node_of(process);
}

TeamHandle Teams::world() {
    // acquire: makes the team visible; partner: the store below
    if (const TeamHandle known = world_.load(std::memory_order_acquire); known != no_team)
        return known;
    const std::scoped_lock lock(world_mutex_);
    if (const TeamHandle known = world_.load(std::memory_order_relaxed); known != no_team)
        return known;
    const local::Space& space = tools_.gma.space();
    const std::uint32_t procs = space.segment().shape().procs;
    std::vector<TeamMember> members(procs);
    std::vector<GlobalAddress> boards(procs);
    for (std::uint32_t rank = 0; rank < procs; ++rank) {
        const std::uint32_t process = space.segment().process_of(rank);
        members[rank] = {process, node_of(process)};
        boards[rank] = space.claimed_address(process, world_board);
    }
    auto made = add(Membership(members, space.rank()), std::move(boards), node::awaited_all_ranks);
    if (!made.is_ok()) throw std::bad_alloc();
    world_.store(made.value(), std::memory_order_release);
    return made.value();
}

Result<TeamHandle> Teams::add(Membership members,
                              std::vector<GlobalAddress> boards,
                              std::uint64_t id) {
    auto team = std::make_unique<Team>(tools_, std::move(members), std::move(boards), id);
    Entry* const entry = entries_.take();
    if (entry == nullptr) {
        return Status(Code::limit, "this process has " + std::to_string(entries_.objects_max) +
                                       " teams, which is the limit: free one by acp_free_team");
    }
    entry->team = std::move(team);
    return entries_.show(*entry);
}

// Allocates this member's board for a new team.
Status Teams::prepare(const Team& parent, Candidate& own) {
    if (own.color < 0 || parent.members().size() == 1) return {};
    auto board =
        tools_.allocator.allocate(tools_.gma.space().process(), board_bytes, board_alignment);
    if (!board.is_ok()) {
        own.code = static_cast<std::uint64_t>(board.failure().code());
        return std::move(board).failure();
    }
    own.board = board.value();
    return tools_.allocator.clear(own.board, sizeof(BoardBlock));
}

// Makes the caller's new team from the candidates of all members of the old one.
Result<TeamHandle> Teams::make(const Team& parent,
                               const Candidate& own,
                               std::span<const Candidate> all,
                               std::uint64_t id) {
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
        const std::string who = "member " + std::to_string(rank);
        if (all[rank].digest != own.digest) {
            return Status(Code::mismatch,
                          who + " has given another list of ranks than this member");
        }
        if (all[rank].code != 0) {
            return Status(static_cast<Code>(all[rank].code),
                          who + " has no room in its heap for its part of a team");
        }
        if (all[rank].color == own.color) chosen.push_back(rank);
    }
    if (own.color < 0) return no_team;
    std::stable_sort(chosen.begin(), chosen.end(), [&](std::uint32_t first, std::uint32_t second) {
        return all[first].key < all[second].key;
    });
    std::vector<TeamMember> members;
    std::vector<GlobalAddress> boards;
    std::uint32_t own_rank = 0;
    for (const std::uint32_t rank : chosen) {
        if (rank == parent.members().own()) own_rank = static_cast<std::uint32_t>(members.size());
        const std::uint32_t process = parent.members().process(rank);
        members.push_back({process, node_of(process)});
        boards.push_back(all[rank].board);
    }
    return add(Membership(members, own_rank), std::move(boards), id);
}

Status Teams::divide_in(Team& parent, const Division& division, TeamHandle& made) {
    Candidate own{division.color, division.key, 0, 0, division.digest};
    Status status = prepare(parent, own);
    const std::uint64_t id = parent.next_child();
    std::vector<Candidate> all(parent.members().size());
    std::vector<std::uint64_t> codes(parent.members().size());
    bool is_going = all_gather(parent, reinterpret_cast<const char*>(&own),
                               reinterpret_cast<char*>(all.data()), sizeof own);
    if (is_going) {
        auto added = make(parent, own, all, id);
        if (added.is_ok()) {
            made = added.value();
        } else if (status.is_ok()) {
            status = std::move(added).failure();
        }
        // Either all members get their team, or none does.
        const auto code = static_cast<std::uint64_t>(status.code());
        is_going = all_gather(parent, reinterpret_cast<const char*>(&code),
                              reinterpret_cast<char*>(codes.data()), sizeof code);
    }
    if (!is_going) status = parent.failure();
    const auto failed =
        std::find_if(codes.begin(), codes.end(), [](auto code) { return code != 0; });
    if (status.is_ok() && failed != codes.end()) {
        status =
            Status(static_cast<Code>(*failed), "member " + std::to_string(failed - codes.begin()) +
                                                   " could not make its part of the team");
    }
    // If the old team broke here, other members may have their new team and access this member's
    // board: it stays.
    if (status.is_ok() || !is_going) return status;
    if (made != no_team) forget(*entries_.find(made));
    made = no_team;
    if (own.board != 0) (void)tools_.allocator.free(own.board);
    return status;
}

Result<TeamHandle> Teams::divide(TeamHandle handle, CollectiveCall call, const Division& division) {
    TeamHandle made = no_team;
    Status status;
    auto ran = run(handle, Signature(call, 0), [&](Team& parent) {
        status = divide_in(parent, division, made);
        return !parent.is_broken();
    });
    if (status.is_ok() && ran.is_ok()) return made;
    if (status.is_ok()) status = std::move(ran);
    if (made != no_team) {
        // Other members may have their new team and have left this call: the failure notifies them.
        Entry& entry = *entries_.find(made);
        (void)entry.team->fail(status);
        forget(entry);
    }
    return status;
}

void Teams::settle_sent() noexcept {
    entries_.for_each([](Entry& entry) { entry.team->settle_sent(); });
    telling_.settle();
}

void Teams::empty(Entry& entry) noexcept {
    all_calls_.remove(entry);
    (void)entry.memory.take_all();
    entry.allocations = 0;
    entry.team.reset();
}

void Teams::forget(Entry& entry) noexcept {
    empty(entry);
    entries_.give_back(entry);
}

Status Teams::free(TeamHandle handle) {
    // Before world() was called, the world's handle is no_team, which names no team.
    if (handle != no_team && handle == world_.load(std::memory_order_relaxed))
        return {Code::argument, "the team of all ranks is not freed"};
    Use use(*this, handle);
    if (!use.is_ok()) return use.why();
    Team& team = use.team();
    Status status;
    if (!use.entry().calls.is_empty()) (void)requests_.end_calls(use.entry(), {});
    if (!team.is_broken()) {
        const Signature signature(CollectiveCall::free, 0);
        const bool is_whole = team.begin_call(signature);
        if (is_whole && team.pending_sync().is_begun) return late(signature);
        const GlobalAddress board = team.own_board();
        const auto leave = [](Team& leaving) { return synchronize(leaving) && leaving.depart(); };
        if (!is_whole || !run_in(team, leave)) {
            status = team.failure();
        } else {
            if (board != 0) status = tools_.allocator.free(board);
            Status freed = free_all_parts(tools_, use.entry());
            if (status.is_ok()) status = std::move(freed);
        }
    }
    Entry& entry = use.entry();
    entries_.hide(entry);
    entry.await_looks();
    empty(entry);
    use.let_go();
    entries_.give_back(entry);
    return status;
}

Result<RequestHandle> Teams::begin(TeamHandle handle,
                                   const Signature& signature,
                                   std::function<bool(Team&)> body) {
    const Use use(*this, handle, CallLock::Use::moment);
    if (!use.is_ok()) return use.why();
    const bool is_sync_late = use.team().pending_sync().is_begun && !use.team().is_broken();
    if (use.entry().calls.is_empty() && is_sync_late) return late(signature.non_blocking());
    return requests_.begin(use.entry(), [this, signature, made = std::move(body)](Team& team) {
        return run_call(team, signature, made);
    });
}

Result<GlobalAddress> Teams::allocate(TeamHandle handle, std::uint64_t bytes) {
    GlobalAddress made = 0;
    Status status;
    auto ran = run(handle, Signature(CollectiveCall::malloc, bytes), [&](Team& team) {
        TeamEntry& entry = *entries_.find(handle);
        status = allocate_parts(tools_, entry, std::max<std::uint64_t>(bytes, 1), made);
        return !team.is_broken();
    });
    if (!ran.is_ok()) return ran;
    if (!status.is_ok()) return status;
    return made;
}

Status Teams::free_memory(TeamHandle handle, GlobalAddress own) {
    Entry* const entry = entries_.find(handle);
    if (entry == nullptr) return no_such_team(handle);
    const auto number = entry->memory.number_at(own);
    if (!number.has_value()) {
        return {Code::argument,
                "no memory that acp_malloc_team gave on this team begins at " + base::hex(own)};
    }
    Status status;
    auto ran = run(handle, Signature(CollectiveCall::free_memory, *number), [&](Team& team) {
        if (!synchronize(team)) return false;
        entry->memory.remove(own);
        status = free_part(tools_, own);
        return true;
    });
    return ran.is_ok() ? std::move(status) : std::move(ran);
}

Result<GlobalAddress> Teams::translate(TeamHandle handle, GlobalAddress own, std::uint32_t rank) {
    Entry* const entry = entries_.find(handle);
    if (entry == nullptr) return no_such_team(handle);
    if (const auto found = entry->memory.address(own, rank); found.has_value()) return *found;
    return Status(Code::argument,
                  base::hex(own) + " is not in memory that acp_malloc_team gave on this team");
}

}  // namespace acp::team
