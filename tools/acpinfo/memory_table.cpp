// SPDX-License-Identifier: BSD-3-Clause
// The parts of a node and of its gateway, divided by its ranks, rounded up.
#include "memory_table.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "memory/ga_layout.hpp"
#include "node/footprint.hpp"
#include "node/heap_limit.hpp"
#include "node/mailbox_layout.hpp"
#include "node/segment.hpp"

#include "claims/library_claims.hpp"
#include "engine/footprint.hpp"

namespace acp::acpinfo {

namespace {

using base::Table;

constexpr std::uint64_t procs_max = std::uint64_t{1} << memory::process_bits_max;

std::uint64_t per_rank(std::uint64_t node_bytes, const node::Shape& shape) {
    return (node_bytes + shape.local_procs - 1) / shape.local_procs;
}

base::Status refusal(const char* what, std::uint64_t value, std::uint64_t most) {
    return {base::Code::argument, std::string(what) + " is 1 to " + std::to_string(most) +
                                      ", not " + std::to_string(value)};
}

const char* mailbox_name(std::uint32_t kind) {
    switch (static_cast<base::MailboxKind>(kind)) {
        case base::MailboxKind::mpsc:
            return "mpsc";
        case base::MailboxKind::pairs:
            return "pairs";
        case base::MailboxKind::bitmap:
            return "bitmap";
    }
    return "?";
}

struct Total {
    std::uint64_t start_bytes = 0;
    std::uint64_t used_bytes = 0;
    std::uint64_t reserved_bytes = 0;
};

Total total_of(const std::vector<node::FootprintPart>& parts) {
    Total total;
    for (const node::FootprintPart& part : parts) {
        total.start_bytes += part.start_bytes;
        total.used_bytes += part.used_bytes;
        total.reserved_bytes += part.reserved_bytes;
    }
    return total;
}

std::vector<node::FootprintPart> parts_of(const node::Shape& shape, std::uint32_t rails) {
    std::vector<node::FootprintPart> parts = node::footprint_of(shape, claims::library_claims());
    // The heaps have a line of their own below the table: the memory that they may take exceeds all
    // other parts by far.
    std::erase_if(parts, [](const node::FootprintPart& part) { return part.name == "heaps"; });
    for (const node::FootprintPart& part : engine::footprint_of(shape, rails)) {
        parts.push_back(part);
    }
    return parts;
}

std::string heading(const node::Shape& shape, std::uint32_t rails) {
    std::string text = "Memory of a job of " + std::to_string(shape.procs) +
                       (shape.procs == 1 ? " rank" : " ranks");
    if (shape.procs > shape.local_procs)
        text += ", " + std::to_string(shape.local_procs) + " on a node";
    if (shape.nodes > 1 && rails > 1) text += ", " + std::to_string(rails) + " rails";
    return text + ": starter memory " + base::human_size(shape.starter_bytes) + ", mailbox " +
           mailbox_name(shape.mailbox_kind) + ", datagram " +
           base::human_size(shape.datagram_bytes);
}

// What the figures stand for.
std::string in_use_text(const node::Shape& shape, std::uint32_t rails) {
    if (shape.nodes == 1) {
        return "This is the shared memory; acpbench memory measures whole processes.\n";
    }
    return "This is the shared memory and the gateway's; acpbench memory measures whole processes. "
           "In use: all\n"
           "have talked to all" +
           std::string(rails > 1 ? " by every rail, " : ", ") +
           std::to_string(std::min<std::uint64_t>(shape.nodes - 1, engine::hot_peers_stated)) +
           " nodes within the last minute, with " + std::to_string(engine::stated_commands) +
           " commands of each rank under way and all buffers\nfull of datagrams of " +
           std::to_string(engine::stated_datagram_bytes) + " bytes.\n";
}

}  // namespace

base::Result<node::Shape> shape_of_job(std::uint64_t procs,
                                       std::uint64_t procs_per_node,
                                       const base::Config& config) {
    if (procs < 1 || procs > procs_max)
        return refusal("the number of ranks (-n)", procs, procs_max);
    const std::uint64_t local_procs = std::min(procs, procs_per_node);
    const std::uint64_t most = node::local_procs_max - (procs > local_procs ? 1 : 0);
    if (procs <= procs_per_node && local_procs > most) {
        auto status = refusal("the number of ranks on one node (-n)", local_procs, most);
        return base::Status(status.code(), std::string(status.message()) +
                                               "; --ppn says how many of them each node has");
    }
    if (local_procs < 1 || local_procs > most) {
        return refusal("the number of ranks per node (--ppn)", local_procs, most);
    }
    node::Shape shape;
    shape.procs = static_cast<std::uint32_t>(procs);
    shape.local_procs = static_cast<std::uint32_t>(local_procs);
    shape.machine_procs = shape.local_procs;
    shape.nodes = static_cast<std::uint32_t>((procs + local_procs - 1) / local_procs);
    const bool has_one_rank_each = shape.nodes > 1 && shape.nodes == shape.procs;
    const bool may_be_own = config.gateway == base::GatewayPlace::automatic;
    shape.has_own_gateways = has_one_rank_each && may_be_own ? 1 : 0;
    shape.starter_bytes = config.starter_bytes;
    shape.heap_bytes = node::heap_bytes_for(config, shape.procs, shape.local_procs);
    shape.mailbox_kind = static_cast<std::uint32_t>(config.mailbox);
    shape.intranode = static_cast<std::uint32_t>(config.intranode);
    shape.datagram_bytes =
        config.datagram_bytes != 0 ? config.datagram_bytes : node::auto_datagram_bytes;
    return shape;
}

std::string memory_text(const node::Shape& shape, std::uint32_t rails) {
    const std::vector<node::FootprintPart> parts = parts_of(shape, rails);
    Table table({{"BYTES PER RANK"},
                 {"AT START", Table::Align::right},
                 {"IN USE", Table::Align::right},
                 {"AT MOST", Table::Align::right},
                 {"GROWS WITH"}});
    for (const node::FootprintPart& part : parts) {
        table.add_row({std::string(part.name), std::to_string(per_rank(part.start_bytes, shape)),
                       std::to_string(per_rank(part.used_bytes, shape)),
                       std::to_string(per_rank(part.reserved_bytes, shape)),
                       std::string(part.growth)});
    }
    const Total total = total_of(parts);
    const std::uint64_t start_bytes = per_rank(total.start_bytes, shape);
    const std::uint64_t used_bytes = per_rank(total.used_bytes, shape);
    const std::uint64_t most_bytes = per_rank(total.reserved_bytes, shape);
    table.add_row({"total", std::to_string(start_bytes), std::to_string(used_bytes),
                   std::to_string(most_bytes)});
    return heading(shape, rails) + "\n\n" + table.text() + "\n" + base::human_size(start_bytes) +
           " per rank at start, " + base::human_size(used_bytes) + " in use, " +
           base::human_size(most_bytes) + " at most;\n" + base::human_size(total.start_bytes) +
           ", " + base::human_size(total.used_bytes) + " and " +
           base::human_size(total.reserved_bytes) + " per node of " +
           std::to_string(shape.local_procs) + ".\nBeside it acp_malloc takes memory, of " +
           base::human_size(shape.heap_bytes) + " per rank at most.\n" + in_use_text(shape, rails);
}

tool::Json memory_json(const node::Shape& shape, std::uint32_t rails) {
    const std::vector<node::FootprintPart> parts = parts_of(shape, rails);
    tool::Json rows = tool::Json::array();
    for (const node::FootprintPart& part : parts) {
        rows.push_back({{"part", part.name},
                        {"start_bytes", per_rank(part.start_bytes, shape)},
                        {"used_bytes", per_rank(part.used_bytes, shape)},
                        {"most_bytes", per_rank(part.reserved_bytes, shape)},
                        {"node_start_bytes", part.start_bytes},
                        {"node_used_bytes", part.used_bytes},
                        {"node_most_bytes", part.reserved_bytes},
                        {"grows_with", part.growth}});
    }
    const Total total = total_of(parts);
    return {{"ranks", shape.procs},
            {"ranks_per_node", shape.local_procs},
            {"nodes", shape.nodes},
            {"rails", rails},
            {"starter_bytes", shape.starter_bytes},
            {"heap_bytes", shape.heap_bytes},
            {"parts", rows},
            {"start_bytes", per_rank(total.start_bytes, shape)},
            {"used_bytes", per_rank(total.used_bytes, shape)},
            {"most_bytes", per_rank(total.reserved_bytes, shape)},
            {"node_start_bytes", total.start_bytes},
            {"node_used_bytes", total.used_bytes},
            {"node_most_bytes", total.reserved_bytes}};
}

}  // namespace acp::acpinfo
