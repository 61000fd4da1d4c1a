// SPDX-License-Identifier: BSD-3-Clause
// The processes of each node, the name of its host, and the addresses of the nodes' gateways: a part
// of the node segment, 80 bytes per node, with a pool behind it for nodes of more than two
// addresses. The agent fills it before it starts a process; from then on it is constant. A job of
// one node has no table: the answers follow from its shape. Knows no socket: an address is its bytes. Any thread may read.
// Tests: tests/unit/node/node_table_test.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace acp::node {

class Segment;

// The content of a datagram::Address, which this layer does not know.
struct NodeAddress {
    std::array<std::uint8_t, 16> ip{};  // network order; IPv4 in the first four bytes
    std::uint16_t port = 0;             // host order
    std::uint16_t family = 0;           // 4 or 6

    friend bool operator==(const NodeAddress&, const NodeAddress&) = default;
};

inline constexpr std::uint32_t node_addresses_max = 8;
inline constexpr std::uint32_t host_name_bytes_max = 32;  // a longer name is cut

class NodeTable {
public:
    //   segment  must outlive this
    explicit NodeTable(const Segment& segment) noexcept : segment_(&segment) {}

    // Bytes of the table for a number of nodes, with its pool.
    [[nodiscard]] static std::uint64_t bytes(std::uint32_t nodes) noexcept;
    // Bytes in use if each node has this number of addresses.
    [[nodiscard]] static std::uint64_t used_bytes(std::uint32_t nodes,
                                                  std::uint32_t addresses) noexcept;

    // Fills a node's row. One thread adds nodes in order 0, 1, ..., before any process reads.
    //   first_process  increases with the node; node 0 begins with 0
    //   addresses      1 .. node_addresses_max
    //   left_out       how many addresses of the node's machine are not among them for want of room
    //   host           name of its host, of which the first host_name_bytes_max bytes are kept;
    //                  empty: unknown
    // Errors: argument (out of order, too many addresses, an address of unknown family).
    base::Status set(std::uint32_t node,
                     std::uint32_t first_process,
                     std::span<const NodeAddress> addresses,
                     std::uint8_t left_out = 0,
                     std::string_view host = {});

    [[nodiscard]] std::uint32_t node_of(std::uint32_t process) const noexcept;  // process < procs

    // Returns procs for node == nodes.
    [[nodiscard]] std::uint32_t first_process(std::uint32_t node) const noexcept;

    // Writes a node's addresses; returns how many.
    [[nodiscard]] std::uint32_t addresses(
        std::uint32_t node, std::span<NodeAddress, node_addresses_max> into) const noexcept;

    [[nodiscard]] std::uint32_t left_out(std::uint32_t node) const noexcept;

    // Empty: unknown, or the job has one node.
    [[nodiscard]] std::string_view host(std::uint32_t node) const noexcept;

private:
    struct Row;
    [[nodiscard]] Row& row(std::uint32_t node) const noexcept;
    [[nodiscard]] NodeAddress& pooled(std::uint32_t index) const noexcept;

    const Segment* segment_;
};

// "10.0.0.4:4711" or "[2001:db8::4]:4711" (every group written).
[[nodiscard]] std::string text_of(const NodeAddress& address, bool has_port);

}  // namespace acp::node
