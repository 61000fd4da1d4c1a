// SPDX-License-Identifier: BSD-3-Clause
// Writes one line for each partner and direction.
#include "execution/explanation.hpp"

#include <cstdio>
#include <string_view>
#include <vector>

namespace acp::execution {

namespace {

std::string counted(std::uint64_t count, std::string_view what) {
    return std::to_string(count).append(" ").append(what).append(count == 1 ? "" : "s");
}

void add_flow(std::string& text,
              std::string_view way,
              const Partner& partner,
              const PartnerFlow& flow) {
    if (flow.messages == 0) return;
    text.append(way).append(" member ").append(std::to_string(partner.rank));
    text.append(partner.head != nullptr ? " on this node: " : " on another node: ");
    text.append(counted(flow.messages, "message"))
        .append(" of ")
        .append(counted(flow.bytes, "byte"));
    if (flow.in_place != 0)
        text.append(", ").append(std::to_string(flow.in_place)).append(" in place");
    if (partner.head == nullptr) text.append(", in ").append(counted(flow.parcels, "parcel"));
    text.append("\n");
}

void add_prediction(std::string& text, const exchange::SendOrder& order) {
    if (order.predicted_us == 0) return;
    char line[160];
    std::snprintf(line, sizeof line,
                  "predicted: %.2f us; no plan takes less than %.2f us; gap at most %.2f %%\n",
                  order.predicted_us, order.bound_us,
                  100 * (order.predicted_us / order.bound_us - 1));
    text.append(line);
}

void add_planned_rails(std::string& text, const PlanRoutes& routes) {
    if (routes.rails.engines == 0 || routes.rails.rails == 1 || routes.parcels.empty()) return;
    std::vector<std::uint64_t> bytes(routes.rails.rails);
    for (const RoutedParcel& parcel : routes.parcels) bytes[parcel.rail] += parcel.bytes;
    text.append("bytes by rail, as planned:");
    for (std::size_t rail = 0; rail < bytes.size(); ++rail)
        text.append(rail != 0 ? ", " : " ").append(std::to_string(bytes[rail]));
    text.append("\n");
}

void add_rails(std::string& text, const RailBalance& balance) {
    if (!balance.is_on()) return;
    text.append("rails, by how fast they were lately:");
    for (unsigned rail = 0; rail < balance.rails(); ++rail) {
        char part[48];
        // Bytes per microsecond are MB/s.
        if (balance.rate(rail) > 0) {
            std::snprintf(part, sizeof part, " %.0f MB/s", balance.rate(rail));
        } else {
            std::snprintf(part, sizeof part, " unknown");
        }
        text.append(rail != 0 ? "," : "").append(part);
    }
    text.append(balance.has_left_plan() ? "; the last round did not use the plan's rails\n" : "\n");
}

}  // namespace

std::string explain(const PlanRoutes& routes,
                    const exchange::SendOrder& order,
                    const RailBalance& balance) {
    PartnerFlow sent, received;
    for (const Partner& partner : routes.partners) {
        sent.messages += partner.sent.messages;
        sent.bytes += partner.sent.bytes;
        received.messages += partner.received.messages;
        received.bytes += partner.received.bytes;
    }
    std::string text = "sends " + counted(sent.messages, "message") + " of " +
                       counted(sent.bytes, "byte") + ", receives " +
                       counted(received.messages, "message") + " of " +
                       counted(received.bytes, "byte") + ", takes " +
                       counted(routes.heap_bytes, "byte") + " of the heap\n";
    for (const Partner& partner : routes.partners) {
        add_flow(text, "to", partner, partner.sent);
        add_flow(text, "from", partner, partner.received);
    }
    add_prediction(text, order);
    add_planned_rails(text, routes);
    add_rails(text, balance);
    return text;
}

}  // namespace acp::execution
