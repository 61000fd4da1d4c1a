// SPDX-License-Identifier: BSD-3-Clause
// A rank that owns registrations, without port and forwarder: its own mapping of the node segment,
// its view, its hazard lines and its registry. Several may live in one process. Used by one thread
// unless a test says otherwise.
#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "local/hazards.hpp"
#include "local/registry.hpp"
#include "local/space.hpp"
#include "node/segment.hpp"

#include "claims/library_claims.hpp"

namespace acp::local::test {

inline constexpr std::uint64_t test_starter_bytes = 64 * 1024;

// A node; this process plays all its processes.
//   procs  number of processes in the job; the node has the last `local_procs` of them
inline node::Segment make_node(std::uint32_t procs,
                               std::uint32_t local_procs,
                               std::uint64_t heap_bytes = 0) {
    node::Shape shape;
    shape.heap_bytes = heap_bytes;
    shape.procs = procs;
    shape.local_procs = shape.machine_procs = local_procs;
    shape.first_process = procs - local_procs;
    shape.starter_bytes = test_starter_bytes;
    shape.datagram_bytes = 4096;
    auto made = node::Segment::create(shape, claims::library_claims());
    EXPECT_TRUE(made.is_ok()) << made.failure().message();
    node::Segment segment = std::move(made).value();
    for (std::uint32_t slot = 0; slot < local_procs; ++slot) {
        segment.slot(slot).state.store(static_cast<std::uint32_t>(node::SlotState::joined),
                                       std::memory_order_relaxed);
        segment.slot(slot).pid.store(static_cast<std::uint32_t>(::getpid()),
                                     std::memory_order_relaxed);
    }
    return segment;
}

// The same node, mapped once more, as another process has it.
inline node::Segment map_again(const node::Segment& segment) {
    auto opened = node::Segment::open(os::FileDescriptor(::dup(segment.file())));
    EXPECT_TRUE(opened.is_ok()) << opened.failure().message();
    return std::move(opened).value();
}

// The resident bytes of the node's memory.
inline std::uint64_t resident_bytes(const node::Segment& segment) {
    struct stat status {};

    EXPECT_EQ(::fstat(segment.file(), &status), 0);
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

// One rank of a node, as in a process of its own, with a window over its own row.
class Owner {
public:
    Owner(const node::Segment& node,
          std::uint32_t slot,
          bool has_own_window = true,
          Reach reach = {})
        : segment(map_again(node)), hazards(segment, slot) {
        auto row = OwnRow::open(segment, slot);
        EXPECT_TRUE(row.is_ok());
        own_row = std::make_unique<OwnRow>(std::move(row).value());
        const auto opened =
            space.open(segment, slot, reach, has_own_window ? own_row.get() : nullptr);
        EXPECT_TRUE(opened.is_ok()) << opened.message();
        space.publish_shared();
        registry = std::make_unique<Registry>(space, hazards);
    }

    ~Owner() { space.close(); }

    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    // Registers memory and expects success.
    Key add(void* address, std::uint64_t bytes, std::uint32_t color = 0) {
        const auto key = registry->add(address, bytes, color);
        EXPECT_TRUE(key.is_ok()) << key.failure().message();
        return key.is_ok() ? key.value() : 0;
    }

    [[nodiscard]] base::Code remove(Key key) { return registry->remove(key).code(); }

    [[nodiscard]] base::Code find(memory::GlobalAddress address, std::uint64_t bytes = 1) const {
        Place place;
        return space.find(address, bytes, place);
    }

    // The pointer by which loads and stores reach a byte; nullptr: they do not.
    [[nodiscard]] char* direct(memory::GlobalAddress address) const {
        char* place = nullptr;
        return space.view().find_direct(address, 1, place) ? place : nullptr;
    }

    node::Segment segment;
    std::unique_ptr<OwnRow> own_row;
    Space space;
    Hazards hazards;
    std::unique_ptr<Registry> registry;
};

}  // namespace acp::local::test
