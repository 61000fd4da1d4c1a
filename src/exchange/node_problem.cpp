// SPDX-License-Identifier: BSD-3-Clause
// Builds a problem from a torus and offsets, and computes the rates of few flows quickly. Any
// thread.
#include "exchange/node_problem.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace acp::exchange {

using base::Code;
using base::Result;
using base::Status;

namespace {

using Steps = std::array<std::int32_t, torus_dimensions_max>;

// "E", "NW" for neighbours in two dimensions, where the first dimension grows to the east and the
// second to the north; otherwise the steps.
std::string name_of(const Steps& steps, std::size_t dimensions) {
    const auto is_near = [](std::int32_t step) { return std::abs(step) <= 1; };
    if (dimensions <= 2 && std::all_of(steps.begin(), steps.end(), is_near)) {
        std::string name = steps[1] > 0 ? "N" : steps[1] < 0 ? "S" : "";
        return name + (steps[0] > 0 ? "E" : steps[0] < 0 ? "W" : "");
    }
    std::string name = "(";
    for (std::size_t i = 0; i < dimensions; ++i) {
        name +=
            (i == 0 ? "" : ",") + std::string(steps[i] > 0 ? "+" : "") + std::to_string(steps[i]);
    }
    return name + ")";
}

// The steps of a message by the shorter way round each ring.
Steps steps_of(const NetworkModel& torus, const OffsetMessage& message) {
    Steps steps{};
    for (std::size_t i = 0; i < torus.torus.size(); ++i) {
        const auto ring = static_cast<std::int64_t>(torus.torus[i]);
        const std::int64_t at = (message.offset[i] % ring + ring) % ring;
        const bool is_half_round = 2 * at == ring;
        steps[i] = steps_between(0, static_cast<std::uint32_t>(at), torus.torus[i]);
        // If both ways round a ring are equally long, the sign of the offset selects one.
        if (is_half_round && message.offset[i] < 0) steps[i] = -steps[i];
    }
    return steps;
}

std::uint8_t dimensions_of(const Steps& steps) {
    return static_cast<std::uint8_t>(
        std::count_if(steps.begin(), steps.end(), [](std::int32_t step) { return step != 0; }));
}

}  // namespace

Result<NodeProblem> NodeProblem::symmetric(const NetworkModel& torus,
                                           std::span<const OffsetMessage> messages) {
    if (torus.torus.empty()) {
        return Status(Code::argument, "one node stands for all on a torus alone");
    }
    if (messages.empty() || messages.size() > pattern_messages_max) {
        return Status(Code::limit, "a pattern has 1 .. " + std::to_string(pattern_messages_max) +
                                       " messages, not " + std::to_string(messages.size()));
    }
    NodeProblem problem;
    problem.node_ = torus.node;
    problem.node_.injection_rate = std::min(torus.node.injection_rate, torus.node.reception_rate);
    const std::size_t directions = 2 * torus.torus.size();
    problem.link_rates_.assign(directions, rate_max);
    for (std::size_t i = 0; i < torus.links.size(); ++i) {
        double& rate = problem.link_rates_[i % directions];
        rate = std::min(rate, torus.links[i].rate);
    }
    Status status = problem.add(torus, messages);
    if (!status.is_ok()) return status;
    problem.finish();
    return problem;
}

Status NodeProblem::add(const NetworkModel& torus, std::span<const OffsetMessage> messages) {
    // Sorted by the number of dimensions, then by first appearance.
    std::map<Steps, std::uint32_t> appearance;
    std::vector<Steps> steps;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        steps.push_back(steps_of(torus, messages[i]));
        if (messages[i].bytes == 0 || messages[i].bytes > message_bytes_max) {
            return {Code::argument, "message " + std::to_string(i) + " has " +
                                        std::to_string(messages[i].bytes) + " bytes"};
        }
        if (dimensions_of(steps[i]) == 0) {
            return {Code::argument, "message " + std::to_string(i) + " goes to its own node"};
        }
        appearance.try_emplace(steps[i], static_cast<std::uint32_t>(appearance.size()));
    }
    if (appearance.size() > route_classes_max) {
        return {Code::limit, "a pattern has at most " + std::to_string(route_classes_max) +
                                 " different offsets"};
    }
    std::vector<std::tuple<std::uint8_t, std::uint32_t, Steps>> order;
    order.reserve(appearance.size());
    for (const auto& [way, first] : appearance) order.emplace_back(dimensions_of(way), first, way);
    std::sort(order.begin(), order.end());
    std::map<Steps, ClassIndex> index;
    for (const auto& [dimensions, first, way] : order) {
        index[way] = static_cast<ClassIndex>(classes_.size());
        RouteClass one;
        one.dimensions = dimensions;
        one.name = name_of(way, torus.torus.size());
        uses_.resize(uses_.size() + link_rates_.size());
        std::uint32_t hops = 0;
        for (std::size_t i = 0; i < torus.torus.size(); ++i) {
            const auto count = static_cast<std::uint32_t>(std::abs(way[i]));
            const std::size_t link = 2 * i + (way[i] > 0 ? 0 : 1);
            hops += count;
            if (hops > route_links_max) {
                return {Code::limit, "the way to " + one.name + " has more than " +
                                         std::to_string(route_links_max) + " hops"};
            }
            if (count == 0) continue;
            one.links |= std::uint64_t{1} << link;
            uses_[classes_.size() * link_rates_.size() + link] = static_cast<std::uint8_t>(count);
        }
        one.hops = static_cast<std::uint8_t>(hops);
        classes_.push_back(std::move(one));
    }
    for (std::size_t i = 0; i < messages.size(); ++i) {
        messages_.push_back({static_cast<double>(messages[i].bytes), index[steps[i]]});
    }
    return {};
}

