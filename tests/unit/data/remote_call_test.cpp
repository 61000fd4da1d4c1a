// SPDX-License-Identifier: BSD-3-Clause
// Typed operations on heaps of the own node: the calling thread runs them on the caller's own
// buffers, and a failure names operation and owner. Operations on other nodes are tested by
// tests/conformance/list_container_test.cpp.
#include "data/remote_call.hpp"

#include "base/format.hpp"

#include "allocator/list_operations.hpp"
#include "unit/data/table_view_fixture.hpp"

namespace acp::data::test {
namespace {

using acp::list::ListEffect;
using base::Code;

class RemoteCallTest : public TableViewTest {
protected:
    template <typename Operation>
    auto run(std::uint32_t process,
             const typename Operation::Input& input,
             local::Bytes tail = {},
             std::span<std::byte> room = {}) {
        return RemoteCall<Operation>(*gma_, *allocator_).run(process, input, tail, room);
    }

    GlobalAddress make(std::uint32_t process) {
        auto made = run<allocator::MakeList>(process, {});
        EXPECT_TRUE(made.is_ok()) << made.failure().message();
        return made.value().output.list;
    }

    void push(std::uint32_t process, GlobalAddress list, const std::string& text) {
        auto placed = run<allocator::InsertElement>(process, {list, {}, 0, 0}, bytes_of(text));
        ASSERT_TRUE(placed.is_ok()) << placed.failure().message();
        EXPECT_EQ(placed.value().output.effect, ListEffect::done);
    }
};

TEST_F(RemoteCallTest, runs_on_each_heap_of_the_node_and_fills_the_callers_room) {
    for (const std::uint32_t process : {0U, 1U}) {
        const GlobalAddress list = make(process);
        const std::string text(900, static_cast<char>('a' + process));
        push(process, list, text);
        push(process, list, "second");
        std::string room(1'000, '.');
        const auto all = std::as_writable_bytes(std::span(room));
        for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{1'000}}) {
            auto read = run<allocator::ReadRange>(process, {list, {}, 0, 1, 0, 0}, {}, all);
            ASSERT_TRUE(read.is_ok());
            const auto at = local::TailOf<allocator::ListRecord>(all)[0].at;
            std::fill(room.begin(), room.end(), '.');
            auto element =
                run<allocator::ReadElement>(process, {list, at, size}, {}, all.first(size));
            ASSERT_TRUE(element.is_ok());
            EXPECT_EQ(element.value().output.bytes, text.size());
            EXPECT_EQ(element.value().tail_bytes, std::min(size, text.size()));
            EXPECT_EQ(room.substr(0, size), (text + std::string(100, '.')).substr(0, size));
            EXPECT_EQ(room.substr(size), std::string(room.size() - size, '.'));
        }
        EXPECT_EQ(run<allocator::CountElements>(process, {list}).value().output.elements, 2U);
        EXPECT_TRUE(run<allocator::DestroyList>(process, {list}).is_ok());
    }
}

TEST_F(RemoteCallTest, a_failure_names_the_operation_its_owner_and_the_address) {
    const GlobalAddress list = make(1);
    ASSERT_TRUE(run<allocator::DestroyList>(1, {list}).is_ok());
    auto counted = run<allocator::CountElements>(1, {list});
    ASSERT_FALSE(counted.is_ok());
    EXPECT_EQ(counted.failure().code(), Code::stale);
    const std::string message(counted.failure().message());
    EXPECT_NE(message.find("asking for the size of a list"), std::string::npos) << message;
    EXPECT_NE(message.find("rank 1"), std::string::npos) << message;
    EXPECT_NE(message.find(base::hex(list)), std::string::npos) << message;
}

TEST_F(RemoteCallTest, checks_its_own_input_as_that_of_a_peer) {
    const GlobalAddress list = make(0);
    EXPECT_EQ(run<allocator::InsertElement>(0, {list, {}, 2, 0}).failure().code(), Code::argument);
    EXPECT_EQ(run<allocator::GatherElements>(0, {list}).failure().code(), Code::argument);
    EXPECT_EQ(run<allocator::CountElements>(0, {list}).value().output.elements, 0U);
}

}  // namespace
}  // namespace acp::data::test
