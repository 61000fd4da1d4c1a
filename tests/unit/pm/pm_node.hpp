// SPDX-License-Identifier: BSD-3-Clause
// Contexts of PM messages of several ranks in one process. One thread sends and receives for all of
// them, so that a test decides who receives, and when.
#pragma once

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pm/contexts.hpp"
#include "support/rank_node.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::pm::test {

class PmNode {
public:
    explicit PmNode(std::uint32_t procs, std::uint64_t heap_bytes = 8 << 20)
        : ranks(procs, heap_bytes) {
        for (std::uint32_t rank = 0; rank < procs; ++rank) {
            contexts.push_back(
                std::make_unique<Contexts>(*ranks[rank].gma, *ranks[rank].allocator, 0));
        }
    }

    // Opens a rank's context.
    Context& open(std::uint32_t rank, std::uint32_t number = 0) {
        auto opened = contexts[rank]->open(number);
        EXPECT_TRUE(opened.is_ok()) << opened.failure().message();
        return *contexts[rank]->find(opened.value());
    }

    std::vector<Context*> open_all() {
        std::vector<Context*> all;
        for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) all.push_back(&open(rank));
        return all;
    }

    acp::test::ScopedWatchdog watchdog{"a test of PM messages"};
    acp::test::RankNode ranks;
    std::vector<std::unique_ptr<Contexts>> contexts;
};

// The text of message `number` of a sender: its length and letters follow from both.
inline std::string text_of(std::uint32_t from, std::uint64_t number) {
    static constexpr std::uint64_t lengths[] = {1,    7,    8,    9,    63,   64,   65, 120,
                                                1000, 4095, 4096, 8191, 8192, 5000, 16, 2};
    std::string text(lengths[(from * 5 + number) % std::size(lengths)], ' ');
    for (std::size_t i = 0; i < text.size(); ++i)
        text[i] = static_cast<char>('!' + (from * 31 + number * 7 + i) % 90);
    return text;
}

// False: there is no room.
template <typename AnyContext>
bool send(AnyContext& context, std::uint32_t to, const std::string& text) {
    char* const room = context.reserve(to, text.size());
    if (room == nullptr) return false;
    std::memcpy(room, text.data(), text.size());
    context.send();
    return true;
}

struct Come {
    std::uint32_t from = 0;
    std::string text;

    bool operator==(const Come&) const = default;
};

// The next message, released.
template <typename AnyContext>
std::optional<Come> receive(AnyContext& context) {
    const auto message = context.receive();
    if (message.data == nullptr) return std::nullopt;
    Come come{message.source, std::string(message.data, message.bytes)};
    context.release();
    return come;
}

// Polls until a message comes.
template <typename AnyContext>
Come next(AnyContext& context) {
    for (;;) {
        if (auto come = receive(context); come.has_value()) return *come;
    }
}

}  // namespace acp::pm::test
