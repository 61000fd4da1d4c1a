// SPDX-License-Identifier: BSD-3-Clause
// The messages of one node, its engines and its links: the problem that the schedulers of a
// symmetric pattern solve. If every node of a torus sends the same messages, all nodes are in step,
// and the traffic that arrives on a node's links mirrors its own; so one node stands for all, and
// the receive engine mirrors the sending engine. A route is a set of links as bits. Values; any
// thread.
// Source: docs/guide/exchange.md. Tests: tests/unit/exchange/node_problem_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "exchange/network_model.hpp"

namespace acp::exchange {

inline constexpr std::size_t pattern_messages_max = 1U << 20;
inline constexpr std::uint64_t message_bytes_max = std::uint64_t{1} << 50;
inline constexpr std::size_t problem_links_max = 64;
inline constexpr std::size_t route_classes_max = 1U << 12;

using ClassIndex = std::uint16_t;

// The most flows for which NodeProblem::sharing_key() exists.
inline constexpr unsigned keyed_flows_max = 4;

// One message of every node of a torus, to the node at that offset.
struct OffsetMessage {
    std::array<std::int32_t, torus_dimensions_max> offset{};
    std::uint64_t bytes = 0;
};

// The messages of one class take the same links. Classes are sorted: those along one dimension
// first.
struct RouteClass {
    std::uint64_t links = 0;  // bits
    double rate_max = 0;      // rate of a flow that runs alone
    std::uint8_t hops = 0;
    std::uint8_t dimensions = 0;  // a diagonal has more than one
    std::string name;             // "E", "NW", "(+2,0,-1)"
};

struct ProblemMessage {
    double bytes = 0;
    ClassIndex route_class = 0;
};

// Bytes along one link direction.
struct OneWay {
    unsigned link = 0;
    unsigned hops = 1;
    double bytes = 0;
};

class NodeProblem {
public:
    // The problem of every node if all nodes of a torus send the same messages. Errors: argument
    // (no torus, a message without bytes or to its own node), limit.
    [[nodiscard]] static base::Result<NodeProblem> symmetric(
        const NetworkModel& torus, std::span<const OffsetMessage> messages);

    [[nodiscard]] const NodeRates& node() const noexcept { return node_; }

    [[nodiscard]] unsigned engines() const noexcept { return node_.engines; }

    [[nodiscard]] const std::vector<double>& link_rates() const noexcept { return link_rates_; }

    [[nodiscard]] const std::vector<RouteClass>& classes() const noexcept { return classes_; }

    [[nodiscard]] const std::vector<ProblemMessage>& messages() const noexcept { return messages_; }

    // How often a route uses a link: more than once if it has several hops in one direction.
    [[nodiscard]] unsigned uses(ClassIndex route_class, unsigned link) const noexcept {
        return uses_[route_class * link_rates_.size() + link];
    }

    // This network with other messages of the same classes.
    [[nodiscard]] NodeProblem with_messages(std::vector<ProblemMessage> messages) const;

    // These messages with other node rates, and with all link rates multiplied by a factor.
    [[nodiscard]] NodeProblem with_rates(const NodeRates& node, double link_factor) const;

    // This network with messages along single dimensions.
    //   ways  at least one; links of this problem
    [[nodiscard]] NodeProblem along(const std::vector<OneWay>& ways) const;

    // Computes max-min fair rates of flows that run at once.
    //   flows  classes; 1 .. engines_max of them
    //   rates  receives one rate per flow
    void share(const ClassIndex* flows, unsigned count, double* rates) const noexcept;

    // A key for the way in which few flows share: with equal keys, share() returns the same rates.
    // Never 0.
    //   count  1 .. keyed_flows_max
    [[nodiscard]] std::uint64_t sharing_key(const ClassIndex* flows,
                                            unsigned count) const noexcept {
        if (are_links_alike_) return sets_that_share(flows, count);
        std::uint64_t key = 0;
        for (unsigned i = 0; i < count; ++i) key = key << class_bits | (flows[i] + 1U);
        return key;
    }

    // The least time for one message of a class, sent alone.
    [[nodiscard]] double alone_us(const ProblemMessage& message) const noexcept {
        return message.bytes / classes_[message.route_class].rate_max;
    }

private:
    NodeProblem() = default;
    [[nodiscard]] base::Status add(const NetworkModel& torus,
                                   std::span<const OffsetMessage> messages);
    void finish();
    struct SharedLink;

    // Each of these has a version for plain problems (is_plain_), and one for all.
    template <bool is_plain>
    [[nodiscard]] unsigned uses_of(const ClassIndex* flows,
                                   unsigned set,
                                   unsigned link) const noexcept;
    template <bool is_plain>
    [[nodiscard]] double least_rate_max(const ClassIndex* flows, unsigned set) const noexcept;
    template <bool is_plain>
    [[nodiscard]] unsigned at_their_rate(const ClassIndex* flows,
                                         unsigned set,
                                         double rate) const noexcept;
    template <bool is_plain>
    unsigned collect_shared(const ClassIndex* flows,
                            unsigned count,
                            std::uint64_t shared,
                            SharedLink* links) const noexcept;
    template <bool is_plain>
    void share_links(const ClassIndex* flows,
                     unsigned count,
                     std::uint64_t shared,
                     double* rates) const noexcept;

    static constexpr unsigned class_bits = 16;
    static constexpr std::uint64_t sets_of_several = 0b1111'1110'1110'1000;
    static_assert(2 * torus_dimensions_max * keyed_flows_max <= 64);

    // If all links are alike, only these matter: the number of flows, and the sets of several flows
    // for which some link is used by exactly that set. Bit s stands for the set s of flows, which
    // is itself a bit set.
    [[nodiscard]] std::uint64_t sets_that_share(const ClassIndex* flows,
                                                unsigned count) const noexcept {
        std::uint64_t users = 0;  // per link, the set of flows that use it
        for (unsigned i = 0; i < count; ++i) users |= spread_masks_[flows[i]] << i;
        std::uint64_t sets = 0;
        for (std::size_t link = 0; link < link_rates_.size(); ++link) {
            sets |= std::uint64_t{1} << (users & 15);
            users >>= keyed_flows_max;
        }
        return (sets & sets_of_several) | std::uint64_t{1} << (16 + count);
    }

    NodeRates node_;  // injection_rate: the lesser of injection and reception
    std::vector<double> link_rates_;
    std::vector<RouteClass> classes_;
    std::vector<ProblemMessage> messages_;
    std::vector<std::uint8_t> uses_;           // indexed by class and link
    std::vector<std::uint64_t> masks_;         // RouteClass::links, close together
    std::vector<std::uint64_t> spread_masks_;  // masks_ with keyed_flows_max bits for each link
    std::vector<double> rates_max_;            // RouteClass::rate_max
    double common_rate_ = 0;                   // rate_max of all classes; 0: they differ
    bool is_used_twice_ = false;               // some route uses some link more than once
    bool is_plain_ = false;         // all have common_rate_; no link is used twice or has loss
    bool are_links_alike_ = false;  // is_plain_, and all used links have the same rate
};

}  // namespace acp::exchange
