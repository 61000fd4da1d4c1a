// SPDX-License-Identifier: BSD-3-Clause
// The contexts of a process: find() returns open contexts only, an error names the reason why a
// context cannot be opened, and an attempt that fails leaves the heap as it was.
#include "pm/contexts.hpp"

#include <new>
#include <set>

#include "support/refuse_memory.hpp"
#include "unit/pm/pm_node.hpp"

namespace acp::pm::test {
namespace {

using base::Code;

class ContextsTest : public testing::Test {
protected:
    // Bytes in use in the heap of the process.
    [[nodiscard]] std::uint64_t used() {
        return node_.ranks[0].allocator->usage(0).value().block_bytes;
    }

    void expect_refused(const base::Result<ContextHandle>& opened, const char* words) {
        ASSERT_FALSE(opened.is_ok());
        EXPECT_EQ(opened.failure().code(), Code::state);
        EXPECT_NE(opened.failure().message().find(words), std::string_view::npos)
            << opened.failure().message();
    }

    PmNode node_{2, 64 << 20};
    Contexts& contexts_ = *node_.contexts[0];
};

TEST_F(ContextsTest, each_open_context_is_found_by_its_handle_alone) {
    std::set<ContextHandle> handles;
    std::set<Context*> found;
    for (std::uint32_t number = 0; number < pm_contexts; ++number) {
        auto opened = contexts_.open(number);
        ASSERT_TRUE(opened.is_ok()) << opened.failure().message();
        handles.insert(opened.value());
        found.insert(contexts_.find(opened.value()));
    }
    EXPECT_EQ(handles.size(), pm_contexts);
    EXPECT_EQ(found.size(), pm_contexts);
    EXPECT_FALSE(found.contains(nullptr));
    for (const ContextHandle handle : handles) {
        EXPECT_EQ(contexts_.find(handle + (1U << 8)), nullptr);
        EXPECT_FALSE(contexts_.close(handle + (1U << 8)));
    }
    for (const ContextHandle none : {ContextHandle{0}, ContextHandle{127}, ~ContextHandle{0}}) {
        EXPECT_EQ(contexts_.find(none), nullptr);
        EXPECT_FALSE(contexts_.close(none));
    }
}

TEST_F(ContextsTest, a_handle_ends_with_its_context) {
    const ContextHandle first = contexts_.open(3).value();
    expect_refused(contexts_.open(3), "context 3 is open already");
    EXPECT_TRUE(contexts_.close(first));
    EXPECT_EQ(contexts_.find(first), nullptr);
    EXPECT_FALSE(contexts_.close(first));
    const std::uint64_t before = used();
    const ContextHandle second = contexts_.open(3).value();
    EXPECT_EQ(used(), before) << "a context keeps its block";
    EXPECT_NE(second, first);
    EXPECT_EQ(contexts_.find(first), nullptr);
    EXPECT_NE(contexts_.find(second), nullptr);
}

TEST_F(ContextsTest, a_handle_of_an_epoch_is_none_of_the_next_one) {
    const ContextHandle old = contexts_.open(0).value();
    Contexts next(*node_.ranks[0].gma, *node_.ranks[0].allocator, contexts_.opened());
    EXPECT_EQ(next.find(old), nullptr);
    const ContextHandle now = next.open(0).value();
    EXPECT_NE(now, old);
    EXPECT_EQ(next.find(old), nullptr);
}

TEST_F(ContextsTest, a_heap_without_room_is_reported_and_room_is_used_later) {
    data::Allocator& allocator = *node_.ranks[0].allocator;
    std::vector<memory::GlobalAddress> filling;
    for (;;) {
        auto block = allocator.allocate(0, 1 << 20, 64);
        if (!block.is_ok()) break;
        filling.push_back(block.value());
    }
    const std::uint64_t before = used();
    EXPECT_EQ(contexts_.open(0).failure().code(), Code::memory);
    EXPECT_EQ(used(), before);
    for (const auto block : filling) EXPECT_TRUE(allocator.free(block).is_ok());
    EXPECT_TRUE(contexts_.open(0).is_ok());
}

TEST_F(ContextsTest, no_refused_allocation_leaves_a_block_behind) {
    const std::uint64_t before = used();
    std::uint64_t refused = 0;
    for (bool is_open = false; !is_open;) {
        ASSERT_LT(++refused, 100U);
        try {
            const acp::test::Refusal refusal(refused);
            is_open = contexts_.open(0).is_ok();
        } catch (const std::bad_alloc&) {
            EXPECT_EQ(used(), before) << "allocation " << refused << " was refused";
        }
    }
    EXPECT_GT(refused, 2U);
    EXPECT_GT(used(), before);
}

}  // namespace
}  // namespace acp::pm::test
