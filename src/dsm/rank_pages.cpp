// SPDX-License-Identifier: BSD-3-Clause
// Start, allocations, and the end of a rank that touches a lost page.
#include "dsm/rank_pages.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "dsm/copy_memory.hpp"
#include "node/segment.hpp"
#include "os/log_line.hpp"
#include "os/process.hpp"
#include "os/signal_hold.hpp"
#include "os/standard_streams.hpp"
#include "team/collectives.hpp"

#include "operations/page_operations.hpp"

namespace acp::dsm {

namespace {

using base::Code;
using base::Result;
using base::Status;

TrackedMemory tracked_memory(const Window& window) noexcept {
    return {window.tracked(0), window.page_count()};
}

// The pages of all blocks that have a page of the range.
PageRange whole_blocks(PageRange pages, std::uint64_t page_count) noexcept {
    constexpr std::uint64_t block = Tracker::block_pages;
    const std::uint64_t first = pages.first / block * block;
    const std::uint64_t end = (pages.first + pages.count + block - 1) / block * block;
    return {first, std::min(end, page_count) - first};
}

NodeState<> state_of(const Window& window) noexcept {
    return {reinterpret_cast<NodeState<>::Word*>(window.state()), window.page_count()};
}

// Behind the state of the node.
std::byte* check_memory_of(const Window& window) noexcept {
    return reinterpret_cast<std::byte*>(window.state()) +
           RankPages::state_bytes(window.page_count());
}

// GmaHomeLink's argument.
std::uint64_t masks_of(const Window& window, base::PageCheck check) noexcept {
    if (check == base::PageCheck::off) return 0;
    return window.state_offset() + RankPages::state_bytes(window.page_count()) +
           RaceCheck::log_bytes;
}

// Behind the state of the barrier.
NodeLocks<> locks_of(const Window& window) noexcept {
    return {reinterpret_cast<NodeLocks<>::Word*>(window.state() +
                                                 NodeState<>::bytes(window.page_count())),
            window.page_count()};
}

}  // namespace

// The leader of each node gives the pages their homes before a rank of any node leaves the call.
class RankPages::Assignment final : public team::LeaderMeeting {
public:
    Assignment(const Window& window, PageRange pages, const pages::HomeRule& rule) noexcept
        : window_(window), pages_(pages), rule_(rule) {}

    [[nodiscard]] std::uint64_t bytes_max() const noexcept override { return 0; }

    std::span<const char> notice() override {
        const pages::HomeTable<> homes = window_.homes();
        homes.assign(pages_.first, pages_.count, rule_);
        for (std::uint64_t i = 0; i < pages_.count; ++i) {
            if (homes.home(pages_.first + i) != window_.node()) continue;
            window_.page_words().become_home(pages_.first + i);
            if (rule_.policy == pages::HomePolicy::first_writer)
                window_.sharers().track(pages_.first + i);
        }
        return {};
    }

    void settle(std::span<const std::span<const char>> /*notices*/) override {}

private:
    const Window& window_;
    PageRange pages_;
    const pages::HomeRule& rule_;
};

// Frees pages when all ranks have arrived.
class RankPages::Release final : public team::LeaderMeeting {
public:
    Release(const WindowMemory& memory, NodeState<> node, PageRange pages) noexcept
        : memory_(memory), node_(node), pages_(pages) {}

    [[nodiscard]] std::uint64_t bytes_max() const noexcept override { return 0; }

    std::span<const char> notice() override { return {}; }

    void settle(std::span<const std::span<const char>> /*notices*/) override {
        const Window& window = memory_.window();
        // By this rule a page has no home.
        window.homes().assign(pages_.first, pages_.count,
                              {pages::HomePolicy::first_touch, false, 1, 0});
        for (std::uint64_t i = 0; i < pages_.count; ++i) {
            window.page_words().lose_home(pages_.first + i, false);
            window.page_words().invalidate(pages_.first + i);
            window.sharers().clear(pages_.first + i);
            window.clock().remove(pages_.first + i);
        }
        node_.forget(pages_);
        memory_.clear(pages_);
        if (!give_back_twins(window, pages_))
            std::memset(window.twin(pages_.first).data(), 0, pages_.count * pages::page_bytes);
    }

private:
    const WindowMemory& memory_;
    NodeState<> node_;
    PageRange pages_;
};

// Moves pages to a node, when all ranks have arrived. The leader of that node fetches the bytes before
// it sends its notice. After the exchange of the notices, ranks fetch the pages from the new home.
class RankPages::Move final : public team::LeaderMeeting {
public:
    Move(RankPages& rank, PageRange pages, pages::NodeNumber node) noexcept
        : rank_(rank), window_(rank.memory_.window()), pages_(pages), node_(node) {}

