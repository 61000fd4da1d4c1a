// SPDX-License-Identifier: BSD-3-Clause
// The link over rings, by the suite of all links.
#include "support/refuse_memory.hpp"
#include "unit/remote/link_conformance.hpp"
#include "unit/remote/test_gateway.hpp"

namespace acp::remote::test {
namespace {

// A link with a gateway that knows one memory only, and completes commands one poll after it took
// them, several at a time.
class RingBed {
public:
    Link& link() { return link_; }

    [[nodiscard]] memory::Command good() const { return copy_to(segment_, 2); }

    [[nodiscard]] memory::Command bad() const {
        memory::Command command = good();
        command.source = memory::GaLayout(3).segment_start(bad_process(), 5, 1);
        return command;
    }

    [[nodiscard]] static std::uint32_t bad_process() { return 2; }

    [[nodiscard]] static TestCall echo(std::span<const std::byte> bytes) {
        return {bad_process(), echo_number, bytes};
    }

    [[nodiscard]] static TestCall unknown() { return {bad_process(), echo_number + 1, {}}; }

    void work() {
        for (const Ended& one : taken_) rings_.complete(0, one);
        taken_.clear();
        (void)rings_.take(
            [this](std::uint32_t slot, std::uint64_t token, const memory::Command& command) {
                EXPECT_EQ(slot, 0U);
                if (command.is_invoke()) {
                    run(token, command);
                    return true;
                }
                end(token, command.source == good().source);
                return true;
            },
            100);
        rings_.flush();
    }

private:
    static constexpr std::uint32_t echo_number = 5;

    void run(std::uint64_t token, const memory::Command& command) {
        if (command.operand != echo_number) {
            taken_.push_back({.token = token,
                              .code = base::Code::unsupported,
                              .blamed = BlamedAddress::source,
                              .process = static_cast<std::uint32_t>(command.target)});
            return;
        }
        is_invoke_last_ = true;
        const auto arguments = rings_.arguments_of(0, command);
        const auto place = static_cast<std::uint32_t>(command.source);
        rings_.put_result(0, place, arguments);
        taken_.push_back({.token = token,
                          .place = place,
                          .result_bytes = static_cast<std::uint32_t>(arguments.size())});
    }

    void end(std::uint64_t token, bool is_good) {
        if (!is_good) {
            taken_.push_back({.token = token,
                              .code = base::Code::address,
                              .blamed = BlamedAddress::source,
                              .process = bad_process()});
            return;
        }
        const bool is_next = !taken_.empty() && !is_invoke_last_ &&
                             taken_.back().code == base::Code::ok &&
                             taken_.back().token + 2ULL * taken_.back().count == token;
        is_invoke_last_ = false;
        if (is_next) {
            ++taken_.back().count;
        } else {
            taken_.push_back({.token = token});
        }
    }

    node::Segment segment_ = make_segment(2);
    GatewayRings rings_{segment_};
    RingLink link_{segment_, 0};
    std::vector<Ended> taken_;
    bool is_invoke_last_ = false;  // the last of taken_ is an invoke, which is completed alone
};

INSTANTIATE_TYPED_TEST_SUITE_P(ring, LinkConformance, RingBed);

// namespace acp::remote::test
}  // namespace
}  // namespace acp::remote::test
