// SPDX-License-Identifier: BSD-3-Clause
// Nodes of a job in one process: each has a window over plain memory, ranks with a mapping of their
// own, and a link that carries out its requests late and in any order, while fibers of other ranks
// run. A defect can be planted into the protocol. For fibers of support/interleave.hpp.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dsm/fetcher.hpp"
#include "dsm/flusher.hpp"
#include "dsm/node_state.hpp"
#include "dsm/race_check.hpp"
#include "dsm/rank_pages.hpp"
#include "dsm/window.hpp"

#include "support/interleave.hpp"
#include "support/random.hpp"

namespace acp::dsm::test {

namespace sched = acp::test::sched;

// A mistake of the protocol that the checker must find.
enum class Defect : std::uint8_t {
    none,
    mark_is_lost,              // a node that fetches is not marked at the home
    sharers_get_no_notice,     // the first mark of a page does not make a notice
    page_for_difference,       // the whole page replaces the home's
    words_for_bytes,           // whole words of 8 bytes replace the home's
    difference_is_lost,        // the home does not get it
    drop_is_forgotten,         // every 8th copy stays
    copies_stay_at_migration,  // the old home does not unmap a page that moves
    barrier_before_arrival,    // the barrier does not wait for differences in flight
    old_twin,                  // the twin does not change with the flush
    dirty_page_is_evicted,     // its writes are not sent
    home_is_not_tracked        // a home writes a shared page without a notice
};

inline constexpr int defects = 12;

struct alignas(pages::page_bytes) FakePage {
    std::array<std::byte, pages::page_bytes> bytes{};
};

// A barrier of some fibers.
class FakeMeeting {
public:
    explicit FakeMeeting(std::uint32_t threads) noexcept : threads_(threads) {}

    void meet() {
        const std::uint64_t generation = generation_;
        if (++arrived_ == threads_) {
            arrived_ = 0;
            ++generation_;
            sched::wake_all(&generation_);
            return;
        }
        while (generation_ == generation) sched::sleep_while(&generation_, true);
    }

private:
    std::uint32_t threads_;
    std::uint32_t arrived_ = 0;
    std::uint64_t generation_ = 0;
};

class FakeNode;
using FakeNodes = std::vector<std::unique_ptr<FakeNode>>;

class FakeLink final : public HomeLink {
public:
    FakeLink(FakeNodes& nodes, std::uint32_t node, Defect defect, std::uint64_t seed)
        : nodes_(nodes), node_(node), defect_(defect), random_(seed) {}

    [[nodiscard]] std::size_t patch_bytes_max() const noexcept override {
        return operations::page_patch_bytes_max;
    }

    gma::Handle apply(pages::PageNumber page,
                      pages::NodeNumber home,
                      std::span<const std::byte> difference) override;
    gma::Handle end_writes(PageRange pages, pages::NodeNumber home) override;

    gma::Handle note_touches(std::span<const operations::TouchedByte> touches,
                             pages::NodeNumber home) override;
    gma::Handle mark(PageRange pages,
                     pages::NodeNumber home,
                     operations::MarkedPages& answer) override;
    gma::Handle get(PageRange pages, pages::NodeNumber home) override;
    gma::Handle get_into(pages::PageSpan target,
                         pages::PageNumber page,
                         pages::NodeNumber home) override;
    base::Status wait(gma::Handle request) override;

    // The home's node is lost: its requests fail.
    void lose(pages::NodeNumber home) { lost_ = home; }

    // The next marks fail, and no other request.
    void lose_marks() { are_marks_lost_ = true; }

    // Requests are carried out in the reverse order: a get before the mark of its fetch.
    void reverse() { is_reversed_ = true; }

    // A fiber that waits carries out its own requests alone: one that is killed takes no other one's along.
    void separate() { is_separate_ = true; }

    // Called before a mark is made at the home.
    std::function<void()> before_mark = [] {};

