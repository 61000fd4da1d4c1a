// SPDX-License-Identifier: BSD-3-Clause
// The homes of all pages, as one node knows them: a word for each page, in memory that the node's
// processes share. Each node has such a table, and all tables are alike: a policy assigns the homes,
// and in a barrier every node makes the same changes from the same notices, so no node asks another
// one where a home is. A page of the policy first_touch alone is claimed at one node, its arbiter.
// Any thread of any process; no call blocks. A process that dies at any store leaves a table that
// another process completes by repeating the call.
// Tests: tests/unit/pages/homes_test.cpp.
// Source: single-writer home migration as in JIAJIA (Hu et al., HPCN 1999) and Cashmere.
#pragma once

#include <atomic>
#include <cstdint>

#include "pages/page.hpp"

namespace acp::pages {

inline constexpr NodeNumber nodes_max = (1U << 20) - 2;

// In place of a node.
inline constexpr NodeNumber no_node = ~NodeNumber{0};
inline constexpr NodeNumber several_nodes = no_node - 1;

enum class HomePolicy : std::uint8_t {
    block,        // equal runs of pages, from the first node to the last one
    cyclic,       // `run` pages a node, in turn
    first_touch,  // the first node that touches the page
    fixed,        // `node`
    // Block, until a barrier finds writes to the page: if one node alone made them, the page moves
    // there, and stays. The home tracks its own writes from the start (Sharers::track).
    first_writer
};

// How the pages of an allocation get their homes.
struct HomeRule {
    HomePolicy policy = HomePolicy::block;
    bool is_migrating = false;  // the home moves to a node that alone writes the page twice running
    std::uint64_t run = 1;      // cyclic: 1 or more
    NodeNumber node = 0;        // fixed
};

// The home that a rule gives to a page of an allocation; no_node: the first to touch it.
//   index  of the page in the allocation, < pages
[[nodiscard]] constexpr NodeNumber home_by_rule(const HomeRule& rule,
                                                std::uint64_t index,
                                                std::uint64_t pages,
                                                NodeNumber nodes) noexcept {
    switch (rule.policy) {
        case HomePolicy::block:
        case HomePolicy::first_writer:
            return static_cast<NodeNumber>(index * nodes / pages);
        case HomePolicy::cyclic:
            return static_cast<NodeNumber>(index / rule.run % nodes);
        case HomePolicy::first_touch:
            return no_node;
        case HomePolicy::fixed:
            break;
    }
    return rule.node;
}

// The node whose table decides the first touch of a page.
[[nodiscard]] constexpr NodeNumber arbiter_of(PageNumber page, NodeNumber nodes) noexcept {
    return static_cast<NodeNumber>(page % nodes);
}

// A value of the word. Zero is a page without a home.
struct HomeWord {
    NodeNumber home = no_node;
    // The node, not its home, that alone wrote it the last time; several_nodes: the page moves to the
    // first node that alone writes it.
    NodeNumber last_writer = no_node;
    bool is_migrating = false;
    bool has_moved = false;   // the last decision moved it
    std::uint32_t epoch = 0;  // the last decision's, modulo epochs

    inline static constexpr std::uint32_t epochs = 1U << 22;

    [[nodiscard]] constexpr std::uint64_t packed() const noexcept {
        return std::uint64_t{(home + 1) & node_bits} |
               std::uint64_t{(last_writer + 1) & node_bits} << 20 |
               std::uint64_t{is_migrating} << 40 | std::uint64_t{has_moved} << 41 |
               std::uint64_t{epoch} << 42;
    }

    [[nodiscard]] static constexpr HomeWord unpacked(std::uint64_t word) noexcept {
        const auto writer = static_cast<NodeNumber>(word >> 20 & node_bits);
        return {static_cast<NodeNumber>(word & node_bits) - 1,
                writer == node_bits ? several_nodes : writer - 1, (word >> 40 & 1) != 0,
                (word >> 41 & 1) != 0, static_cast<std::uint32_t>(word >> 42)};
    }

    [[nodiscard]] constexpr bool awaits_first_writer() const noexcept {
        return last_writer == several_nodes;
    }

private:
    inline static constexpr std::uint32_t node_bits = (1U << 20) - 1;
};

template <template <class> class Atomic = std::atomic>
class HomeTable {
public:
    using Word = Atomic<std::uint64_t>;

