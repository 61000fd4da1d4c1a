// SPDX-License-Identifier: BSD-3-Clause
// Computes a node's steps from the number of nodes.
#include "team/node_steps.hpp"

#include <algorithm>
#include <bit>

namespace acp::team {

namespace {

// A power of two of the nodes combines pairwise. Each of the `rest` others, which are odd ones at
// the begin, sends its elements to the node before it, and gets the result from there.
class Pairs {
public:
    Pairs(std::uint32_t nodes, std::uint32_t own) noexcept
        : size_(std::bit_floor(nodes)), rest_(nodes - size_), own_(own) {}

    [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

    // Whether another node combines the caller's elements.
    [[nodiscard]] bool is_odd() const noexcept { return is_in_front() && own_ % 2 == 1; }

    // Whether the node combines the elements of the next one.
    [[nodiscard]] bool has_odd() const noexcept { return is_in_front() && own_ % 2 == 0; }

    // The partner at a distance, which is a power of two.
    [[nodiscard]] std::uint32_t partner(std::uint32_t distance) const noexcept {
        const std::uint32_t place = (is_in_front() ? own_ / 2 : own_ - rest_) ^ distance;
        return place < rest_ ? 2 * place : place + rest_;
    }

private:
    [[nodiscard]] bool is_in_front() const noexcept { return own_ < 2 * rest_; }

    std::uint32_t size_;
    std::uint32_t rest_;
    std::uint32_t own_;
};

Received order(std::uint32_t partner, std::uint32_t own) noexcept {
    return partner < own ? Received::is_first : Received::is_second;
}

void double_whole(std::vector<NodeStep>& steps,
                  const Pairs& pairs,
                  std::uint32_t own,
                  std::uint64_t count) {
    const StepRange all{0, count};
    for (std::uint32_t distance = 1; distance < pairs.size(); distance *= 2) {
        const std::uint32_t partner = pairs.partner(distance);
        steps.push_back({partner, all, partner, all, order(partner, own)});
    }
}

// Halving: of two partners the earlier one keeps the first half of the range that both have, the
// other one the second half. Doubling goes the same way back.
void halve_and_double(std::vector<NodeStep>& steps,
                      const Pairs& pairs,
                      std::uint32_t own,
                      std::uint64_t count) {
    const std::size_t first = steps.size();
    StepRange kept{0, count};
    for (std::uint32_t distance = 1; distance < pairs.size(); distance *= 2) {
        const std::uint32_t partner = pairs.partner(distance);
        const StepRange low{kept.begin, kept.count / 2};
        const StepRange high{kept.begin + low.count, kept.count - low.count};
        kept = own < partner ? low : high;
        const StepRange given = own < partner ? high : low;
        steps.push_back({partner, given, partner, kept, order(partner, own)});
    }
    for (std::size_t i = steps.size(); i > first; --i) {
        const NodeStep halving = steps[i - 1];
        const std::uint32_t partner = halving.to;
        steps.push_back({partner, halving.received, partner, halving.sent, Received::is_result});
    }
}

}  // namespace

std::vector<NodeStep> all_reduce_steps(std::uint32_t nodes,
                                       std::uint32_t own,
                                       std::uint64_t count,
                                       bool is_split) {
    const Pairs pairs(nodes, own);
    const StepRange all{0, count};
    std::vector<NodeStep> steps;
    if (pairs.is_odd()) {
        steps.push_back({own - 1, all, NodeStep::nobody, {}, Received::none});
        steps.push_back({NodeStep::nobody, {}, own - 1, all, Received::is_result});
        return steps;
    }
    if (pairs.has_odd()) steps.push_back({NodeStep::nobody, {}, own + 1, all, Received::is_second});
    if (is_split && count >= pairs.size()) {
        halve_and_double(steps, pairs, own, count);
    } else {
        double_whole(steps, pairs, own, count);
    }
    if (pairs.has_odd()) steps.push_back({own + 1, all, NodeStep::nobody, {}, Received::none});
    return steps;
}

std::vector<NodeStep> reduce_steps(std::uint32_t nodes,
                                   std::uint32_t own,
                                   std::uint64_t count,
                                   std::uint32_t root) {
    const StepRange all{0, count};
    std::vector<NodeStep> steps;
    std::uint32_t distance = 1;
    for (; distance < nodes && own % (2 * distance) == 0; distance *= 2) {
        if (own + distance < nodes)
            steps.push_back({NodeStep::nobody, {}, own + distance, all, Received::is_second});
    }
    if (own != 0) steps.push_back({own - distance, all, NodeStep::nobody, {}, Received::none});
    if (root != 0 && own == 0) steps.push_back({root, all, NodeStep::nobody, {}, Received::none});
    if (root != 0 && own == root)
        steps.push_back({NodeStep::nobody, {}, 0, all, Received::is_result});
    return steps;
}

std::vector<NodeStep> gather_steps(std::uint32_t nodes, std::uint32_t own) {
    std::vector<NodeStep> steps;
    for (std::uint32_t distance = 1; distance < nodes; distance *= 2) {
        const std::uint32_t from = (own + distance) % nodes;
        const std::uint64_t count = std::min(distance, nodes - distance);
        steps.push_back({(own + nodes - distance) % nodes,
                         {own, count},
                         from,
                         {from, count},
                         Received::is_result});
    }
    return steps;
}

}  // namespace acp::team
