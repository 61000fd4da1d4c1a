// SPDX-License-Identifier: BSD-3-Clause
// <acp/compat3_sequence.h>: fetches the bytes that a program of ACP 3.0 names by a global address,
// then calls the functions behind <acp/vector.h> and <acp/deque.h>.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "api/compat3.hpp"
#include "api/sequence_calls.hpp"

// Here the names are those of acp.h.
#define ACP_COMPAT3_KEEPS_NAMES
#include <acp/compat3_sequence.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer

// Whether both are in one container, and `end` does not precede `start`.
bool is_range(acp_vector_it_t start, acp_vector_it_t end) noexcept {
    return start.vector.ga == end.vector.ga && start.index >= 0 && start.index <= end.index;
}

bool is_range(acp_deque_it_t start, acp_deque_it_t end) noexcept {
    return start.deque.ga == end.deque.ga && start.index >= 0 && start.index <= end.index;
}

template <typename Iterator>
bool has_bytes(const Iterator& start, const Iterator& end) noexcept {
    return is_range(start, end) && start.index < end.index;
}

}  // namespace

extern "C" {

void acp3_push_back_vector(acp_vector_t vector, acp_ga_t ga, size_t size) {
    std::vector<std::byte> bytes;
    if (!api::fetch_bytes("acp_push_back_vector", ga, size, bytes)) return;
    (void)acp_push_back_vector(vector, bytes.data(), size);
}

acp_vector_it_t acp3_insert_vector(acp_vector_it_t it, acp_ga_t ga, size_t size) {
    std::vector<std::byte> bytes;
    if (api::fetch_bytes("acp_insert_vector", ga, size, bytes))
        (void)acp_insert_vector(it, bytes.data(), size);
    return it;
}

void acp3_push_back_deque(acp_deque_t deque, acp_ga_t ga, size_t size) {
    std::vector<std::byte> bytes;
    if (!api::fetch_bytes("acp_push_back_deque", ga, size, bytes)) return;
    (void)acp_push_back_deque(deque, bytes.data(), size);
}

void acp3_push_front_deque(acp_deque_t deque, acp_ga_t ga, size_t size) {
    std::vector<std::byte> bytes;
    if (!api::fetch_bytes("acp_push_front_deque", ga, size, bytes)) return;
    (void)acp_push_front_deque(deque, bytes.data(), size);
}

acp_deque_it_t acp3_insert_deque(acp_deque_it_t it, acp_ga_t ga, size_t size) {
    std::vector<std::byte> bytes;
    if (api::fetch_bytes("acp_insert_deque", ga, size, bytes))
        (void)acp_insert_deque(it, bytes.data(), size);
    return it;
}

void acp3_assign_range_vector(acp_vector_t vector, acp_vector_it_t start, acp_vector_it_t end) {
    if (is_range(start, end)) (void)acp_assign_range_vector(vector, start, end);
}

acp_vector_it_t acp3_insert_range_vector(acp_vector_it_t it,
                                         acp_vector_it_t start,
                                         acp_vector_it_t end) {
    if (has_bytes(start, end)) (void)acp_insert_range_vector(it, start, end);
    return it;
}

acp_vector_it_t acp3_erase_range_vector(acp_vector_it_t start, acp_vector_it_t end) {
    if (!has_bytes(start, end)) return end;
    (void)acp_erase_range_vector(start, end);
    return start;
}

acp_vector_it_t acp3_erase_vector(acp_vector_it_t it, size_t size) {
    (void)acp_erase_vector(it, size);
    return it;
}

void acp3_assign_range_deque(acp_deque_t deque, acp_deque_it_t start, acp_deque_it_t end) {
    if (is_range(start, end)) (void)acp_assign_range_deque(deque, start, end);
}

acp_deque_it_t acp3_insert_range_deque(acp_deque_it_t it,
                                       acp_deque_it_t start,
                                       acp_deque_it_t end) {
    if (!has_bytes(start, end)) return end;
    (void)acp_insert_range_deque(it, start, end);
    return it;
}

acp_deque_it_t acp3_erase_range_deque(acp_deque_it_t start, acp_deque_it_t end) {
    if (!has_bytes(start, end)) return end;
    (void)acp_erase_range_deque(start, end);
    return start;
}

acp_deque_it_t acp3_erase_deque(acp_deque_it_t it, size_t size) {
    (void)acp_erase_deque(it, size);
    return it;
}
}