// Computes the tables that share() reads.
void NodeProblem::finish() {
    masks_.clear();
    spread_masks_.clear();
    rates_max_.clear();
    is_used_twice_ = false;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
        RouteClass& one = classes_[c];
        one.rate_max = std::min(node_.engine_rate, node_.injection_rate);
        for (unsigned link = 0; link < link_rates_.size(); ++link) {
            const unsigned count = uses(static_cast<ClassIndex>(c), link);
            if (count != 0) one.rate_max = std::min(one.rate_max, link_rates_[link] / count);
            is_used_twice_ = is_used_twice_ || count > 1;
        }
        masks_.push_back(one.links);
        std::uint64_t spread = 0;
        for (std::uint64_t left = one.links; left != 0; left &= left - 1) {
            spread |= std::uint64_t{1}
                      << keyed_flows_max * static_cast<unsigned>(std::countr_zero(left));
        }
        spread_masks_.push_back(spread);
        rates_max_.push_back(one.rate_max);
    }
    common_rate_ = rates_max_.front();
    for (const double rate : rates_max_) {
        if (rate != common_rate_) common_rate_ = 0;
    }
    is_plain_ = common_rate_ > 0 && !is_used_twice_ && node_.link_loss == 0;
    std::uint64_t used = 0;
    for (const std::uint64_t links : masks_) used |= links;
    const double rate = link_rates_[static_cast<std::size_t>(std::countr_zero(used))];
    are_links_alike_ = is_plain_;
    for (; used != 0; used &= used - 1) {
        if (link_rates_[static_cast<std::size_t>(std::countr_zero(used))] != rate)
            are_links_alike_ = false;
    }
}

NodeProblem NodeProblem::with_messages(std::vector<ProblemMessage> messages) const {
    NodeProblem other = *this;
    other.messages_ = std::move(messages);
    return other;
}

NodeProblem NodeProblem::with_rates(const NodeRates& node, double link_factor) const {
    NodeProblem other = *this;
    other.node_ = node;
    other.node_.injection_rate = std::min(node.injection_rate, node.reception_rate);
    for (double& rate : other.link_rates_) rate *= link_factor;
    other.finish();
    return other;
}

NodeProblem NodeProblem::along(const std::vector<OneWay>& ways) const {
    NodeProblem other;
    other.node_ = node_;
    other.link_rates_ = link_rates_;
    std::map<std::pair<unsigned, unsigned>, ClassIndex> index;
    for (const OneWay& way : ways) {
        const auto [place, is_new] =
            index.try_emplace({way.link, way.hops}, static_cast<ClassIndex>(other.classes_.size()));
        if (is_new) {
            Steps steps{};
            const auto hops = static_cast<std::int32_t>(way.hops);
            steps[way.link / 2] = way.link % 2 == 0 ? hops : -hops;
            other.uses_.resize(other.uses_.size() + link_rates_.size());
            other.uses_[other.classes_.size() * link_rates_.size() + way.link] =
                static_cast<std::uint8_t>(way.hops);
            other.classes_.push_back({std::uint64_t{1} << way.link, 0,
                                      static_cast<std::uint8_t>(way.hops), 1,
                                      name_of(steps, link_rates_.size() / 2)});
        }
        other.messages_.push_back({way.bytes, place->second});
    }
    other.finish();
    return other;
}

namespace {

constexpr double just_above = 1 + 1e-9;

// 1 / n for small numbers of users.
constexpr auto inverses = [] {
    std::array<double, engines_max + 1> values{};
    for (std::size_t n = 1; n < values.size(); ++n) values[n] = 1.0 / static_cast<double>(n);
    return values;
}();

// The level at which `users` flows fill the rest of a link.
template <bool is_plain>
double level_of(double left, unsigned users) noexcept {
    if (users == 0) return 1e300;
    return is_plain || users <= engines_max ? left * inverses[users] : left / users;
}

}  // namespace