    [[nodiscard]] std::uint64_t bytes_max() const noexcept override { return sizeof code_; }

    std::span<const char> notice() override {
        if (window_.node() == node_)
            failure_ = rank_.fetcher_.fetch(pages_, PageFetcher::Need::homes);
        code_ = static_cast<std::uint64_t>(failure_.code());
        return {reinterpret_cast<const char*>(&code_), sizeof code_};
    }

    void settle(std::span<const std::span<const char>> notices) override {
        const std::span<const char> notice = notices[node_];
        std::uint64_t code = static_cast<std::uint64_t>(Code::mismatch);
        if (notice.size() == sizeof code) std::memcpy(&code, notice.data(), sizeof code);
        if (code >= base::code_count) code = static_cast<std::uint64_t>(Code::mismatch);
        rank_.node_.set_outcome(static_cast<Code>(code));
        if (code != 0) return;
        for (std::uint64_t i = 0; i < pages_.count; ++i) move(pages_.first + i);
    }

    // What this rank knows of the failure, else ok.
    [[nodiscard]] Status take_failure() noexcept { return std::move(failure_); }

private:
    // All other copies go: the new home does not track its writes for their nodes.
    void move(pages::PageNumber page) {
        const pages::NodeNumber before = window_.homes().home(page);
        window_.homes().set_home(page, node_);
        if (before == node_) return;
        if (window_.node() == node_) {
            window_.clock().remove(page);
            window_.page_words().become_home(page);
            (void)give_back_twins(window_, {page, 1});
            if (rank_.races_ != nullptr) rank_.races_->check().end_own_writes({page, 1});
            rank_.counters_.calls.gained.fetch_add(1, std::memory_order_relaxed);
        } else if (window_.node() == before) {
            window_.sharers().clear(page);
            window_.page_words().lose_home(page, false);
            window_.clock().use(page);  // its memory
            window_.clock().neglect(page);
        } else {
            window_.page_words().invalidate(page);
            window_.clock().neglect(page);
        }
    }

