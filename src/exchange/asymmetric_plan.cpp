// SPDX-License-Identifier: BSD-3-Clause
// Chooses receive engines, queues messages, computes bounds. Any thread.
#include "exchange/asymmetric_plan.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "exchange/route_finder.hpp"

namespace acp::exchange {

using base::Code;
using base::Result;
using base::Status;

namespace {

// of the longest message left: such a message is not much shorter
constexpr std::uint64_t shorter_max_percent = 67;
// How many messages a free engine considers, so that planning stays linear.
constexpr unsigned candidates_max = 64;

// Indices, longest first.
template <typename BytesOf>
std::vector<std::uint32_t> longest_first_order(std::size_t count, const BytesOf& bytes_of) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t first, std::uint32_t second) {
        return bytes_of(first) > bytes_of(second);
    });
    return order;
}

Status check_copies(const NetworkModel& model, std::span<const PatternCopy> copies) {
    for (std::size_t i = 0; i < copies.size(); ++i) {
        const PatternCopy& copy = copies[i];
        if (copy.from < model.nodes && copy.to < model.nodes && copy.from != copy.to) continue;
        return {Code::argument, "message " + std::to_string(i) + " goes from node " +
                                    std::to_string(copy.from) + " to node " +
                                    std::to_string(copy.to) + " in a network of " +
                                    std::to_string(model.nodes)};
    }
    return {};
}

// The queues of a source while they are being filled.
class SourceQueues {
public:
    SourceQueues(std::span<const LeavingMessage> messages, const NodeRates& node)
        : messages_(messages),
          rate_(node.engine_rate),
          queues_(node.engines),
          left_(longest_first_order(messages.size(),
                                    [&](std::uint32_t i) { return messages[i].bytes; })) {
        for (unsigned e = 0; e < node.engines; ++e) end_us_[e] = node.stair_us * e;
    }

    std::vector<std::vector<std::uint32_t>> make() {
        // Messages are taken from the front of `left_`; taking one further behind moves those
        // before it back by one place.
        for (std::size_t first = 0; first < left_.size(); ++first) {
            const auto begin = end_us_.begin();
            const auto engines = static_cast<std::ptrdiff_t>(queues_.size());
            const auto engine =
                static_cast<std::size_t>(std::min_element(begin, begin + engines) - begin);
            const std::size_t taken = taken_place(first, engine);
            std::rotate(left_.begin() + static_cast<std::ptrdiff_t>(first),
                        left_.begin() + static_cast<std::ptrdiff_t>(taken),
                        left_.begin() + static_cast<std::ptrdiff_t>(taken) + 1);
            const std::uint32_t message = left_[first];
            queues_[engine].push_back(message);
            end_us_[engine] += static_cast<double>(messages_[message].bytes) / rate_;
        }
        return std::move(queues_);
    }

private:
    // The place in left_ of the message that a free engine takes.
    [[nodiscard]] std::size_t taken_place(std::size_t first, std::size_t engine) const {
        const std::uint64_t longest = messages_[left_[first]].bytes;
        const std::size_t end = std::min(left_.size(), first + candidates_max);
        for (std::size_t i = first; i < end; ++i) {
            const LeavingMessage& message = messages_[left_[i]];
            if (message.bytes < longest / 100 * shorter_max_percent) break;
            if (!is_link_busy(message.first_link, engine)) return i;
        }
        return first;
    }

    // Whether another engine sends over a link at the time when this one is free.
    [[nodiscard]] bool is_link_busy(ModelLinkIndex link, std::size_t engine) const {
        for (std::size_t e = 0; e < queues_.size(); ++e) {
            const bool is_sending = !queues_[e].empty() && end_us_[e] > end_us_[engine];
            if (is_sending && messages_[queues_[e].back()].first_link == link) return true;
        }
        return false;
    }

    std::span<const LeavingMessage> messages_;
    double rate_;
    std::vector<std::vector<std::uint32_t>> queues_;
    std::vector<std::uint32_t> left_;
    std::array<double, engines_max> end_us_{};
};

