// SPDX-License-Identifier: BSD-3-Clause
// The calls of all ranks on the window.
#include "dsm/shared_pages.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/fence.hpp"
#include "base/format.hpp"
#include "dsm/tracker_choice.hpp"
#include "team/collectives.hpp"

#include "operations/lock_operations.hpp"
#include "pages/page_text.hpp"

namespace acp::dsm {

namespace {

using base::Code;
using base::Result;
using base::Status;
using team::CollectiveCall;
using team::Signature;

constexpr std::uint64_t pages_for(std::uint64_t bytes) noexcept {
    return bytes / pages::page_bytes + (bytes % pages::page_bytes != 0 ? 1 : 0);
}

// A page's home moves to a node that alone writes it.
constexpr pages::HomeRule default_homes{pages::HomePolicy::block, true, 1, 0};

constexpr std::uint64_t no_page = ~std::uint64_t{0};

std::string hex(const void* address) {
    return base::hex(reinterpret_cast<std::uintptr_t>(address));
}

// "the range of 4096 bytes from address 0x7f0000001000"
std::string name_of(const void* address, std::uint64_t bytes) {
    return "the range of " + base::in_bytes(bytes) + " from address " + hex(address);
}

Status outside_allocations(const void* address, std::uint64_t bytes) {
    return {Code::argument, name_of(address, bytes) + " leaves the allocations of shared pages"};
}

// The failure of the first rank that could not start its part.
//   codes  of all ranks
Status verdict(std::span<const std::uint64_t> codes) {
    for (std::size_t rank = 0; rank < codes.size(); ++rank) {
        if (codes[rank] == 0) continue;
        const auto failure = static_cast<Code>(codes[rank]);
        return {failure, "rank " + std::to_string(rank) + " cannot track its shared pages (" +
                             base::phrase(failure) + "), and has the reason in its own message"};
    }
    return {};
}

}  // namespace

SharedPages::SharedPages(const SharedPagesTools& tools,
                         team::TeamHandle ranks,
                         Places places,
                         Parts parts)
    : tools_(tools),
      ranks_(ranks),
      places_(std::move(places)),
      memory_(std::move(parts.memory)),
      bound_(std::move(parts.bound)),
      allocations_(std::move(parts.allocations)),
      rank_(std::move(parts.rank)),
      counters_(page_counters(tools.gma.space().segment(), tools.gma.space().slot())) {
    counters_.pages.store(allocations_->page_count(), std::memory_order_relaxed);
    if (rank_ != nullptr) return;
    auto watch = ChildTouchWatch::start({window().tracked(0), window().page_count()});
    if (watch.is_ok()) child_touches_ = std::move(watch).value();
}

SharedPages::~SharedPages() {
    rank_.reset();  // it counts
    counters_.clear();
}

// Starts this rank's part, and agrees with all ranks on the outcome.
Status SharedPages::start_rank(team::Team& team, const SharedPagesTools& tools, Parts& parts) {
    Status own;
    auto choice = choose_tracker(false, tools.fault_way);
    if (choice.is_ok()) {
        const RankPagesOptions options{
            choice.value().kind, tools.cache_bytes, {tools.check, *parts.allocations}};
        auto started = RankPages::start(tools.gma, *parts.memory, *parts.bound, options);
        if (started.is_ok()) {
            parts.rank = std::move(started).value();
        } else {
            own = std::move(started).failure();
        }
    } else {
        own = std::move(choice).failure();
    }
    const auto code = static_cast<std::uint64_t>(own.code());
    std::vector<std::uint64_t> codes(team.members().size());
    if (!team::all_gather(team, reinterpret_cast<const char*>(&code),
                          reinterpret_cast<char*>(codes.data()), sizeof code))
        return {};  // the team has the reason
    return own.is_ok() ? verdict(codes) : std::move(own);
}

Result<std::unique_ptr<SharedPages>> SharedPages::open(const SharedPagesTools& tools,
                                                       std::uint64_t bytes) {
    auto divided = tools.teams.divide(tools.teams.world(), CollectiveCall::init_pages, {0, 0, 0});
    if (!divided.is_ok()) return std::move(divided).failure();
    const team::TeamHandle ranks = divided.value();
    const std::uint64_t count = pages_for(bytes);
    const WindowPlan plan{
        count * pages::page_bytes,
        RankPages::state_bytes(pages::AllocatedPages::window_pages(count), tools.check),
        RankPages::rank_bytes, tools.check};
    Parts parts;
    parts.allocations = std::make_unique<pages::AllocatedPages>(count);
    Places places;
    Status refusal;
    auto status = tools.teams.run(ranks, {CollectiveCall::init_pages, 0}, [&](team::Team& team) {
        const team::Membership& members = team.members();
        for (std::uint32_t member = 0; member < members.size(); ++member)
            places.node_of.push_back(members.node_of(member));
        for (std::uint32_t node = 0; node < members.nodes(); ++node)
            places.first_rank_of.push_back(members.leader(node));
        auto opened = WindowMemory::open(team, tools.allocator, tools.gma.space().segment(), plan);
        if (opened.is_ok()) {
            parts.memory = std::move(opened).value();
            if (team.members().nodes() > 1) refusal = start_rank(team, tools, parts);
        } else {
            refusal = std::move(opened).failure();
        }
        return !team.is_broken();
    });
    if (status.is_ok()) status = std::move(refusal);
    if (status.is_ok()) {
        return std::unique_ptr<SharedPages>(
            new SharedPages(tools, ranks, std::move(places), std::move(parts)));
    }
    parts.rank.reset();
    if (parts.memory != nullptr) parts.memory->free_block();
    (void)tools.teams.free(ranks);
    return status;
}

Status SharedPages::close() {
    finish_flushes();
    auto status =
        tools_.teams.run(ranks_, {CollectiveCall::finalize_pages, 0}, [this](team::Team& team) {
            if (!team::synchronize(team)) return false;
            // A lock that a thread still holds keeps its record; acp_lock then ignores the record.
            if (team.members().own() == 0) {
                bound_->for_each(
                    [this](const BoundRange& range) { (void)tools_.bind_lock(range.lock, {}); });
            }
            return true;
        });
    if (status.code() == Code::state) return status;  // another thread is in a call
    rank_.reset();
    child_touches_.reset();
    // Else ranks that did not end their shared pages continue to fetch pages from the block.
    if (status.is_ok()) memory_->free_block();
    auto freed = tools_.teams.free(ranks_);
    return status.is_ok() ? std::move(freed) : std::move(status);
}

Result<char*> SharedPages::allocate(std::uint64_t bytes) {
    return allocate({CollectiveCall::alloc_pages, bytes}, bytes, default_homes);
}

Result<char*> SharedPages::allocate(std::uint64_t bytes,
                                    const pages::HomeRule& rule,
                                    std::uint8_t policy,
                                    std::uint32_t argument) {
    return allocate({CollectiveCall::alloc_home_pages, bytes, argument, {policy, 0}}, bytes, rule);
}

Result<char*> SharedPages::allocate(const Signature& call,
                                    std::uint64_t bytes,
                                    const pages::HomeRule& rule) {
    if (bytes == 0) return Status(Code::argument, "the size is 0 bytes");
    const std::uint64_t count = pages_for(bytes);
    std::uint64_t first = no_page;
    Status refusal;
    auto status = tools_.teams.run(ranks_, call, [&](team::Team& team) {
        first = allocations_->allocate(count).value_or(no_page);
        if (rank_ == nullptr || first == no_page) return team::synchronize(team);
        return rank_->assign(team, {first, count}, rule, refusal);
    });
    if (status.is_ok()) status = std::move(refusal);
    if (!status.is_ok()) {
        if (first != no_page) allocations_->free(first);
        return status;
    }
    if (first == no_page) {
        return Status(Code::limit, "no run of " + pages::in_pages(count) + " is free: of " +
                                       pages::in_pages(allocations_->page_count()) + " " +
                                       std::to_string(allocations_->pages_taken()) +
                                       " are allocated; acp_init_dsm sets their number");
    }
    count_allocations();
    return window().tracked(first);
}

Status SharedPages::free(const void* address) {
    const pages::PageNumber first = window().page_of(address);
    const bool is_at_page = window().has(address) && window().tracked(first) == address;
    const auto count = is_at_page ? allocations_->count_at(first) : std::nullopt;
    if (!count) {
        return {Code::argument, "no allocation of shared pages begins at address " + hex(address)};
    }
    const BoundRange* const bound = bound_->first_in({first, *count});
    if (bound != nullptr && bound->bytes != window().bytes()) {
        return {Code::state, "bytes of the allocation at address " + hex(address) +
                                 " are bound to lock " + tools_.allocator.name_of(bound->lock) +
                                 ": acp_bind_dsm with size 0 ends that"};
    }
    Status refusal;
    auto status =
        tools_.teams.run(ranks_, {CollectiveCall::free_pages, first}, [&](team::Team& team) {
            if (rank_ != nullptr) return free_on_nodes(team, {first, *count}, refusal);
            if (!team::synchronize(team)) return false;
            if (!team.members().is_leader()) return true;
            // Zero for the next allocation: acp_alloc_dsm returns on no rank before this one calls it.
            memory_->clear({first, *count});
            return true;
        });
    if (status.is_ok()) status = std::move(refusal);
    if (!status.is_ok()) return status;
    allocations_->free(first);
    count_allocations();
    return {};
}

bool SharedPages::free_on_nodes(team::Team& team, PageRange pages, Status& refusal) {
    if (!rank_->synchronize(team, refusal)) return false;
    return !refusal.is_ok() || rank_->release(team, pages, refusal);
}

Status SharedPages::synchronize() {
    Status refusal;
    auto status =
        tools_.teams.run(ranks_, {CollectiveCall::barrier_pages, 0}, [&](team::Team& team) {
            return rank_ == nullptr ? team::synchronize(team) : rank_->synchronize(team, refusal);
        });
    if (status.is_ok()) status = std::move(refusal);
    if (status.is_ok()) counters_.calls.barriers.fetch_add(1, std::memory_order_relaxed);
    return status;
}

// On several nodes: each page of an allocation has a home.
Status SharedPages::check_allocated(const void* address, std::uint64_t bytes) const {
    const PageRange pages = window().pages_of(static_cast<const char*>(address), bytes);
    for (std::uint64_t i = 0; i < pages.count; ++i) {
        if (window().homes().home(pages.first + i) == pages::no_node)
            return outside_allocations(address, bytes);
    }
    return {};
}

// For collective calls, whose order the allocations follow: on one node too, whose pages have no homes.
Status SharedPages::check_range_of_all(const void* address, std::uint64_t bytes) const {
    if (Status status = check_range(address, bytes); !status.is_ok()) return status;
    const PageRange pages = window().pages_of(address, bytes);
    if (allocations_->has_all(pages.first, pages.count)) return {};
    return outside_allocations(address, bytes);
}

Status SharedPages::set_home(const void* address, std::uint64_t bytes, std::uint32_t rank) {
    if (Status status = check_range_of_all(address, bytes); !status.is_ok()) return status;
    const PageRange range = window().pages_of(address, bytes);
    Status refusal;
    auto status = tools_.teams.run(
        ranks_, {CollectiveCall::set_home_pages, range.count << 32 | range.first, rank},
        [&](team::Team& team) {
            if (rank_ == nullptr) return team::synchronize(team);
            return rank_->move(team, range, node_of(rank), refusal);
        });
    return status.is_ok() ? std::move(refusal) : std::move(status);
}

// The range lies in the shared pages, and on several nodes in allocations.
Status SharedPages::check_range(const void* address, std::uint64_t bytes) const {
    const std::uint64_t room = window().page_count() * pages::page_bytes;
    const auto* const begin = window().tracked(0);
    if (!window().has(address) ||
        bytes > room - static_cast<std::uint64_t>(static_cast<const char*>(address) - begin)) {
        return {Code::argument, name_of(address, bytes) + " leaves the shared pages, which are " +
                                    base::in_bytes(room) + " from address " + hex(begin)};
    }
    return rank_ != nullptr ? check_allocated(address, bytes) : Status();
}

Status SharedPages::prefetch(const void* address, std::uint64_t bytes) {
    Status status = check_range(address, bytes);
    if (!status.is_ok() || rank_ == nullptr) return status;
    return rank_->prefetch(window().pages_of(address, bytes));
}

Status SharedPages::flush(const void* address, std::uint64_t bytes) {
    Status status = check_range(address, bytes);
    if (!status.is_ok() || rank_ == nullptr) return status;
    return rank_->flush(window().pages_of(address, bytes));
}

Status SharedPages::fence(const void* address, std::uint64_t bytes) {
    Status status = check_range(address, bytes);
    if (!status.is_ok()) return status;
    if (rank_ != nullptr) return rank_->fence(window().pages_of(address, bytes));
    // seq_cst: the caller's accesses before and behind the call; partners: the fences of other ranks
    base::fence(std::memory_order_seq_cst);
    return {};
}

Status SharedPages::choose_update(const void* address, std::uint64_t bytes, UpdateChoice choice) {
    Status status = check_range(address, bytes);
    if (!status.is_ok() || rank_ == nullptr) return status;
    rank_->choose_update(window().pages_of(address, bytes), choice);
    return status;
}

Status SharedPages::check_free(memory::GlobalAddress lock, PlainRange range) const {
    const BoundRange* const other = bound_->other_in(lock, range.first, range.bytes);
    if (other == nullptr) return {};
    return {Code::argument, name_of(window().tracked(0) + range.first, range.bytes) +
                                " has bytes that are bound to lock " +
                                tools_.allocator.name_of(other->lock)};
}

// Bytes that travel with a lock reach its next holder in one round trip.
BoundWay SharedPages::way_of(std::uint64_t bytes) const noexcept {
    if (bytes <= operations::lock_bytes_max) return BoundWay::travels;
    return rank_ == nullptr ? BoundWay::stays : BoundWay::logged;
}

Status SharedPages::bind(memory::GlobalAddress lock, const void* address, std::uint64_t bytes) {
    PlainRange range;
    if (bytes == all_bytes && address == nullptr) {
        range = {0, window().bytes()};
    } else if (bytes != 0) {
        if (Status status = check_range_of_all(address, bytes); !status.is_ok()) return status;
        range = {window().offset_of(address), bytes};
    }
    if (range.bytes != 0) {
        if (Status status = check_free(lock, range); !status.is_ok()) return status;
    }
    Status refusal;
    auto status = tools_.teams.run(
        ranks_, team::Signature::of_binding(range.first, range.bytes, lock),
        [&](team::Team& team) { return bind_in_call(team, lock, range, refusal); });
    return status.is_ok() ? std::move(refusal) : std::move(status);
}

// All ranks agree: rank 0 changes the lock, and says how that ended.
bool SharedPages::bind_in_call(team::Team& team,
                               memory::GlobalAddress lock,
                               PlainRange range,
                               Status& refusal) {
    const bool is_together =
        rank_ == nullptr ? team::synchronize(team) : rank_->synchronize(team, refusal);
    if (!is_together) return false;
    const BoundRange* const before = bound_->find(lock);
    if (before != nullptr && rank_ != nullptr && before->way == BoundWay::travels &&
        !rank_->end_bound(team, *before, refusal)) {
        return false;
    }
    Status own;
    if (team.members().own() == 0)
        own = refusal.is_ok() ? bind_lock(lock, range) : std::move(refusal);
    auto code = static_cast<std::uint64_t>(own.code());
    if (!team::broadcast(team, reinterpret_cast<char*>(&code), sizeof code, 0)) return false;
    if (code != 0) {
        refusal = !own.is_ok()
                      ? std::move(own)
                      : Status(static_cast<Code>(code),
                               "rank 0 could not bind the bytes, and has the reason in its "
                               "own message");
        return true;
    }
    bound_->unbind(lock);
    if (range.bytes == 0) return true;
    const BoundWay way = way_of(range.bytes);
    bound_->bind(lock, range.first, range.bytes, way);
    if (way == BoundWay::logged)
        refusal = rank_->long_ranges().track(bound_->find_bound(lock)->pages());
    return true;
}

// The lock gets the bytes that the pages have, or an empty log.
Status SharedPages::bind_lock(memory::GlobalAddress lock, PlainRange range) {
    const BoundWay way = way_of(range.bytes);
    if (range.bytes == 0 || way == BoundWay::stays) return tools_.bind_lock(lock, {});
    if (way == BoundWay::logged) {
        const pages::ChangeLog log(BoundRange::first_release_of(bound_->next_serial()));
        return tools_.bind_lock(lock, log.bytes());
    }
    auto bytes = plain(window().tracked(0) + range.first, range.bytes, false);
    if (!bytes.is_ok()) return std::move(bytes).failure();
    return tools_.bind_lock(lock, std::as_bytes(std::span(bytes.value(), range.bytes)));
}

Status SharedPages::enter_bound(BoundRange& range,
                                std::span<const std::byte> record,
                                std::uint32_t thread,
                                bool has_died) {
    Status status;
    if (range.way == BoundWay::logged) {
        status = rank_->long_ranges().enter(range, record, has_died);
    } else if (range.way == BoundWay::travels && rank_ != nullptr) {
        status = rank_->bound_pages().store(range, record);
    } else {
        std::ranges::copy(record, bound_bytes(range).begin());
    }
    if (!status.is_ok()) return status;
    range.holder.store(thread + 1, std::memory_order_relaxed);
    return {};
}

// A thread that does not hold the lock fills it too: the release is refused.
Status SharedPages::leave_bound(BoundRange& range,
                                std::uint32_t thread,
                                std::span<std::byte> record) {
    if (range.way == BoundWay::travels) {
        report_bound(range);
        // A copy: the next holder may be on this node, and change the page before the call ends.
        std::ranges::copy(bound_bytes(range), record.begin());
    }
    if (range.way != BoundWay::logged) return {};
    Status status;
    if (range.holder.load(std::memory_order_relaxed) == thread + 1)
        status = rank_->long_ranges().leave(range);
    std::ranges::copy(range.log.bytes(), record.begin());
    return status;
}

void SharedPages::end_bound(BoundRange& range,
                            std::uint32_t thread,
                            std::span<const std::byte> record) noexcept {
    pages::ChangeLog log;
    if (range.way == BoundWay::logged && log.read(record, window().page_count()))
        rank_->long_ranges().end(range, log.newest());
    range.note_released_by(thread);
}

Result<char*> SharedPages::plain(char* address, std::uint64_t bytes, bool is_written) {
    if (rank_ == nullptr) return address;
    if (Status status = check_allocated(address, bytes); !status.is_ok()) return status;
    if (Status status = rank_->open(window().pages_of(address, bytes), is_written); !status.is_ok())
        return status;
    return reinterpret_cast<char*>(window().plain(0).data()) + (address - window().tracked(0));
}

Result<pages::NodeNumber> SharedPages::home_node_of(const void* address) const {
    if (!window().has(address))
        return Status(Code::argument, "address " + hex(address) + " lies in no shared page");
    if (rank_ == nullptr) return window().node();
    const pages::NodeNumber home = window().homes().home(window().page_of(address));
    if (home == pages::no_node) {
        return Status(Code::argument,
                      "address " + hex(address) + " lies in no allocation of shared pages");
    }
    return home;
}

Result<memory::GlobalAddress> SharedPages::address_of(const void* address) const {
    auto home = home_node_of(address);
    if (!home.is_ok()) return std::move(home).failure();
    return window().address_of_byte(address, home.value());
}

Result<std::uint32_t> SharedPages::home_of(const void* address) const {
    auto home = home_node_of(address);
    if (!home.is_ok()) return std::move(home).failure();
    return places_.first_rank_of[home.value()];
}

void SharedPages::count_allocations() noexcept {
    counters_.calls.pages_allocated.store(allocations_->pages_taken(), std::memory_order_relaxed);
    counters_.calls.allocations.store(allocations_->count(), std::memory_order_relaxed);
}

}  // namespace acp::dsm
