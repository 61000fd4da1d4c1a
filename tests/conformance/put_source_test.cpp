// SPDX-License-Identifier: BSD-3-Clause
// When the program may change the source of a put: at once with acp_put_copied, and after
// acp_wait_source, at every length, to memory of every kind on the next rank; and a failure that
// acp_wait_source sees is still reported by the wait for the put.
#include <algorithm>
#include <vector>

#include "support/kind_test.hpp"

namespace acp::test {
namespace {

constexpr std::size_t sizes[] = {0,    1,      8,       256,     257,      4096,
                                 4097, 65'536, 262'144, 262'145, 1'048'576};
constexpr std::size_t longest = 1'048'576;

class PutSourceTest : public KindTest {
protected:
    // Puts a pattern to the next rank by put(target, source, order), changes the source when put()
    // has returned, and checks the target.
    template <typename Put>
    void expect_source_free(std::byte* source,
                            std::size_t size,
                            const Arena& arena,
                            const Put& put) const {
        const std::span<std::byte> bytes(source, size);
        fill_pattern(bytes, size, rank_);
        const std::vector<std::byte> sent(bytes.begin(), bytes.end());
        const acp_handle_t handle = put(arena.at(next(), 0), source);
        std::ranges::fill(bytes, std::byte{0x5a});
        expect_done(handle);
        std::vector<std::byte> there(size);
        expect_done(acp_get(there.data(), arena.at(next(), 0), size, ACP_HANDLE_NULL));
        EXPECT_TRUE(there == sent) << size << " bytes";
    }
};

TEST_P(PutSourceTest, the_source_of_a_copied_put_may_be_changed_at_once) {
    const Arena arena(GetParam(), longest);
    std::vector<std::byte> memory(longest);
    std::byte* const starter =
        static_cast<std::byte*>(acp_query_address(acp_query_starter_ga(rank_))) + 4 * longest;
    for (const std::size_t size : sizes) {
        if (!reaches(next())) break;
        for (const acp_handle_t order : {ACP_HANDLE_NULL, ACP_HANDLE_ALL, ACP_HANDLE_CONT}) {
            for (std::byte* source : {memory.data(), starter}) {
                expect_source_free(source, size, arena, [&](acp_ga_t to, const void* from) {
                    return acp_put_copied(to, from, size, order);
                });
            }
        }
    }
    sync_ranks();
}

TEST_P(PutSourceTest, many_copied_puts_from_one_buffer_all_arrive) {
    constexpr std::size_t each = 3'000;
    // More than there are blocks for copied sources.
    constexpr std::size_t count = 200;
    const Arena arena(GetParam(), each * count);
    std::vector<std::byte> buffer(each);
    if (reaches(next())) {
        for (std::size_t i = 0; i < count; ++i) {
            fill_pattern(buffer, i, rank_);
            (void)acp_put_copied(arena.at(next(), i * each), buffer.data(), each, ACP_HANDLE_NULL);
        }
        expect_done(ACP_HANDLE_ALL);
        std::vector<std::byte> there(each);
        for (std::size_t i = 0; i < count; ++i) {
            fill_pattern(buffer, i, rank_);
            expect_done(acp_get(there.data(), arena.at(next(), i * each), each, ACP_HANDLE_NULL));
            EXPECT_TRUE(there == buffer) << "put " << i;
        }
    }
    sync_ranks();
}

TEST_P(PutSourceTest, the_source_of_a_put_may_be_changed_when_it_was_waited_for) {
    const Arena arena(GetParam(), longest);
    std::vector<std::byte> memory(longest);
    for (const std::size_t size : sizes) {
        if (!reaches(next())) break;
        for (const bool waits_for_all : {false, true}) {
            expect_source_free(memory.data(), size, arena, [&](acp_ga_t to, const void* from) {
                const acp_handle_t handle = acp_put(to, from, size, ACP_HANDLE_NULL);
                EXPECT_EQ(acp_wait_source(waits_for_all ? ACP_HANDLE_ALL : handle), 0);
                return handle;
            });
        }
    }
    EXPECT_EQ(acp_wait_source(ACP_HANDLE_NULL), 0);
    sync_ranks();
}

TEST_P(PutSourceTest, waiting_for_a_source_leaves_the_failure_to_the_handle) {
    std::vector<std::byte> memory(longest);
    const acp_ga_t beyond = acp_query_starter_ga(next()) + acp_starter_size();
    for (const std::size_t size : {std::size_t{8}, std::size_t{4096}, longest}) {
        const acp_handle_t copied = acp_put_copied(beyond, memory.data(), size, ACP_HANDLE_NULL);
        const acp_handle_t after =
            acp_put_copied(acp_query_starter_ga(next()), memory.data(), size, copied);
        const acp_handle_t put = acp_put(beyond, memory.data(), size, ACP_HANDLE_NULL);
        EXPECT_EQ(acp_wait_source(put), 0);
        expect_failure(copied, ACP_ERR_ADDRESS, {"acp_put_copied"});
        expect_failure(after, ACP_ERR_ORDER, {"acp_put_copied"});
        expect_failure(put, ACP_ERR_ADDRESS, {"acp_put by"});
    }
    expect_failure(acp_put_copied(beyond, nullptr, 8, ACP_HANDLE_NULL), ACP_ERR_ARGUMENT,
                   {"acp_put_copied", "NULL"});
    sync_ranks();
}

INSTANTIATE_TEST_SUITE_P(kinds,
                         PutSourceTest,
                         ::testing::Values(Kind::starter, Kind::registered),
                         [](const auto& each) { return name_of(each.param); });

}  // namespace
}  // namespace acp::test