    //   words  one for each page, in shared memory, zero at first
    //   nodes  1 .. nodes_max
    HomeTable(Word* words, std::uint64_t pages, NodeNumber nodes) noexcept
        : words_(words), pages_(pages), nodes_(nodes) {}

    [[nodiscard]] std::uint64_t pages() const noexcept { return pages_; }

    // no_node: no node has touched the page, as far as this node knows.
    [[nodiscard]] NodeNumber home(PageNumber page) const noexcept { return read(page).home; }

    // Gives the pages of an allocation their homes. On all nodes alike, before any node touches them.
    void assign(PageNumber first, std::uint64_t count, const HomeRule& rule) const noexcept {
        for (std::uint64_t i = 0; i < count; ++i) {
            HomeWord word;
            word.home = home_by_rule(rule, i, count, nodes_);
            word.is_migrating = rule.is_migrating;
            if (rule.policy == HomePolicy::first_writer) {
                word.is_migrating = true;
                word.last_writer = several_nodes;
            }
            words_[first + i].store(word.packed(), std::memory_order_relaxed);
        }
    }

    // A node touches a page without a home. At the arbiter: decides; elsewhere: notes the decision.
    // Returns the home, which is `node` unless another one was first.
    NodeNumber claim(PageNumber page, NodeNumber node) const noexcept {
        std::uint64_t seen = words_[page].load(std::memory_order_relaxed);
        for (;;) {
            HomeWord next = HomeWord::unpacked(seen);
            if (next.home != no_node) return next.home;
            next.home = node;
            if (change(page, seen, next)) return node;
        }
    }

    // Moves a page to a node. On all nodes alike, in a barrier.
    void set_home(PageNumber page, NodeNumber node) const noexcept {
        HomeWord word = read(page);
        word.home = node;
        if (word.awaits_first_writer()) word.is_migrating = false;
        word.last_writer = no_node;
        words_[page].store(word.packed(), std::memory_order_relaxed);
    }

    // Decides in a barrier whether a written page moves: to the node that alone wrote it in two
    // epochs running of those in which it was written. On all nodes alike, for each page that the
    // merged notices say was written. Repeating a decision changes nothing and returns the same.
    //   writer    a node, or several_nodes
    //   epoch     of the barrier
    //   may_move  false: the page stays, and the writer is a candidate of the next decision; a page
    //             that awaits its first writer awaits it still
    // Returns whether its home moved to the writer.
    [[nodiscard]] bool decide(PageNumber page,
                              NodeNumber writer,
                              std::uint64_t epoch,
                              bool may_move) const noexcept {
        const HomeWord now = read(page);
        const auto epoch_bits = static_cast<std::uint32_t>(epoch % HomeWord::epochs);
        if (now.epoch == epoch_bits) return now.has_moved;
        if (!now.is_migrating) return false;
        HomeWord next = now;
        next.epoch = epoch_bits;
        if (now.awaits_first_writer()) {
            next.has_moved = may_move && writer != several_nodes && writer != now.home;
            next.is_migrating = !may_move;
            if (may_move) next.last_writer = no_node;
        } else {
            next.has_moved = may_move && writer == now.last_writer;
            const bool is_candidate =
                writer != several_nodes && writer != (next.has_moved ? writer : now.home);
            next.last_writer = is_candidate ? writer : no_node;
        }
        if (next.has_moved) next.home = writer;
        words_[page].store(next.packed(), std::memory_order_relaxed);
        return next.has_moved;
    }

private:
    // relaxed: the word alone is meant; the barrier orders it with the bytes of the page.
    [[nodiscard]] HomeWord read(PageNumber page) const noexcept {
        return HomeWord::unpacked(words_[page].load(std::memory_order_relaxed));
    }

    bool change(PageNumber page, std::uint64_t& seen, const HomeWord& next) const noexcept {
        return words_[page].compare_exchange_strong(seen, next.packed(), std::memory_order_relaxed,
                                                    std::memory_order_relaxed);
    }

    Word* words_;
    std::uint64_t pages_;
    NodeNumber nodes_;
};

}  // namespace acp::pages
