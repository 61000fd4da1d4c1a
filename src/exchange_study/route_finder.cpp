// SPDX-License-Identifier: BSD-3-Clause
// Looks routes up, walks the torus, or searches backward from the target. One thread.
#include "exchange_study/route_finder.hpp"

#include <cstddef>
#include <limits>
#include <string>

namespace acp::exchange_study {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr std::uint32_t out_of_reach = std::numeric_limits<std::uint32_t>::max();

// Sorts link numbers by one of their ends (a counting sort): those of vertex v are at first[v] ..
// first[v + 1] - 1.
void sort_links(const exchange::NetworkModel& model,
                exchange::ModelNode exchange::ModelLink::*end,
                std::vector<exchange::ModelLinkIndex>& sorted,
                std::vector<std::uint32_t>& first) {
    first.assign(model.nodes + model.switches + 1, 0);
    for (const exchange::ModelLink& link : model.links) ++first[link.*end + 1];
    for (std::size_t v = 1; v < first.size(); ++v) first[v] += first[v - 1];
    sorted.resize(model.links.size());
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    for (exchange::ModelLinkIndex i = 0; i < model.links.size(); ++i)
        sorted[next[model.links[i].*end]++] = i;
}

}  // namespace

RouteFinder::RouteFinder(const exchange::NetworkModel& model) : model_(model) {
    sort_links(model, &exchange::ModelLink::from, leaving_, first_leaving_);
    sort_links(model, &exchange::ModelLink::to, arriving_, first_arriving_);
}

Result<std::vector<exchange::ModelLinkIndex>> RouteFinder::find(exchange::ModelNode source,
                                                                exchange::ModelNode target) {
    const auto ends = [&] { return std::to_string(source) + " to " + std::to_string(target); };
    if (source >= model_.nodes || target >= model_.nodes) {
        return Status(Code::argument, "no route from " + ends() + ": the network has nodes 0 .. " +
                                          std::to_string(model_.nodes - 1));
    }
    if (source == target) return std::vector<exchange::ModelLinkIndex>{};
    if (const auto listed = model_.routes.find({source, target}); listed != model_.routes.end()) {
        return listed->second;
    }
    auto links = model_.torus.empty() ? shortest(source, target) : along_torus(source, target);
    if (links.empty()) return Status(Code::argument, "no links lead from " + ends());
    if (links.size() > exchange::route_links_max) {
        return Status(Code::limit, "the route from " + ends() + " has " +
                                       std::to_string(links.size()) + " links, at most " +
                                       std::to_string(exchange::route_links_max) + " are allowed");
    }
    return links;
}

std::vector<exchange::ModelLinkIndex> RouteFinder::along_torus(exchange::ModelNode source,
                                                               exchange::ModelNode target) const {
    std::vector<exchange::ModelLinkIndex> links;
    auto place = exchange::place_of(model_, source);
    const auto goal = exchange::place_of(model_, target);
    const auto dimensions = static_cast<std::uint32_t>(model_.torus.size());
    for (std::uint32_t i = 0; i < dimensions; ++i) {
        const std::uint32_t ring = model_.torus[i];
        const bool is_forward = exchange::steps_between(place[i], goal[i], ring) > 0;
        while (place[i] != goal[i]) {
            links.push_back(exchange::node_at(model_, place) * 2 * dimensions + 2 * i +
                            (is_forward ? 0 : 1));
            place[i] = (place[i] + (is_forward ? 1 : ring - 1)) % ring;
        }
    }
    return links;
}

std::vector<exchange::ModelLinkIndex> RouteFinder::shortest(exchange::ModelNode source,
                                                            exchange::ModelNode target) {
    const std::vector<std::uint32_t>& distance = distances_to(target);
    std::vector<exchange::ModelLinkIndex> links;
    if (distance[source] == out_of_reach) return links;
    std::vector<exchange::ModelLinkIndex> nearer;
    for (exchange::ModelNode here = source; here != target; here = model_.links[links.back()].to) {
        nearer.clear();
        for (std::uint32_t k = first_leaving_[here]; k < first_leaving_[here + 1]; ++k) {
            if (distance[model_.links[leaving_[k]].to] + 1 == distance[here])
                nearer.push_back(leaving_[k]);
        }
        links.push_back(nearer[target % nearer.size()]);
    }
    return links;
}

const std::vector<std::uint32_t>& RouteFinder::distances_to(exchange::ModelNode target) {
    const auto [place, is_new] = distances_.try_emplace(target);
    if (!is_new) return place->second;
    std::vector<std::uint32_t>& distance = place->second;
    distance.assign(model_.nodes + model_.switches, out_of_reach);
    std::vector<exchange::ModelNode> front = {target};
    distance[target] = 0;
    for (std::size_t done = 0; done < front.size(); ++done) {
        const exchange::ModelNode here = front[done];
        for (std::uint32_t k = first_arriving_[here]; k < first_arriving_[here + 1]; ++k) {
            const exchange::ModelNode before = model_.links[arriving_[k]].from;
            if (distance[before] != out_of_reach) continue;
            distance[before] = distance[here] + 1;
            front.push_back(before);
        }
    }
    return distance;
}

}  // namespace acp::exchange_study
