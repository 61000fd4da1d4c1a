// SPDX-License-Identifier: BSD-3-Clause
// A program of ACP 3.0 that uses lists, with 3.0's names and arguments.
#include <cstring>
#include <string>
#include <vector>

#include <acp.h>
#include <acp/compat3_list.h>

#include "support/ranked.hpp"

namespace acp::test {
namespace {

class Compat3ListTest : public RankedTest {};

int compare_bytes(const acp_element_t one, const acp_element_t other) {
    char first = 0;
    char second = 0;
    acp_complete(acp_get(&first, one.ga, 1, ACP_HANDLE_NULL));
    acp_complete(acp_get(&second, other.ga, 1, ACP_HANDLE_NULL));
    return first - second;
}

std::string content(acp_list_t list) {
    std::string found;
    for (acp_list_it_t it = acp_begin_list(list); it.elem != list.ga && it.elem != ACP_GA_NULL;
         it = acp_increment_list_it(it)) {
        const acp_element_t element = acp_dereference_list_it(it);
        std::string bytes(element.size, '\0');
        acp_complete(acp_get(bytes.data(), element.ga, element.size, ACP_HANDLE_NULL));
        found += bytes;
    }
    return found;
}

TEST_F(Compat3ListTest, elements_come_from_global_addresses) {
    const acp_ga_t own = acp_query_starter_ga(rank_);
    std::memcpy(acp_query_address(own), "cabd", 4);
    for (int home = 0; home < procs_; ++home) {
        acp_list_t list = acp_create_list(home);
        acp_push_back_list(list, {own, 1}, rank_);
        acp_push_back_list(list, {own + 1, 1}, home);
        acp_push_front_list(list, {own + 2, 2}, procs_ - 1);
        EXPECT_EQ(content(list), "bdca");
        acp_list_it_t it = acp_insert_list(acp_end_list(list), {own + 3, 1}, home);
        EXPECT_NE(it.elem, ACP_GA_NULL) << acp_error_message();
        EXPECT_EQ(content(list), "bdcad");
        acp_remove_list(list, {own + 3, 1});
        EXPECT_EQ(content(list), "bdca");
        it = acp_advance_list_it(acp_begin_list(list), -1);
        EXPECT_EQ(it.elem, acp_begin_list(list).elem);
        it = acp_advance_list_it(it, 2);
        EXPECT_EQ(acp_distance_list_it(acp_begin_list(list), it), 2);
        acp_list_t other = acp_create_list(home);
        EXPECT_EQ(acp_distance_list_it(it, acp_end_list(other)), 0);
        acp_splice_list(acp_end_list(other), it);
        EXPECT_EQ(content(list) + "," + content(other), "bdc,a");
        acp_sort_list(list, compare_bytes);
        acp_merge_list(list, other, compare_bytes);
        EXPECT_EQ(content(list), "abdc");
        acp_push_back_list(list, {own, 1}, acp_procs());
        EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT) << acp_error_message();
        acp_push_back_list(list, {ACP_GA_NULL, 1}, home);
        EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS) << acp_error_message();
        EXPECT_EQ(content(list), "abdc");
        acp_destroy_list(list);
        acp_destroy_list(other);
    }
}

}  // namespace
}  // namespace acp::test
