// SPDX-License-Identifier: BSD-3-Clause
// Several nodes of one job for tests, without a network: their segments and a thread that acts as
// all their gateways at once. The processes are threads of the test.
#pragma once

#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

#include "node/gateway_port.hpp"
#include "node/node_table.hpp"
#include "node/segment.hpp"
#include "os/event.hpp"

namespace acp::node::test {

// Nodes of the given numbers of processes.
inline std::vector<Segment> make_nodes(const std::vector<std::uint32_t>& sizes) {
    Shape shape;
    shape.procs = 0;
    for (const std::uint32_t size : sizes) shape.procs += size;
    shape.nodes = static_cast<std::uint32_t>(sizes.size());
    shape.starter_bytes = 4096;
    shape.datagram_bytes = 1408;
    std::vector<Segment> segments;
    for (shape.node = 0; shape.node < shape.nodes; ++shape.node) {
        shape.local_procs = shape.machine_procs = sizes[shape.node];
        auto made = Segment::create(shape);
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        segments.push_back(std::move(made).value());
        shape.first_process += sizes[shape.node];
    }
    for (const Segment& segment : segments) {
        std::uint32_t first = 0;
        for (std::uint32_t node = 0; node < shape.nodes; ++node) {
            NodeAddress address;
            address.family = 4;
            address.ip = {10, 0, 0, static_cast<std::uint8_t>(node)};
            address.port = 4711;
            const auto status = NodeTable(segment).set(node, first, {&address, 1});
            EXPECT_TRUE(status.is_ok()) << status.message();
            first += sizes[node];
        }
    }
    return segments;
}

// Carries meetings from node to node until it is destroyed.
class Gateways {
public:
    explicit Gateways(std::vector<Segment>& segments) {
        for (Segment& segment : segments) {
            events_.push_back(std::make_unique<os::Event>(std::move(os::Event::create()).value()));
            ports_.push_back(std::make_unique<GatewayPort>(segment));
            ports_.back()->open(events_.back()->fd());
            EXPECT_TRUE(segment.open_gateway_event().is_ok());
            sizes_.push_back(segment.shape().local_procs);
        }
        thread_ = std::thread([this] { run(); });
    }

    ~Gateways() {
        is_stopping_.store(true, std::memory_order_relaxed);
        thread_.join();
    }

    Gateways(const Gateways&) = delete;
    Gateways& operator=(const Gateways&) = delete;

    [[nodiscard]] GatewayPort& port(std::size_t node) { return *ports_[node]; }

private:
    void run() {
        while (!is_stopping_.load(std::memory_order_relaxed)) {
            std::size_t ready = 0;
            for (const auto& port : ports_) ready += port->has_meeting() ? 1U : 0U;
            if (ready == ports_.size()) {
                end_meeting();
            } else {
                std::this_thread::yield();
            }
        }
    }

    void end_meeting() {
        std::vector<std::uint32_t> table;
        Conclusion conclusion;
        GatewayPort::DueMeeting meeting;
        for (std::size_t node = 0; node < ports_.size(); ++node) {
            const auto taken = ports_[node]->take_meeting();
            ASSERT_TRUE(taken.has_value());
            EXPECT_TRUE(node == 0 || taken->number == meeting.number);
            meeting = *taken;
            std::vector<std::uint32_t> wanted(sizes_[node]);
            ports_[node]->read_wanted(wanted);
            table.insert(table.end(), wanted.begin(), wanted.end());
            conclusion.add(ports_[node]->read_conclusion());
        }
        if (meeting.gathers == Gathers::nothing) table.clear();
        if (meeting.gathers == Gathers::conclusion) {
            table.assign(conclusion.words.begin(), conclusion.words.end());
        }
        for (const auto& port : ports_) port->finish_meeting(table);
    }

    std::vector<std::unique_ptr<os::Event>> events_;
    std::vector<std::unique_ptr<GatewayPort>> ports_;
    std::vector<std::uint32_t> sizes_;
    std::atomic<bool> is_stopping_{false};
    std::thread thread_;
};

}  // namespace acp::node::test