// The receive engine that the target has chosen, for each copy.
std::vector<std::uint32_t> chosen_engines(const NetworkModel& model,
                                          std::span<const PatternCopy> copies) {
    std::vector<std::vector<std::uint32_t>> arriving(model.nodes);
    for (std::uint32_t i = 0; i < copies.size(); ++i) arriving[copies[i].to].push_back(i);
    std::vector<std::uint32_t> chosen(copies.size());
    std::vector<std::uint64_t> bytes;
    for (const auto& those : arriving) {
        bytes.clear();
        for (const std::uint32_t i : those) bytes.push_back(copies[i].bytes);
        const auto engines = choose_receive_engines(bytes, model.node.engines);
        for (std::size_t i = 0; i < those.size(); ++i) chosen[those[i]] = engines[i];
    }
    return chosen;
}

}  // namespace

std::vector<std::uint32_t> choose_receive_engines(std::span<const std::uint64_t> arriving_bytes,
                                                  unsigned engines) {
    std::vector<std::uint32_t> chosen(arriving_bytes.size());
    std::vector<std::uint64_t> load(engines);
    for (const std::uint32_t i :
         longest_first_order(chosen.size(), [&](std::uint32_t k) { return arriving_bytes[k]; })) {
        const auto least = std::min_element(load.begin(), load.end());
        chosen[i] = static_cast<std::uint32_t>(least - load.begin());
        *least += arriving_bytes[i];
    }
    return chosen;
}

std::vector<std::vector<std::uint32_t>> queue_messages(std::span<const LeavingMessage> messages,
                                                       const NodeRates& node) {
    return SourceQueues(messages, node).make();
}

Result<std::vector<FluidQueue>> plan_copies(const NetworkModel& model,
                                            std::span<const PatternCopy> copies,
                                            ReceiveEngines receive) {
    Status status = check_copies(model, copies);
    if (!status.is_ok()) return status;
    const auto chosen = chosen_engines(model, copies);
    std::vector<std::vector<std::uint32_t>> leaving(model.nodes);
    for (std::uint32_t i = 0; i < copies.size(); ++i) leaving[copies[i].from].push_back(i);
    RouteFinder finder(model);
    std::vector<FluidQueue> all;
    std::vector<LeavingMessage> messages;
    for (ModelNode node = 0; node < model.nodes; ++node) {
        messages.clear();
        for (const std::uint32_t i : leaving[node]) {
            auto route = finder.find(node, copies[i].to);
            if (!route.is_ok()) return std::move(route).failure();
            messages.push_back({copies[i].bytes, route.value().front()});
        }
        const auto queues = queue_messages(messages, model.node);
        for (std::uint32_t engine = 0; engine < queues.size(); ++engine) {
            FluidQueue queue{node, engine, 0, {}};
            for (const std::uint32_t place : queues[engine]) {
                const std::uint32_t i = leaving[node][place];
                queue.commands.push_back({copies[i].to,
                                          receive == ReceiveEngines::of_target ? chosen[i] : engine,
                                          static_cast<double>(copies[i].bytes)});
            }
            if (!queue.commands.empty()) all.push_back(std::move(queue));
        }
    }
    return all;
}

Result<double> copies_bound_us(const NetworkModel& model, std::span<const PatternCopy> copies) {
    Status status = check_copies(model, copies);
    if (!status.is_ok()) return status;
    const NodeRates& node = model.node;
    RouteFinder finder(model);
    std::vector<double> sent(model.nodes), received(model.nodes), carried(model.links.size());
    double bound = 0;
    for (const PatternCopy& copy : copies) {
        const auto bytes = static_cast<double>(copy.bytes);
        auto route = finder.find(copy.from, copy.to);
        if (!route.is_ok()) return std::move(route).failure();
        for (const ModelLinkIndex link : route.value()) {
            carried[link] += bytes;
            bound = std::max(bound, bytes / model.links[link].rate);
        }
        sent[copy.from] += bytes;
        received[copy.to] += bytes;
        bound = std::max(bound, bytes / node.engine_rate);
    }
    for (std::size_t i = 0; i < carried.size(); ++i)
        bound = std::max(bound, carried[i] / model.links[i].rate);
    const double engines_rate = node.engines * node.engine_rate;
    for (ModelNode i = 0; i < model.nodes; ++i) {
        bound = std::max({bound, sent[i] / std::min(node.injection_rate, engines_rate),
                          received[i] / std::min(node.reception_rate, engines_rate)});
    }
    return bound;
}

}  // namespace acp::exchange