    // Called before a difference is applied at the home.
    std::function<void()> before_apply = [] {};

    // Called before a page is fetched into a journal.
    std::function<void(pages::PageNumber)> before_get_into = [](pages::PageNumber) {};

    [[nodiscard]] std::uint64_t requests() const noexcept { return last_; }

    // Differences that were sent, or parts of them.
    [[nodiscard]] std::uint64_t applies() const noexcept { return applies_; }

private:
    struct Pending {
        gma::Handle request;
        std::function<void()> run;
    };

    gma::Handle add(pages::NodeNumber home, std::function<void()> run);
    void apply_checked(pages::PageNumber page, const FakeNode& home, pages::Difference difference);
    void run_one(gma::Handle awaited);
    [[nodiscard]] std::ptrdiff_t choose(gma::Handle awaited);

    FakeNodes& nodes_;
    std::uint32_t node_;
    Defect defect_;
    acp::test::Random random_;
    pages::NodeNumber lost_ = pages::no_node;
    bool are_marks_lost_ = false;
    bool is_reversed_ = false;
    bool is_separate_ = false;
    std::vector<Pending> pending_;
    std::vector<bool> has_ended_{true};
    std::vector<bool> has_failed_{false};
    gma::Handle last_ = 0;
    std::uint64_t applies_ = 0;
};

class FakePeers final : public NodePeers {
public:
    [[nodiscard]] bool is_dead(pages::SlotNumber slot) noexcept override { return dead[slot]; }

    void wait_while(const Word& word, std::uint64_t seen) noexcept override {
        sched::sleep_while(&word, word.load(std::memory_order_relaxed) == seen);
    }

    // A fiber is a thread.
    [[nodiscard]] std::uint64_t own_thread() noexcept override {
        return sched::current_fiber() + 1;
    }

    void wake(const Word& word) noexcept override { sched::wake_all(&word); }

    std::array<bool, 8> dead{};
};

struct FakeLoss final : PageLoss {
    void end(const base::Status& failure) noexcept override {
        sentences.emplace_back(failure.message());
    }

    std::vector<std::string> sentences;
};

// The memory of a node, and its part of the protocol.
class FakeNode {
public:
    FakeNode(FakeNodes& nodes,
             std::uint32_t node,
             std::uint32_t nodes_count,
             std::uint64_t pages,
             Defect defect,
             std::uint64_t seed)
        : block_(WindowLayout::of(pages, nodes_count, state_bytes(pages)).bytes /
                 pages::page_bytes),
          window(places(node, nodes_count, pages)),
          state(reinterpret_cast<NodeState<>::Word*>(window.state()), pages),
          link(nodes, node, defect, seed) {}

    void assign(const pages::HomeRule& rule) const {
        const auto homes = window.homes();
        homes.assign(0, window.page_count(), rule);
        for (pages::PageNumber page = 0; page < window.page_count(); ++page) {
            if (homes.home(page) == window.node()) window.page_words().become_home(page);
        }
    }

    [[nodiscard]] PageJournals journals() const {
        return {reinterpret_cast<std::byte*>(window.state()) +
                    RankPages::state_bytes(window.page_count()),
                ranks_max};
    }

    // A thread touches a page, and this node gets the page's bytes.
    void fetch(pages::PageNumber page, pages::SlotNumber slot = 0) {
        PageFetcher fetcher(parts(slot), loss);
        fetcher.bring({page, 1});
    }

    [[nodiscard]] PageParts parts(pages::SlotNumber slot) {
        return {link, peers, window, state, journals(), slot, counters[slot], nullptr, races.get()};
    }

    // The node checks its writes from now on.
    void check_writes() {
        check_memory_.resize(RaceCheck::bytes(window.page_count(), base::PageCheck::count) /
                             pages::page_bytes);
        races = std::make_unique<RaceCheck>(window, check_memory_.data()->bytes.data(), BlockFile(),
                                            base::PageCheck::count);
    }

