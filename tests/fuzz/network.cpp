// SPDX-License-Identifier: BSD-3-Clause
// The text of a network model. Any input is accepted or refused with a message; an accepted model
// passes its check, is written as a text with the same meaning, and has routes that end at their
// destinations. One thread.
#include <algorithm>

#include "exchange/network_text.hpp"

#include "exchange_study/route_finder.hpp"
#include "fuzz/fuzz.hpp"

namespace acp::fuzz {

using exchange::ModelLinkIndex;
using exchange::ModelNode;

void run(Input& input) {
    const auto read = exchange::network_from_text(input.text());
    if (!read.is_ok()) return require(!read.failure().message().empty(), "a refusal has a message");
    const exchange::NetworkModel& model = read.value();
    require(exchange::check(model).is_ok(), "a parsed network passes its check");
    const std::string shown = exchange::text_of(model);
    const auto again = exchange::network_from_text(shown);
    require(again.is_ok() && exchange::text_of(again.value()) == shown,
            "the shown text parses to the same value");
    exchange_study::RouteFinder finder(model);
    const ModelNode source = model.nodes / 2;
    for (const ModelNode target : {ModelNode{0}, model.nodes - 1, model.nodes / 3}) {
        const auto route = finder.find(source, target);
        if (!route.is_ok()) continue;
        ModelNode here = source;
        for (const ModelLinkIndex link : route.value()) {
            require(model.links.at(link).from == here, "links follow each other");
            here = model.links[link].to;
        }
        require(here == target, "a route leads to its target");
    }
}

}  // namespace acp::fuzz
