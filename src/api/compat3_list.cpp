// SPDX-License-Identifier: BSD-3-Clause
// <acp/compat3_list.h>: fetches the bytes of an element, and calls the present function.
#define ACP_COMPAT3_KEEPS_NAMES

#include "api/compat3.hpp"
#include "api/list_calls.hpp"

#include <acp/access.h>
#include <acp/compat3_list.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::with_bytes;

}  // namespace

extern "C" {

void acp3_push_back_list(acp_list_t list, const acp_element_t elem, int rank) {
    (void)with_bytes("acp_push_back_list", elem, -1, [&](const auto& bytes) {
        return acp_push_back_list(list, bytes.data(), bytes.size(), rank);
    });
}

void acp3_push_front_list(acp_list_t list, const acp_element_t elem, int rank) {
    (void)with_bytes("acp_push_front_list", elem, -1, [&](const auto& bytes) {
        return acp_push_front_list(list, bytes.data(), bytes.size(), rank);
    });
}

acp_list_it_t acp3_insert_list(acp_list_it_t it, const acp_element_t elem, int rank) {
    return with_bytes("acp_insert_list", elem, api::no_place, [&](const auto& bytes) {
        return acp_insert_list(it, bytes.data(), bytes.size(), rank);
    });
}

void acp3_remove_list(acp_list_t list, const acp_element_t elem) {
    (void)with_bytes("acp_remove_list", elem, -1, [&](const auto& bytes) {
        return acp_remove_list(list, bytes.data(), bytes.size());
    });
}

acp_list_it_t acp3_advance_list_it(acp_list_it_t it, int n) {
    return acp_advance_list_it(it, n > 0 ? n : 0);
}

int acp3_distance_list_it(acp_list_it_t first, acp_list_it_t last) {
    return first.list.ga == last.list.ga ? acp_distance_list_it(first, last) : 0;
}
}