// A link that several flows use. Sets of flows are bits.
struct NodeProblem::SharedLink {
    unsigned members;
    unsigned link;
    double left;   // rate left beside the flows with final rates
    double level;  // level at which the link is full
};

// How often a set of flows uses a link.
template <bool is_plain>
unsigned NodeProblem::uses_of(const ClassIndex* flows, unsigned set, unsigned link) const noexcept {
    if (is_plain || !is_used_twice_) return static_cast<unsigned>(std::popcount(set));
    unsigned count = 0;
    for (; set != 0; set &= set - 1) count += uses(flows[std::countr_zero(set)], link);
    return count;
}

// The least rate_max among a set of flows.
template <bool is_plain>
double NodeProblem::least_rate_max(const ClassIndex* flows, unsigned set) const noexcept {
    if (is_plain || common_rate_ > 0) return common_rate_;
    double least = 1e300;
    for (; set != 0; set &= set - 1)
        least = std::min(least, rates_max_[flows[std::countr_zero(set)]]);
    return least;
}

// The flows of a set whose rate_max is at most this rate.
template <bool is_plain>
unsigned NodeProblem::at_their_rate(const ClassIndex* flows,
                                    unsigned set,
                                    double rate) const noexcept {
    if (is_plain || common_rate_ > 0) return common_rate_ <= rate ? set : 0;
    unsigned those = 0;
    for (; set != 0; set &= set - 1) {
        if (rates_max_[flows[std::countr_zero(set)]] <= rate) those |= set & (~set + 1);
    }
    return those;
}

template <bool is_plain>
unsigned NodeProblem::collect_shared(const ClassIndex* flows,
                                     unsigned count,
                                     std::uint64_t shared,
                                     SharedLink* links) const noexcept {
    unsigned link_count = 0;
    for (; shared != 0; shared &= shared - 1) {
        const auto link = static_cast<unsigned>(std::countr_zero(shared));
        unsigned members = 0;
        for (unsigned i = 0; i < count; ++i)
            members |= static_cast<unsigned>(masks_[flows[i]] >> link & 1U) << i;
        double rate = link_rates_[link];
        if (!is_plain && node_.link_loss > 0)
            rate *= std::max(1 - node_.link_loss * (std::popcount(members) - 1), 0.05);
        links[link_count++] = {members, link, rate, 0};
    }
    return link_count;
}

// Progressive filling of injection and of the links that several flows use; other links are in a
// flow's rate_max.
template <bool is_plain>
void NodeProblem::share_links(const ClassIndex* flows,
                              unsigned count,
                              std::uint64_t shared,
                              double* rates) const noexcept {
    SharedLink links[problem_links_max];
    const unsigned link_count = collect_shared<is_plain>(flows, count, shared, links);
    unsigned rising = (1U << count) - 1;
    double injection = node_.injection_rate;
    for (;;) {
        // The level to which all rising flows can rise together.
        const double injection_level =
            injection * inverses[static_cast<unsigned>(std::popcount(rising))];
        double level = std::min(injection_level, least_rate_max<is_plain>(flows, rising));
        for (unsigned k = 0; k < link_count; ++k) {
            const unsigned users =
                uses_of<is_plain>(flows, links[k].members & rising, links[k].link);
            links[k].level = level_of<is_plain>(links[k].left, users);
            level = std::min(level, links[k].level);
        }
        // The flows that cannot rise further.
        const double full = level * just_above;
        unsigned stopped =
            injection_level <= full ? rising : at_their_rate<is_plain>(flows, rising, full);
        for (unsigned k = 0; k < link_count; ++k)
            stopped |= links[k].level <= full ? links[k].members & rising : 0;
        for (unsigned set = stopped; set != 0; set &= set - 1) rates[std::countr_zero(set)] = level;
        rising &= ~stopped;
        if (rising == 0) return;
        injection -= level * std::popcount(stopped);
        for (unsigned k = 0; k < link_count; ++k) {
            links[k].left -=
                level * uses_of<is_plain>(flows, links[k].members & stopped, links[k].link);
        }
    }
}

void NodeProblem::share(const ClassIndex* flows, unsigned count, double* rates) const noexcept {
    std::uint64_t seen = 0;
    std::uint64_t shared = 0;
    for (unsigned i = 0; i < count; ++i) {
        const std::uint64_t links = masks_[flows[i]];
        shared |= seen & links;
        seen |= links;
    }
    if (shared != 0 || common_rate_ == 0) {
        return is_plain_ ? share_links<true>(flows, count, shared, rates)
                         : share_links<false>(flows, count, shared, rates);
    }
    const double rate = std::min(common_rate_, node_.injection_rate / count);
    for (unsigned i = 0; i < count; ++i) rates[i] = rate;
}

}  // namespace acp::exchange
