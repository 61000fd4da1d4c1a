// SPDX-License-Identifier: BSD-3-Clause
// A node of a job of two, and a substitute for its gateway, which completes commands without a
// network. Processes are objects of the test.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <utility>
#include <vector>

#include "memory/ga_layout.hpp"
#include "node/gateway_port.hpp"
#include "node/segment.hpp"
#include "os/event.hpp"
#include "remote/gateway_rings.hpp"
#include "remote/ring_link.hpp"

#include "claims/library_claims.hpp"

namespace acp::remote::test {

// The node of the first local_procs processes; the last process is on the other node.
inline node::Segment make_segment(std::uint32_t local_procs) {
    node::Shape shape;
    shape.procs = local_procs + 1;
    shape.nodes = 2;
    shape.local_procs = shape.machine_procs = local_procs;
    shape.starter_bytes = 4096;
    shape.datagram_bytes = 1408;
    auto made = node::Segment::create(shape, claims::library_claims());
    EXPECT_TRUE(made.is_ok()) << made.failure().message();
    return std::move(made).value();
}

inline memory::Command copy_to(const node::Segment& segment, std::uint32_t process) {
    const memory::GaLayout layout(segment.shape().procs);
    return {.target = layout.segment_start(process, 0, 1),
            .source = layout.segment_start(0, 0, 1),
            .bytes = 8};
}

}  // namespace acp::remote::test
