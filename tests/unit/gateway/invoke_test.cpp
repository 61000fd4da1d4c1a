// SPDX-License-Identifier: BSD-3-Clause
// Numbered operations through gateways over real sockets: both kinds of link pass the conformance
// suite of links, an operation runs on the memory of the named process, batches share datagrams,
// and a death ends the invocations that need the dead process.
#include <algorithm>

#include "datagram/counters.hpp"

#include "support/refuse_memory.hpp"
#include "unit/gateway/test_job.hpp"
#include "unit/remote/link_conformance.hpp"

namespace acp::gateway::test {
namespace {

using acp::test::AddBelow;
using acp::test::AddedBelow;
using acp::test::bytes_of;
using remote::test::TestCall;

local::NumberedOperation::Ran echo(local::OperationContext& /*context*/,
                                   std::span<const std::byte> arguments,
                                   std::span<std::byte> result) noexcept {
    std::copy(arguments.begin(), arguments.end(), result.begin());
    return {Code::ok, static_cast<std::uint32_t>(arguments.size())};
}

constexpr std::uint32_t echo_number = 3;
constexpr local::NumberedOperation echo_row{echo_number, "echo", memory::invoke_bytes_max,
                                            memory::invoke_bytes_max, echo};
constexpr local::OperationTable echo_table = [] {
    local::OperationTable table;
    table.add({&echo_row, 1});
    return table;
}();

// Process 0 of two nodes; the suite tests its link.
template <bool is_own>
class Bed {
public:
    Bed() {
        // Connects the nodes while allocations succeed.
        EXPECT_EQ(job_.copy(0, good().target, good().source, 8), Code::ok);
        // The suite polls its link.
        job_.process(0).is_stopped = true;
    }

    remote::Link& link() { return *job_.process(0).link; }

    [[nodiscard]] Command good() const {
        return {Operation::copy,
                0,
                job_.memory(1, false).address,
                job_.memory(0, false).address,
                8,
                0,
                0};
    }

    [[nodiscard]] Command bad() const {
        Command command = good();
        command.target = job_.memory(0, false).address;
        command.source = memory::GaLayout(2).segment_start(1, 77, 1);
        return command;
    }

    [[nodiscard]] static std::uint32_t bad_process() { return 1; }

    [[nodiscard]] static TestCall echo(std::span<const std::byte> bytes) {
        return {1, echo_number, bytes};
    }

    [[nodiscard]] static TestCall unknown() { return {1, echo_number + 1, {}}; }

    void work() { job_.poll(); }

private:
    static JobOptions options() {
        JobOptions options;
        options.is_own = is_own;
        options.operations = &echo_table;
        return options;
    }

    Job job_{options()};
};

using Beds = testing::Types<Bed<true>, Bed<false>>;

class BedNames {
public:
    template <typename Bed>
    static std::string GetName(int index) {
        return index == 0 ? "own" : "agents";
    }
};

}  // namespace
}  // namespace acp::gateway::test

namespace acp::remote::test {
namespace {
INSTANTIATE_TYPED_TEST_SUITE_P(gateways,
                               LinkConformance,
                               gateway::test::Beds,
                               gateway::test::BedNames);
}  // namespace
}  // namespace acp::remote::test

namespace acp::gateway::test {
namespace {

class GatewayInvokeTest : public testing::TestWithParam<bool> {
protected:
    static JobOptions options() {
        JobOptions options;
        options.counts = {1, 1, 1};
        options.config.peer_timeout_ns = 1'000'000'000;
        options.is_own = GetParam();
        return options;
    }

    // Runs an operation to its end. The initiator has nothing else in flight.
    template <typename Arguments>
    Ended run(std::uint32_t number, std::uint32_t process, const Arguments& arguments) {
        token_ = job_.invoke(0, {process, number, bytes_of(arguments)});
        job_.process(0).link->flush();
        job_.poll_until([this] { return !job_.process(0).ended.empty(); });
        const Ended ended = job_.process(0).ended.front();
        job_.process(0).ended.pop_front();
        EXPECT_EQ(ended.token, token_);
        return ended;
    }

    // The result of the operation that run() ran last.
    template <typename Result>
    Result result() {
        Result result{};
        const std::vector<std::byte>& bytes = job_.process(0).results[token_];
        EXPECT_EQ(bytes.size(), sizeof result);
        std::memcpy(&result, bytes.data(), std::min(bytes.size(), sizeof result));
        return result;
    }

