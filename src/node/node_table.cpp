// SPDX-License-Identifier: BSD-3-Clause
// Rows of 80 bytes: the host's name and two addresses in the row, further ones in the pool behind
// the rows.
#include "node/node_table.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "node/segment.hpp"

namespace acp::node {

namespace {

constexpr std::uint32_t addresses_in_row = 2;

}  // namespace

struct NodeTable::Row {
    std::uint32_t first_process;
    std::uint32_t pooled_at;  // index of the third address in the pool
    std::uint8_t count;
    std::uint8_t families;  // bit i: address i of the row is of family 6
    std::uint8_t left_out;
    std::uint8_t reserved0;
    std::uint16_t ports[addresses_in_row];
    std::uint8_t ips[addresses_in_row][16];
    char host[host_name_bytes_max];  // ends at the first zero byte, or fills the field
};

std::uint64_t NodeTable::bytes(std::uint32_t nodes) noexcept {
    return used_bytes(nodes, node_addresses_max);
}

std::uint64_t NodeTable::used_bytes(std::uint32_t nodes, std::uint32_t addresses) noexcept {
    static_assert(sizeof(Row) == 80 && sizeof(NodeAddress) == 20);
    const std::uint64_t pooled = addresses > addresses_in_row ? addresses - addresses_in_row : 0;
    return nodes * (sizeof(Row) + pooled * sizeof(NodeAddress));
}

NodeTable::Row& NodeTable::row(std::uint32_t node) const noexcept {
    return reinterpret_cast<Row*>(segment_->node_table())[node];
}

NodeAddress& NodeTable::pooled(std::uint32_t index) const noexcept {
    char* pool = segment_->node_table() + segment_->shape().nodes * sizeof(Row);
    return reinterpret_cast<NodeAddress*>(pool)[index];
}

base::Status NodeTable::set(std::uint32_t node,
                            std::uint32_t first_process,
                            std::span<const NodeAddress> addresses,
                            std::uint8_t left_out,
                            std::string_view host) {
    const Shape& shape = segment_->shape();
    const std::uint32_t before = node == 0 ? 0 : row(node - 1).first_process;
    if (node >= shape.nodes || first_process >= shape.procs ||
        (node == 0 ? first_process != 0 : first_process <= before)) {
        return {base::Code::argument,
                "node " + std::to_string(node) + " of " + std::to_string(shape.nodes) +
                    " cannot begin with process " + std::to_string(first_process)};
    }
    if (addresses.empty() || addresses.size() > node_addresses_max) {
        return {base::Code::argument, "a node has 1 to " + std::to_string(node_addresses_max) +
                                          " addresses, not " + std::to_string(addresses.size())};
    }
    for (const NodeAddress& address : addresses) {
        if (address.family != 4 && address.family != 6) {
            return {base::Code::argument, "an address of node " + std::to_string(node) +
                                              " is of family " + std::to_string(address.family) +
                                              ", neither 4 nor 6"};
        }
    }
    SharedU32& pool_end = segment_->control().addresses_pooled;
    Row& own = row(node);
    own.first_process = first_process;
    own.count = static_cast<std::uint8_t>(addresses.size());
    own.families = 0;
    own.left_out = left_out;
    std::memset(own.host, 0, sizeof own.host);
    host.copy(own.host, sizeof own.host);
    own.pooled_at = pool_end.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < addresses.size(); ++i) {
        if (i >= addresses_in_row) {
            pooled(own.pooled_at + i - addresses_in_row) = addresses[i];
            pool_end.fetch_add(1, std::memory_order_relaxed);
            continue;
        }
        own.families =
            static_cast<std::uint8_t>(own.families | (addresses[i].family == 6 ? 1U << i : 0U));
        own.ports[i] = addresses[i].port;
        std::memcpy(own.ips[i], addresses[i].ip.data(), sizeof own.ips[i]);
    }
    return {};
}

std::uint32_t NodeTable::first_process(std::uint32_t node) const noexcept {
    const Shape& shape = segment_->shape();
    if (node >= shape.nodes) {
        return shape.procs;
    }
    return shape.nodes == 1 ? 0 : row(node).first_process;
}

// Nodes of equal size are found by the first guess.
std::uint32_t NodeTable::node_of(std::uint32_t process) const noexcept {
    const Shape& shape = segment_->shape();
    const auto guess =
        static_cast<std::uint32_t>(std::uint64_t{process} * shape.nodes / shape.procs);
    if (first_process(guess) <= process && process < first_process(guess + 1)) {
        return guess;
    }
    std::uint32_t low = 0;  // node that begins at or before the process
    std::uint32_t high = shape.nodes;
    while (high - low > 1) {
        const std::uint32_t middle = low + (high - low) / 2;
        (first_process(middle) <= process ? low : high) = middle;
    }
    return low;
}

std::uint32_t NodeTable::addresses(std::uint32_t node,
                                   std::span<NodeAddress, node_addresses_max> into) const noexcept {
    if (segment_->shape().nodes == 1) {
        return 0;
    }
    const Row& found = row(node);
    const std::uint32_t count = std::min<std::uint32_t>(found.count, node_addresses_max);
    for (std::uint32_t i = 0; i < count; ++i) {
        if (i >= addresses_in_row) {
            into[i] = pooled(found.pooled_at + i - addresses_in_row);
            continue;
        }
        into[i].port = found.ports[i];
        into[i].family = (found.families >> i & 1U) != 0 ? 6 : 4;
        std::memcpy(into[i].ip.data(), found.ips[i], sizeof found.ips[i]);
    }
    return count;
}

std::uint32_t NodeTable::left_out(std::uint32_t node) const noexcept {
    return segment_->shape().nodes == 1 ? 0 : row(node).left_out;
}

std::string_view NodeTable::host(std::uint32_t node) const noexcept {
    if (segment_->shape().nodes == 1) return {};
    const std::string_view field(row(node).host, host_name_bytes_max);
    return field.substr(0, field.find('\0'));
}

std::string text_of(const NodeAddress& address, bool has_port) {
    char text[64];
    const auto& ip = address.ip;
    if (address.family == 4) {
        std::snprintf(text, sizeof text, "%u.%u.%u.%u", ip[0], ip[1], ip[2], ip[3]);
    } else {
        int length = has_port ? std::snprintf(text, sizeof text, "[") : 0;
        for (std::size_t i = 0; i < ip.size(); i += 2) {
            length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length),
                                    i == 0 ? "%x" : ":%x", (ip[i] << 8U) | ip[i + 1]);
        }
        if (has_port) {
            std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), "]");
        }
    }
    return has_port ? std::string(text) + ":" + std::to_string(address.port) : text;
}

}  // namespace acp::node