    [[nodiscard]] pages::WriterMasks<> masks() const {
        std::byte* const words = check_memory_.data()->bytes.data() + RaceCheck::log_bytes;
        return {reinterpret_cast<pages::WriterMasks<>::Word*>(words), window.page_count(),
                window.page_count()};
    }

private:
    [[nodiscard]] WindowPlaces places(std::uint32_t node,
                                      std::uint32_t nodes_count,
                                      std::uint64_t pages) {
        WindowPlaces places;
        places.block = reinterpret_cast<char*>(block_.data());
        places.tracked = places.block;
        places.pages = pages;
        places.state_bytes = state_bytes(pages);
        places.node = node;
        places.blocks.resize(nodes_count);
        return places;
    }

    static constexpr std::uint32_t ranks_max = 8;

    [[nodiscard]] static std::uint64_t state_bytes(std::uint64_t pages) {
        return RankPages::state_bytes(pages) + ranks_max * RankPages::rank_bytes;
    }

    std::vector<FakePage> block_;
    mutable std::vector<FakePage> check_memory_;

public:
    std::unique_ptr<RaceCheck> races;  // nullptr: the node does not check its writes
    Window window;
    NodeState<> state;
    FakeLink link;
    FakePeers peers;
    FakeLoss loss;
    std::array<PageCounters, ranks_max> counters;  // the slot of a rank is its index
};

inline gma::Handle FakeLink::add(pages::NodeNumber home, std::function<void()> run) {
    ++last_;
    has_ended_.push_back(false);
    has_failed_.push_back(home == lost_);
    if (home == lost_) run = [] {};
    pending_.push_back({last_, std::move(run)});
    return last_;
}

inline std::ptrdiff_t FakeLink::choose(gma::Handle awaited) {
    const std::size_t last = pending_.size() - 1;
    std::size_t at = is_reversed_ ? last : random_.below(last + 1);
    for (std::size_t i = 0; i <= last && is_separate_; ++i)
        if (pending_[i].request == awaited) at = i;
    return static_cast<std::ptrdiff_t>(at);
}

// Carries out any request, with other fibers in between.
inline void FakeLink::run_one(gma::Handle awaited) {
    if (pending_.empty()) return;
    const std::ptrdiff_t at = choose(awaited);
    Pending request = std::move(pending_[static_cast<std::size_t>(at)]);
    pending_.erase(pending_.begin() + at);
    request.run();
    has_ended_[request.request] = true;
}

inline base::Status FakeLink::wait(gma::Handle request) {
    while (!has_ended_[request]) {
        // Now and then a datagram is lost, and sent again much later.
        for (std::uint64_t i = random_.below(random_.chance(5) ? 50 : 4); i != 0; --i) {
            sched::pause();
        }
        run_one(request);
    }
    if (has_failed_[request]) return {base::Code::peer, "its node is lost"};
    return {};
}

inline gma::Handle FakeLink::apply(pages::PageNumber page,
                                   pages::NodeNumber home,
                                   std::span<const std::byte> difference) {
    ++applies_;
    std::vector<std::byte> bytes(difference.begin(), difference.end());
    const gma::Handle request = add(home, [this, page, home, bytes = std::move(bytes)] {
        before_apply();
        const pages::PageSpan target = nodes_[home]->window.plain(page);
        const pages::PageSpan own = nodes_[node_]->window.plain(page);
        const auto parsed = pages::Difference::parse(bytes);
        if (!parsed || defect_ == Defect::difference_is_lost) return;
        if (defect_ == Defect::page_for_difference) {
            std::memcpy(target.data(), own.data(), own.size());
        } else if (defect_ == Defect::words_for_bytes) {
            const pages::WrittenBytes written(*parsed);
            for (auto run = written.run_from(0); run.count != 0;) {
                const std::uint32_t first = run.first / 8 * 8;
                const std::uint32_t end = (run.first + run.count + 7) / 8 * 8;
                std::memcpy(&target[first], &own[first], end - first);
                run = written.run_from(run.first + run.count);
            }
        } else if (nodes_[home]->races != nullptr) {
            apply_checked(page, *nodes_[home], *parsed);
        } else {
            operations::difference_code().apply(target, *parsed);
        }
        sched::pause();  // the answer has not arrived
    });
    // It has ended for the barrier, and arrives later.
    if (defect_ == Defect::barrier_before_arrival) has_ended_[request] = true;
    return request;
}

// Does what operations::ApplyChecked does for a rank of this node, whose number is 10 * node.
inline void FakeLink::apply_checked(pages::PageNumber page,
                                    const FakeNode& home,
                                    pages::Difference difference) {
    const pages::CheckedPage checked(page, home.window.plain(page), home.window.twin(page),
                                     home.window.node());
    checked.apply(operations::difference_code(), difference, {node_, 10 * node_ + 1}, home.masks());
}

inline gma::Handle FakeLink::end_writes(PageRange pages, pages::NodeNumber home) {
    return add(home, [this, pages, home] {
        for (std::uint64_t i = 0; i < pages.count; ++i)
            nodes_[home]->masks().end(pages.first + i, node_);
    });
}

inline gma::Handle FakeLink::note_touches(std::span<const operations::TouchedByte> touches,
                                          pages::NodeNumber home) {
    const std::vector<operations::TouchedByte> all(touches.begin(), touches.end());
    return add(home, [this, all, home] {
        for (const operations::TouchedByte& touch : all) {
            pages::WrittenBytes bytes;
            bytes.add(touch.byte);
            (void)nodes_[home]->masks().add(touch.page, {node_, 10 * node_ + 1, true}, bytes);
        }
    });
}

inline gma::Handle FakeLink::mark(PageRange pages,
                                  pages::NodeNumber home,
                                  operations::MarkedPages& answer) {
    const gma::Handle request = add(home, [this, pages, home, &answer] {
        before_mark();
        for (std::uint64_t i = 0; i < pages.count; ++i) {
            const pages::Sharers<> sharers = nodes_[home]->window.sharers();
            if (defect_ == Defect::mark_is_lost) continue;
            answer.last_take = sharers.mark(pages.first + i, node_);
        }
    });
    if (are_marks_lost_) has_failed_[request] = true;
    return request;
}

inline gma::Handle FakeLink::get(PageRange pages, pages::NodeNumber home) {
    return add(home, [this, pages, home] {
        for (std::uint64_t i = 0; i < pages.count; ++i) {
            const pages::PageSpan source = nodes_[home]->window.plain(pages.first + i);
            const pages::PageSpan twin = nodes_[node_]->window.twin(pages.first + i);
            std::memcpy(twin.data(), source.data(), source.size() / 2);
            sched::pause();
            std::memcpy(&twin[twin.size() / 2], &source[twin.size() / 2], source.size() / 2);
        }
    });
}

inline gma::Handle FakeLink::get_into(pages::PageSpan target,
                                      pages::PageNumber page,
                                      pages::NodeNumber home) {
    return add(home, [this, target, page, home] {
        before_get_into(page);
        const pages::PageSpan source = nodes_[home]->window.plain(page);
        std::memcpy(target.data(), source.data(), source.size() / 2);
        sched::pause();
        std::memcpy(&target[target.size() / 2], &source[target.size() / 2], source.size() / 2);
    });
}

// Nodes of which node 0 is the home of the first pages, and so on.
inline void make_nodes(FakeNodes& nodes, std::uint32_t nodes_count, std::uint64_t pages) {
    for (std::uint32_t node = 0; node < nodes_count; ++node) {
        nodes.push_back(
            std::make_unique<FakeNode>(nodes, node, nodes_count, pages, Defect::none, node + 1));
        nodes.back()->assign({pages::HomePolicy::block, false, 1, 0});
    }
}

}  // namespace acp::dsm::test