    RankPages& rank_;
    const Window& window_;
    PageRange pages_;
    pages::NodeNumber node_;  // the new home
    Status failure_;
    std::uint64_t code_ = 0;
};

RankPages::RankPages(gma::Gma& gma,
                     const WindowMemory& memory,
                     const BoundRanges& bound,
                     const RaceWatchPlan& check)
    : gma_(gma),
      memory_(memory),
      bound_(bound),
      counters_(page_counters(gma.space().segment(), gma.space().slot())),
      mapped_(memory.window().page_count()),
      updates_(memory.window().page_count()),
      lent_(mapped_),
      node_(state_of(memory.window())),
      peers_(gma),
      races_(RaceWatch::start(
          memory.window(), gma.space().segment(), check, check_memory_of(memory.window()))),
      link_(gma,
            memory.window(),
            masks_of(memory.window(), check.check),
            RaceCheck::entries(memory.window().page_count(), check.check)),
      flusher_(parts(), operations::difference_code()),
      evictor_(parts(), flusher_, mapped_),
      fetcher_(parts(), *this, &evictor_),
      fence_(parts(), flusher_),
      early_(flusher_),
      locked_{{gma, parts(), fetcher_}, {parts(), flusher_, fence_, lent_}},
      service_(tracked_memory(memory.window()),
               mapped_,
               races_ == nullptr ? fetcher_ : races_->source_for_faults(fetcher_),
               counters_.faults) {}

PageParts RankPages::parts() noexcept {
    const Window& window = memory_.window();
    std::byte* const journals =
        check_memory_of(window) + (races_ == nullptr ? 0 : races_->check().bytes());
    return {link_,
            peers_,
            window,
            node_,
            {journals, gma_.space().segment().shape().local_procs},
            gma_.space().slot(),
            counters_,
            &bound_,
            races_ == nullptr ? nullptr : &races_->check(),
            locks_of(window)};
}

Result<std::unique_ptr<RankPages>> RankPages::start(gma::Gma& gma,
                                                    const WindowMemory& memory,
                                                    const BoundRanges& bound,
                                                    const RankPagesOptions& options) {
    std::unique_ptr<RankPages> made(new RankPages(gma, memory, bound, options.check));
    made->set_cache(options.cache_bytes);
    auto tracker = Tracker::start(options.kind, tracked_memory(memory.window()), made->mapped_);
    if (!tracker.is_ok()) return std::move(tracker).failure();
    made->tracker_ = std::move(tracker).value();
    made->evictor_.start(*made->tracker_);
    made->locked_.long_ranges.start(*made->tracker_);
    const bool has_touches = made->touches() != nullptr;
    if (has_touches && made->tracker_->maps_whole_blocks()) {
        return Status(
            Code::unsupported,
            "ACP_DSM_CHECK=reads needs a fault for each page, which ACP_DSM_FAULTS=protect "
            "has not: it maps blocks of 64 KiB");
    }
    if (Status status = made->service_.start(*made->tracker_, made->touches()); !status.is_ok())
        return status;
    const PageBarrier::RankMapping own{*made->tracker_, made->mapped_, made->updates_, made->lent_,
                                       has_touches};
    made->barrier_ = std::make_unique<PageBarrier>(made->parts(), own, made->flusher_);
    return made;
}

// A page whose home is lost stays absent: a touch of it says so.
bool RankPages::synchronize(team::Team& team, Status& status) {
    locked_.travelling.save_held(bound_);
    const bool is_whole = meet(team, status);
    if (is_whole && status.is_ok()) status = fetch_again();
    Status restored = locked_.travelling.restore_held();
    if (status.is_ok()) status = std::move(restored);
    return is_whole;
}

TouchedBytes* RankPages::touches() const noexcept {
    return races_ == nullptr ? nullptr : races_->touches();
}

bool RankPages::meet(team::Team& team, Status& status) {
    finish_flushes();
    if (races_ != nullptr) {
        // Its failure is that of a home, which the barrier reports.
        (void)races_->send_touches(link_, gma_.space().rank());
    }
    if (!barrier_->synchronize(team, status)) return false;
    const bool has_settled = node_.outcome() == Code::ok;
    // Alike on all ranks, also on one whose own part of the barrier has failed.
    if (node_.is_renewed()) {
        Status met;
        if (!locked_.travelling.meet(team, barrier_->renewed(), met)) return false;
        if (status.is_ok()) status = std::move(met);
    }
    if (races_ == nullptr || !has_settled) return true;
    return races_->meet(team, node_, counters_.checks, status);
}

Status RankPages::fetch_again() {
    const std::span<const PageRange> again = barrier_->to_fetch_again();
    if (again.empty()) return {};
    (void)fetcher_.fetch(again, PageFetcher::Need::ahead);
    Status status;
    std::uint64_t count = 0;
    for (const PageRange pages : again) {
        status = service_.map_brought(pages).status();
        if (!status.is_ok()) break;
        count += pages.count;
    }
    counters_.updated.fetch_add(count, std::memory_order_relaxed);
    return status;
}

bool RankPages::end_bound(team::Team& team, const BoundRange& range, Status& status) {
    locked_.travelling.save_held(bound_);
    const std::array<const BoundRange*, 1> ranges{&range};
    Status met;
    if (!locked_.travelling.meet(team, ranges, met)) return false;
    Status restored = locked_.travelling.restore_held();
    if (status.is_ok()) status = met.is_ok() ? std::move(restored) : std::move(met);
    return true;
}

bool RankPages::assign(team::Team& team,
                       PageRange pages,
                       const pages::HomeRule& rule,
                       Status& status) {
    // A fault beside the pages may have mapped them.
    status = tracker_->unmap(pages).status();
    Assignment assignment(memory_.window(), pages, rule);
    return team::synchronize_with_leaders(team, assignment);
}

bool RankPages::release(team::Team& team, PageRange pages, Status& status) {
    status = tracker_->unmap(pages).status();
    updates_.choose(pages, UpdateChoice::learn);
    Release release(memory_, node_, pages);
    return team::synchronize_with_leaders(team, release);
}

bool RankPages::move(team::Team& team, PageRange pages, pages::NodeNumber node, Status& status) {
    locked_.travelling.save_held(bound_);
    const bool is_whole = move_held(team, pages, node, status);
    Status restored = locked_.travelling.restore_held();
    if (status.is_ok()) status = std::move(restored);
    return is_whole;
}

bool RankPages::move_held(team::Team& team,
                          PageRange pages,
                          pages::NodeNumber node,
                          Status& status) {
    if (!meet(team, status)) return false;
    // On all ranks alike: a rank that alone has failed takes part in the second meeting.
    if (node_.outcome() != Code::ok) return true;
    if (status.is_ok()) status = tracker_->unmap(pages).status();
    Move move(*this, pages, node);
    if (!team::synchronize_with_leaders(team, move)) return false;
    const Code outcome = node_.outcome();
    if (status.is_ok() && outcome == Code::ok) status = fetch_again();
    if (!status.is_ok() || outcome == Code::ok) return true;
    status = move.take_failure();
    if (!status.is_ok()) return true;
    status = Status::worded(outcome, [] {
        return std::string(
            "the pages did not reach their new home, a rank of which has the reason in its own "
            "message; they stay where they were");
    });
    return true;
}

// os::SignalHold, here and below: a handler of the program that touches a page would wait for this
// thread, which moves pages, and for the flusher that it uses.
Status RankPages::prefetch(PageRange pages) {
    const os::SignalHold signals;
    counters_.prefetched.fetch_add(pages.count, std::memory_order_relaxed);
    // map_brought() fetches the rest of each block like a fault, which ends the process if the home of
    // a page is lost.
    if (tracker_->maps_whole_blocks()) pages = whole_blocks(pages, memory_.window().page_count());
    if (node_.copies_max() != 0) return prefetch_in_bound(pages);
    Status status = fetcher_.fetch(pages);
    return status.is_ok() ? service_.map_brought(pages).status() : std::move(status);
}

// No eviction drops a page that this call has fetched before it returns.
Status RankPages::prefetch_in_bound(PageRange pages) {
    // More would drop the pages that the program uses.
    const std::uint64_t most = node_.copies_max() / 2 / Tracker::block_pages * Tracker::block_pages;
    pages.count = std::min(pages.count, most);
    for (std::uint64_t i = 0; i < pages.count; ++i) mapped_.enter(pages.first + i);
    Status status = fetcher_.fetch(pages, PageFetcher::Need::ahead);
    if (status.is_ok()) status = service_.map_brought(pages).status();
    for (std::uint64_t i = 0; i < pages.count; ++i) mapped_.leave(pages.first + i);
    return status;
}

Status RankPages::fence(PageRange pages) {
    const os::SignalHold signals;
    return fence_.synchronize(pages);
}

Status RankPages::flush(PageRange pages) {
    const os::SignalHold signals;
    NodeWrites writes(node_);
    Status status = tracker_->find_written(pages, writes);
    if (status.is_ok()) early_.begin(pages);
    return status;
}

Status RankPages::open(PageRange pages, bool is_written) {
    lent_.hold(pages);
    Status status = fetcher_.fetch(pages);
    if (status.is_ok() && is_written) lent_.add(pages);
    return status;
}

void RankPages::end(const Status& failure) noexcept {
    node::Slot& slot = gma_.space().segment().slot(gma_.space().slot());
    os::print_error(
        "acp: rank %u on %s: %.*s\n"
        "acp: the process ends, whatever ACP_ON_ERROR says: no other node has the bytes that it "
        "would read\n"
        "acp: hint: after a barrier has failed with ACP_ERR_PEER, touch only pages that the node "
        "has; acp_prefetch_dsm returns an error for the others, and ends no process\n",
        static_cast<unsigned>(gma_.space().rank()), os::host_name().c_str(),
        static_cast<int>(failure.message().size()), failure.message().data());
    // relaxed: read by the agent after the process has ended
    slot.own_end.store(static_cast<std::uint32_t>(node::OwnEnd::by_error),
                       std::memory_order_relaxed);
    os::end_by_abort();
}

}  // namespace acp::dsm
