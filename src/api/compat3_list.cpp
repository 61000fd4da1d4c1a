// SPDX-License-Identifier: BSD-3-Clause
// <acp/compat3_list.h>: gets the bytes of an element to where the caller is, and calls the function of today.
#define ACP_COMPAT3_KEEPS_NAMES

#include <vector>

#include "api/list_calls.hpp"
#include "data/ask.hpp"

#include <acp/access.h>
#include <acp/compat3_list.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer

// Calls use(bytes) with the bytes of an element, unless they cannot be read.
template <typename Result, typename Use>
Result with_bytes(const char* call,
                  const acp_element_t& element,
                  Result failed,
                  const Use& use) noexcept {
    std::vector<std::byte> bytes;
    const bool is_read = api::run<api::Gravity::misuse_ends>(call, false, [&]() -> base::Status {
        bytes.resize(element.size);
        if (element.size == 0) return {};
        auto status = data::get(*api::library().gma, bytes.data(), element.ga, bytes.size());
        if (status.is_ok()) return status;
        return std::move(status).within(call);
    });
    return is_read ? use(bytes) : failed;
}

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
