// SPDX-License-Identifier: BSD-3-Clause
// <acp/vector.h>.
#include "api/sequence_calls.hpp"

#include <acp/vector.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::code_of;
using api::SequenceCall;
using sequence::ContentEnd;
using sequence::SequenceKind;

SequenceCall call_of(const char* name, acp_vector_t vector) noexcept {
    return {name, SequenceKind::vector, vector.ga};
}

api::SequenceRange range_of(acp_vector_it_t start, acp_vector_it_t end) noexcept {
    return {start.vector.ga, start.index, end.vector.ga, end.index};
}

// The iterator that a call returns; after a failure none.
acp_vector_it_t iterator_if(bool is_ok, acp_vector_it_t it) noexcept {
    return is_ok ? it : acp_vector_it_t{{ACP_GA_NULL}, -1};
}

}  // namespace

extern "C" {

acp_vector_t acp_create_vector(size_t size, int rank) {
    return {api::create_sequence("acp_create_vector", SequenceKind::vector, size, 0, rank)};
}

int acp_destroy_vector(acp_vector_t vector) {
    return api::destroy_sequence(call_of("acp_destroy_vector", vector));
}

int acp_push_back_vector(acp_vector_t vector, const void* ptr, size_t size) {
    return code_of(api::push_sequence(call_of("acp_push_back_vector", vector), ContentEnd::back,
                                      ptr, size) >= 0);
}

int64_t acp_append_vector(acp_vector_t vector, const void* ptr, size_t size) {
    return api::push_sequence(call_of("acp_append_vector", vector), ContentEnd::back, ptr, size);
}

int acp_pop_back_vector(acp_vector_t vector, size_t size) {
    return code_of(
        api::drop_sequence(call_of("acp_pop_back_vector", vector), ContentEnd::back, size) >= 0);
}

int64_t acp_take_back_vector(acp_vector_t vector, void* ptr, size_t size) {
    return api::take_sequence(call_of("acp_take_back_vector", vector), ContentEnd::back, ptr, size);
}

int64_t acp_read_vector(acp_vector_t vector, int64_t index, void* ptr, size_t size) {
    return api::read_sequence(call_of("acp_read_vector", vector), index, ptr, size);
}

int acp_write_vector(acp_vector_t vector, int64_t index, const void* ptr, size_t size) {
    return code_of(api::write_sequence(call_of("acp_write_vector", vector), index, ptr, size));
}

acp_vector_it_t acp_insert_vector(acp_vector_it_t it, const void* ptr, size_t size) {
    const bool is_done =
        api::insert_sequence(call_of("acp_insert_vector", it.vector), it.index, ptr, size);
    return iterator_if(is_done, it);
}

acp_vector_it_t acp_insert_range_vector(acp_vector_it_t it,
                                        acp_vector_it_t start,
                                        acp_vector_it_t end) {
    const bool is_done = api::insert_range_of_sequence(
        call_of("acp_insert_range_vector", it.vector), it.index, range_of(start, end));
    return iterator_if(is_done, it);
}

acp_vector_it_t acp_erase_vector(acp_vector_it_t it, size_t size) {
    return iterator_if(api::erase_sequence(call_of("acp_erase_vector", it.vector), it.index, size),
                       it);
}

acp_vector_it_t acp_erase_range_vector(acp_vector_it_t start, acp_vector_it_t end) {
    return iterator_if(api::erase_range_of_sequence(call_of("acp_erase_range_vector", start.vector),
                                                    range_of(start, end)),
                       start);
}

int acp_assign_vector(acp_vector_t vector1, acp_vector_t vector2) {
    return code_of(api::assign_sequence(call_of("acp_assign_vector", vector1), vector2.ga));
}

int acp_assign_range_vector(acp_vector_t vector, acp_vector_it_t start, acp_vector_it_t end) {
    return code_of(api::assign_range_of_sequence(call_of("acp_assign_range_vector", vector),
                                                 range_of(start, end)));
}

int acp_swap_vector(acp_vector_t vector1, acp_vector_t vector2) {
    return code_of(api::swap_sequences(call_of("acp_swap_vector", vector1), vector2.ga));
}

int acp_clear_vector(acp_vector_t vector) {
    return code_of(api::clear_sequence(call_of("acp_clear_vector", vector)) >= 0);
}

int acp_reserve_vector(acp_vector_t vector, size_t size) {
    return code_of(api::reserve_sequence(call_of("acp_reserve_vector", vector), size));
}

size_t acp_size_vector(acp_vector_t vector) {
    const auto seen = api::look_at_sequence(call_of("acp_size_vector", vector), 0, 0, false);
    return seen.is_seen ? seen.bytes : SIZE_MAX;
}

size_t acp_capacity_vector(acp_vector_t vector) {
    const auto seen = api::look_at_sequence(call_of("acp_capacity_vector", vector), 0, 0, false);
    return seen.is_seen ? seen.capacity : SIZE_MAX;
}

int acp_empty_vector(acp_vector_t vector) {
    const auto seen = api::look_at_sequence(call_of("acp_empty_vector", vector), 0, 0, false);
    if (!seen.is_seen) return -1;
    return seen.bytes == 0 ? 1 : 0;
}

acp_ga_t acp_at_vector(acp_vector_t vector, int64_t index) {
    return api::look_at_sequence(call_of("acp_at_vector", vector), index, 1, true).addresses[0];
}

acp_ga_t acp_dereference_vector_it(acp_vector_it_t it) {
    return api::look_at_sequence(call_of("acp_dereference_vector_it", it.vector), it.index, 1, true)
        .addresses[0];
}

acp_vector_it_t acp_begin_vector(acp_vector_t vector) {
    return {vector, 0};
}

acp_vector_it_t acp_end_vector(acp_vector_t vector) {
    const api::SequenceSeen seen =
        api::look_at_sequence(call_of("acp_end_vector", vector), 0, 0, false);
    return iterator_if(seen.is_seen, {vector, static_cast<int64_t>(seen.bytes)});
}

acp_vector_it_t acp_advance_vector_it(acp_vector_it_t it, int64_t n) {
    // Unsigned, so that it wraps around; an index that is negative then is refused where it is
    // used.
    const auto index = static_cast<uint64_t>(it.index) + static_cast<uint64_t>(n);
    return {it.vector, static_cast<int64_t>(index)};
}

int64_t acp_distance_vector_it(acp_vector_it_t first, acp_vector_it_t last) {
    const auto bytes = static_cast<uint64_t>(last.index) - static_cast<uint64_t>(first.index);
    return static_cast<int64_t>(bytes);
}
}
