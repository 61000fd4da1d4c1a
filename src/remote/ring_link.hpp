// SPDX-License-Identifier: BSD-3-Clause
// A rank's link to its node's gateway through the rings of the node segment: commands go into one
// ring, completions come from the other; arguments and results of invokes lie in cells beside them.
// At most as many commands may be in flight as a ring has records, and as many invokes as there are
// cells, so a completion and a result always find room. If the counter of the ring of completions
// is impossible, the gateway counts as dead. Threads: see link.hpp; any thread may call has_news()
// and set_service_wanted().
// Tests: tests/unit/remote/link_test.cpp by link_conformance.hpp, gateway_rings_test.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "node/segment.hpp"
#include "remote/link.hpp"
#include "remote/ring_records.hpp"

namespace acp::remote {

class RingLink final : public Link {
public:
    //   segment  of a job of several nodes; must outlive the link.   slot  of this process
    RingLink(const node::Segment& segment, std::uint32_t slot);

    bool submit(std::uint64_t token, const memory::Command& command) override;

    [[nodiscard]] std::byte* arguments_at(std::uint32_t place) noexcept override {
        return pair_.invokes[place].arguments;
    }

    bool invoke(std::uint64_t token, const LinkInvocation& invocation) override;
    void flush() override;
    bool poll(std::vector<Ended>& ended) override;
    [[nodiscard]] bool has_news() const noexcept override;

    [[nodiscard]] LinkTraits traits() const noexcept override { return {}; }

    [[nodiscard]] std::uint64_t deadline_ns() const noexcept override { return ~0ULL; }

    void set_service_wanted(bool is_wanted) noexcept override;

private:
    const node::Segment& segment_;
    std::uint32_t slot_;
    RingPair& pair_;
    RecordProducer<CommandRecord> commands_;
    RecordConsumer<EndedRecord> ended_;
    std::uint32_t outstanding_ = 0;  // submitted commands that have not completed
    std::atomic<bool> is_broken_{false};
};

}  // namespace acp::remote
