// SPDX-License-Identifier: BSD-3-Clause
// Vectors and deques by the names and signatures of ACP 3.0: the sources of insertions are global
// addresses, and invalid ranges are ignored.
#include <cstring>
#include <string>

#include <acp.h>
#include <acp/compat3_sequence.h>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

class CompatibleSequenceTest : public RankedTest {
protected:
    // Writes a text to memory of a rank and returns its address.
    acp_ga_t place(int owner, const std::string& text) {
        const acp_ga_t block = acp_malloc(text.size() + 1, owner);
        expect_done(acp_put(block, text.data(), text.size(), ACP_HANDLE_NULL));
        return block;
    }

    static std::string content(acp_vector_t vector) {
        std::string read(100, '\0');
        read.resize(static_cast<std::size_t>(acp_read_vector(vector, 0, read.data(), read.size())));
        return read;
    }

    static std::string content(acp_deque_t deque) {
        std::string read(100, '\0');
        read.resize(static_cast<std::size_t>(acp_read_deque(deque, 0, read.data(), read.size())));
        return read;
    }
};

TEST_F(CompatibleSequenceTest, a_vector_takes_what_lies_at_global_addresses) {
    const acp_ga_t text = place((rank_ + 1) % procs_, "0123456789");
    acp_vector_t vector = acp_create_vector(0, procs_ - 1);
    acp_push_back_vector(vector, text, 6);
    EXPECT_EQ(content(vector), "012345");
    acp_vector_it_t it = acp_advance_vector_it(acp_begin_vector(vector), 2);
    it = acp_insert_vector(it, text + 7, 3);
    EXPECT_EQ(it.index, 2);
    EXPECT_EQ(content(vector), "017892345");
    it = acp_erase_vector(it, 3);
    EXPECT_EQ(content(vector), "012345");
    acp_vector_t other = acp_create_vector(0, rank_);
    acp_push_back_vector(other, text, 4);
    acp_insert_range_vector(acp_begin_vector(vector), {other, 1}, {other, 3});
    EXPECT_EQ(content(vector), "12012345");
    // Ranges that are empty, reversed, of two vectors, or negative are ignored.
    acp_insert_range_vector(acp_begin_vector(vector), {other, 1}, {other, 1});
    acp_insert_range_vector(acp_begin_vector(vector), {other, 3}, {other, 1});
    acp_insert_range_vector(acp_begin_vector(vector), {other, 0}, {vector, 1});
    acp_assign_range_vector(vector, {other, 0}, {vector, 1});
    acp_assign_range_vector(vector, {other, -1}, {other, 1});
    EXPECT_EQ(acp_erase_range_vector({vector, 2}, {vector, 1}).index, 1) << "the end, as 3.0 says";
    EXPECT_EQ(content(vector), "12012345");
    acp_assign_range_vector(vector, {other, 1}, acp_end_vector(other));
    EXPECT_EQ(content(vector), "123");
    EXPECT_EQ(acp_erase_range_vector({vector, 0}, {vector, 2}).index, 0);
    EXPECT_EQ(content(vector), "3");
    acp_push_back_vector(vector, ACP_GA_NULL, 4);
    EXPECT_EQ(content(vector), "3") << "nothing is there to be pushed";
    EXPECT_EQ(acp_insert_vector({vector, 50}, text, 1).index, 50) << "the iterator, as 3.0 says";
    acp_assign_range_vector(vector, {other, 1}, {other, 1});
    EXPECT_EQ(content(vector), "") << "of no bytes";
    acp_swap_vector(vector, other);
    EXPECT_EQ(content(vector), "0123");
    acp_destroy_vector(vector);
    acp_destroy_vector(other);
    EXPECT_EQ(acp_free(text), 0);
    sync_ranks();
}

TEST_F(CompatibleSequenceTest, a_deque_takes_what_lies_at_global_addresses) {
    const acp_ga_t text = place((rank_ + 1) % procs_, "0123456789");
    acp_deque_t deque = acp_create_deque(16, procs_ - 1);
    acp_push_back_deque(deque, text, 3);
    acp_push_front_deque(deque, text + 7, 3);
    EXPECT_EQ(content(deque), "789012");
    const acp_deque_it_t it = acp_insert_deque({deque, 3}, text + 4, 2);
    EXPECT_EQ(it.index, 3);
    EXPECT_EQ(content(deque), "78945012");
    EXPECT_EQ(acp_erase_deque(it, 2).index, 3);
    acp_insert_range_deque(acp_end_deque(deque), {deque, 0}, {deque, 2});
    EXPECT_EQ(content(deque), "78901278");
    EXPECT_EQ(acp_insert_range_deque(acp_end_deque(deque), {deque, 2}, {deque, 0}).index, 0)
        << "the end, as 3.0 says";
    EXPECT_EQ(acp_erase_range_deque({deque, 3}, {deque, 8}).index, 3);
    EXPECT_EQ(content(deque), "789");
    acp_assign_range_deque(deque, {deque, 1}, {deque, 2});
    EXPECT_EQ(content(deque), "8");
    const acp_deque_t none = acp_create_deque(8, rank_);
    acp_push_back_deque(none, text, 2);
    acp_assign_range_deque(none, acp_end_deque(deque), acp_end_deque(deque));
    EXPECT_EQ(content(none), "");
    acp_destroy_deque(none);
    acp_pop_front_deque(deque, 5);
    EXPECT_TRUE(acp_empty_deque(deque));
    acp_destroy_deque(deque);
    EXPECT_EQ(acp_free(text), 0);
    sync_ranks();
}

}  // namespace
}  // namespace acp::test
