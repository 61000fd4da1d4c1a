// SPDX-License-Identifier: BSD-3-Clause
// Ranks for tests of the forwarder: all objects that a process has below gma, several of them in
// one process or one per forked process, with shared (starter) and private (registered) memory. A
// rank belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "local/registry.hpp"
#include "mailbox/forwarder.hpp"

#include "unit/local/test_node.hpp"

namespace acp::mailbox::test {

inline constexpr std::uint64_t private_bytes = 4 * 1024 * 1024;
inline constexpr std::uint32_t test_epoch = 1;

struct Memory {
    memory::GlobalAddress address = 0;
    char* bytes = nullptr;
};

// Moves a forwarder's completions to the end of a list.
inline void take_ended(Forwarder& forwarder, std::vector<ForwardedEnd>& into) {
    for (ForwardedEnd& one : forwarder.ended()) into.push_back(std::move(one));
    forwarder.forget_ended();
}

class Rank {
public:
    //   has_own_window  true if the rank has its own process
    Rank(const node::Segment& segment, std::uint32_t slot, bool is_forced, bool has_own_window)
        : hazards(segment, slot), private_memory_(private_bytes) {
        if (has_own_window) {
            auto row = local::OwnRow::open(segment, slot);
            EXPECT_TRUE(row.is_ok());
            own_row = std::make_unique<local::OwnRow>(std::move(row).value());
        }
        EXPECT_TRUE(
            space.open(segment, slot, local::Reach{!is_forced, true}, own_row.get()).is_ok());
        space.publish_shared();
        auto opened = Port::open(segment, slot);
        EXPECT_TRUE(opened.is_ok());
        port = std::move(opened).value();
        registry = std::make_unique<local::Registry>(space, hazards);
        forwarder = std::make_unique<Forwarder>(space, hazards, *port, test_epoch);
        shared = {space.starter_address(space.rank()), segment.starter(slot)};
        const auto key = registry->add(private_memory_.data(), private_bytes, 0);
        if (!key.is_ok()) {
            ADD_FAILURE() << key.failure().message();
            return;
        }
        own = {key.value(), private_memory_.data()};
    }

    [[nodiscard]] const Memory& memory(bool is_private) const { return is_private ? own : shared; }

    std::unique_ptr<local::OwnRow> own_row;
    local::Space space;
    local::Hazards hazards;
    std::unique_ptr<Port> port;
    std::unique_ptr<local::Registry> registry;
    std::unique_ptr<Forwarder> forwarder;
    Memory shared;
    Memory own;

private:
    std::vector<char> private_memory_;
};

inline memory::Command copy(memory::GlobalAddress target,
                            memory::GlobalAddress source,
                            std::uint64_t bytes) {
    return {memory::Operation::copy, 0, target, source, bytes, 0, 0};
}

}  // namespace acp::mailbox::test
