// SPDX-License-Identifier: BSD-3-Clause
// The set of sharers that a home has learned: nodes that fetch a page again whenever the home has
// written it. Such a node's next copy is pushed to it before the barrier, in place of a notice after
// which it would fault and fetch. The home alone decides, and says to each node what it pushed
// (notice_pushed), so a home that forgets, or a new process in its place, costs a fetch and no more.
// Memory of one process; one thread at a time. An epoch in which nothing is learned allocates
// nothing.
// Tests: tests/unit/pages/learned_test.cpp.
// Source: the update protocols of Munin (Carter et al., SOSP 1991), chosen here by what was fetched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pages/notices.hpp"
#include "pages/page.hpp"

namespace acp::pages {

// Pages to push to a node.
struct PushRun {
    NodeNumber node = 0;
    PageNumber first = 0;
    std::uint64_t count = 0;

    bool operator==(const PushRun&) const = default;
};

class LearnedSharers {
public:
    // The number of writes by the home that a node must follow with a fetch, one after the other.
    inline static constexpr std::uint8_t fetches_to_learn = 2;

    //   sharers_max  pairs of a page and a node, 1 or more; those beyond it are not learned
    explicit LearnedSharers(std::size_t sharers_max) : sharers_max_(sharers_max) {}

    // A node has fetched the page since its home's last write: a mark that the home took.
    void note_fetch(PageNumber page, NodeNumber node) { fetched_.push_back({page, node}); }

    // A node wrote the page, of which a pushed copy would overwrite its bytes: nothing is pushed to
    // it again.
    void note_writer(PageNumber page, NodeNumber node);

    // A node needs the page no longer.
    void forget(PageNumber page, NodeNumber node) noexcept;

    // The home lost the pages: it forgets their sharers and their writers.
    void forget_pages(PageNumber first, std::uint64_t count) noexcept;

    // Ends an epoch. Takes the fetches of the epoch into account, then returns what to push now,
    // ordered by node, then page; valid until the next call.
    //   written  the pages that the home alone wrote in the epoch, ascending, without a page twice
    std::span<const PushRun> end_epoch(std::span<const MergedRun> written);

    // The pairs that are remembered.
    [[nodiscard]] std::size_t size() const noexcept { return sharers_.size(); }

private:
    struct Sharer {
        PageNumber page = 0;
        NodeNumber node = 0;
        std::uint8_t fetches = 0;  // the number in succession, <= fetches_to_learn
        bool has_fetched = false;  // since the last write
        bool is_writer = false;

        [[nodiscard]] bool is_learned() const noexcept { return fetches == fetches_to_learn; }

        // Whether forgetting it changes nothing.
        [[nodiscard]] bool is_idle() const noexcept {
            return fetches == 0 && !has_fetched && !is_writer;
        }
    };

    [[nodiscard]] static bool is_before(const Sharer& one, const Sharer& other) noexcept {
        return one.page != other.page ? one.page < other.page : one.node < other.node;
    }

    [[nodiscard]] Sharer* find(PageNumber page, NodeNumber node) noexcept;
    void take_fetches();
    void add_new();
    void join_pushes();

    std::size_t sharers_max_;
    std::vector<Sharer> sharers_;  // ascending

    struct Fetch {
        PageNumber page;
        NodeNumber node;
    };

    std::vector<Fetch> fetched_;
    std::vector<Sharer> new_;
    std::vector<PushRun> pushes_;
    bool is_closed_ = false;  // a writer could not be noted, so no pair is learned any longer
};

}  // namespace acp::pages