    // The number of datagrams with content that a node has received.
    std::uint64_t delivered(std::uint32_t node) {
        const auto is_it = [](const datagram::CounterName& one) {
            return one.member == &datagram::EndpointCounters::delivered;
        };
        const auto& names = datagram::counter_names;
        const auto at = std::find_if(names.begin(), names.end(), is_it) - names.begin();
        return job_.stats(node).tables.datagram[static_cast<std::size_t>(at)];
    }

    Job job_{options()};
    std::uint64_t token_ = 0;
};

TEST_P(GatewayInvokeTest, an_operation_runs_once_on_the_memory_of_the_process_it_names) {
    for (const std::uint32_t process : {1U, 2U}) {
        const AddBelow asked{job_.memory(process, false).address + 64, 4, 10};
        for (std::uint64_t round = 0; round < 4; ++round) {
            EXPECT_EQ(run(acp::test::add_below_number, process, asked).code, Code::ok);
            EXPECT_EQ(result<AddedBelow>().old, std::min(4 * round, std::uint64_t{8}));
            EXPECT_EQ(result<AddedBelow>().is_added, round < 2 ? 1U : 0U);
        }
        std::uint64_t word = 0;
        std::memcpy(&word, job_.memory(process, false).bytes + 64, 8);
        EXPECT_EQ(word, 8U);
    }
}

TEST_P(GatewayInvokeTest, failures_of_an_operation_and_bad_addresses_return_as_codes) {
    const acp::test::Sum bad{job_.memory(1, false).address, 1000};
    EXPECT_EQ(run(acp::test::sum_number, 1, bad).code, Code::argument);
    const acp::test::Sum wild{memory::GaLayout(3).segment_start(1, 77, 1), 1};
    EXPECT_EQ(run(acp::test::sum_number, 1, wild).code, Code::address);
    const acp::test::Sum other{job_.memory(2, false).address, 1};
    EXPECT_EQ(run(acp::test::sum_number, 1, other).code, Code::address) << "of another process";
    // A gateway in the process itself reaches its private memory; the agent's does not.
    const acp::test::Sum own{job_.memory(1, true).address, 1};
    EXPECT_EQ(run(acp::test::sum_number, 1, own).code, GetParam() ? Code::ok : Code::unsupported);
    const acp::test::Sum good{job_.memory(1, false).address, 127};
    EXPECT_EQ(run(acp::test::sum_number, 1, good).code, Code::ok);
    EXPECT_EQ(job_.process(0).results[token_].size(), memory::invoke_bytes_max);
}

TEST_P(GatewayInvokeTest, a_batch_leaves_in_one_datagram_and_its_results_in_one) {
    const AddBelow asked{job_.memory(1, false).address, 1, 1000};
    // Connects the nodes.
    ASSERT_EQ(run(acp::test::add_below_number, 1, asked).code, Code::ok);
    const std::uint64_t before = delivered(1);
    const std::uint64_t before_here = delivered(0);
    constexpr std::uint64_t batch = 16;
    for (std::uint64_t i = 0; i < batch; ++i) {
        job_.invoke(0, {1, acp::test::add_below_number, bytes_of(asked)});
    }
    job_.process(0).link->flush();
    job_.poll_until([this] { return job_.process(0).ended.size() == batch; });
    EXPECT_EQ(delivered(1), before + 1);
    EXPECT_EQ(delivered(0), before_here + 1);
}

TEST_P(GatewayInvokeTest, a_lost_node_ends_the_operations_in_flight_there_and_no_others) {
    const AddBelow asked{job_.memory(1, false).address, 1, 1000};
    ASSERT_EQ(run(acp::test::add_below_number, 1, asked).code, Code::ok);
    job_.stop_node(1);
    const std::uint64_t token = job_.invoke(0, {1, acp::test::add_below_number, bytes_of(asked)});
    job_.process(0).link->flush();
    job_.poll_until([this] { return !job_.process(0).ended.empty(); });
    EXPECT_EQ(job_.process(0).ended.front().token, token);
    EXPECT_EQ(job_.process(0).ended.front().code, Code::peer);
    EXPECT_EQ(job_.process(0).ended.front().process, 1U);
    EXPECT_FALSE(job_.process(0).results.contains(token));
    job_.process(0).ended.clear();
    const AddBelow other{job_.memory(2, false).address, 1, 1000};
    EXPECT_EQ(run(acp::test::add_below_number, 2, other).code, Code::ok);
    EXPECT_EQ(run(acp::test::add_below_number, 1, asked).code, Code::peer);
}

std::string name_of(const testing::TestParamInfo<bool>& info) {
    return info.param ? "own" : "agents";
}

INSTANTIATE_TEST_SUITE_P(by, GatewayInvokeTest, testing::Bool(), name_of);

}  // namespace
}  // namespace acp::gateway::test
