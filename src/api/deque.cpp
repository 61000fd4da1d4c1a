// SPDX-License-Identifier: BSD-3-Clause
// <acp/deque.h>.
#include "api/sequence_calls.hpp"

#include <acp/deque.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using api::code_of;
using api::SequenceCall;
using sequence::ContentEnd;
using sequence::SequenceKind;

SequenceCall call_of(const char* name, acp_deque_t deque) noexcept {
    return {name, SequenceKind::deque, deque.ga};
}

api::SequenceRange range_of(acp_deque_it_t start, acp_deque_it_t end) noexcept {
    return {start.deque.ga, start.index, end.deque.ga, end.index};
}

// The iterator that a call returns; after a failure none.
acp_deque_it_t iterator_if(bool is_ok, acp_deque_it_t it) noexcept {
    return is_ok ? it : acp_deque_it_t{{ACP_GA_NULL}, -1};
}

}  // namespace

extern "C" {

acp_deque_t acp_create_deque(size_t size, int rank) {
    return {api::create_sequence("acp_create_deque", SequenceKind::deque, 0, size, rank)};
}

int acp_destroy_deque(acp_deque_t deque) {
    return api::destroy_sequence(call_of("acp_destroy_deque", deque));
}

int acp_push_back_deque(acp_deque_t deque, const void* ptr, size_t size) {
    return code_of(api::push_sequence(call_of("acp_push_back_deque", deque), ContentEnd::back, ptr,
                                      size) >= 0);
}

int acp_push_front_deque(acp_deque_t deque, const void* ptr, size_t size) {
    return code_of(api::push_sequence(call_of("acp_push_front_deque", deque), ContentEnd::front,
                                      ptr, size) >= 0);
}

int64_t acp_append_deque(acp_deque_t deque, const void* ptr, size_t size) {
    return api::push_sequence(call_of("acp_append_deque", deque), ContentEnd::back, ptr, size);
}

int acp_pop_back_deque(acp_deque_t deque, size_t size) {
    return code_of(
        api::drop_sequence(call_of("acp_pop_back_deque", deque), ContentEnd::back, size) >= 0);
}

int64_t acp_take_back_deque(acp_deque_t deque, void* ptr, size_t size) {
    return api::take_sequence(call_of("acp_take_back_deque", deque), ContentEnd::back, ptr, size);
}

int acp_pop_front_deque(acp_deque_t deque, size_t size) {
    return code_of(
        api::drop_sequence(call_of("acp_pop_front_deque", deque), ContentEnd::front, size) >= 0);
}

int64_t acp_take_front_deque(acp_deque_t deque, void* ptr, size_t size) {
    return api::take_sequence(call_of("acp_take_front_deque", deque), ContentEnd::front, ptr, size);
}

int64_t acp_read_deque(acp_deque_t deque, int64_t index, void* ptr, size_t size) {
    return api::read_sequence(call_of("acp_read_deque", deque), index, ptr, size);
}

int acp_write_deque(acp_deque_t deque, int64_t index, const void* ptr, size_t size) {
    return code_of(api::write_sequence(call_of("acp_write_deque", deque), index, ptr, size));
}

acp_deque_it_t acp_insert_deque(acp_deque_it_t it, const void* ptr, size_t size) {
    const bool is_done =
        api::insert_sequence(call_of("acp_insert_deque", it.deque), it.index, ptr, size);
    return iterator_if(is_done, it);
}

acp_deque_it_t acp_insert_range_deque(acp_deque_it_t it, acp_deque_it_t start, acp_deque_it_t end) {
    const bool is_done = api::insert_range_of_sequence(call_of("acp_insert_range_deque", it.deque),
                                                       it.index, range_of(start, end));
    return iterator_if(is_done, it);
}

acp_deque_it_t acp_erase_deque(acp_deque_it_t it, size_t size) {
    return iterator_if(api::erase_sequence(call_of("acp_erase_deque", it.deque), it.index, size),
                       it);
}

acp_deque_it_t acp_erase_range_deque(acp_deque_it_t start, acp_deque_it_t end) {
    return iterator_if(api::erase_range_of_sequence(call_of("acp_erase_range_deque", start.deque),
                                                    range_of(start, end)),
                       start);
}

int acp_assign_deque(acp_deque_t deque1, acp_deque_t deque2) {
    return code_of(api::assign_sequence(call_of("acp_assign_deque", deque1), deque2.ga));
}

int acp_assign_range_deque(acp_deque_t deque, acp_deque_it_t start, acp_deque_it_t end) {
    return code_of(api::assign_range_of_sequence(call_of("acp_assign_range_deque", deque),
                                                 range_of(start, end)));
}

int acp_swap_deque(acp_deque_t deque1, acp_deque_t deque2) {
    return code_of(api::swap_sequences(call_of("acp_swap_deque", deque1), deque2.ga));
}

int acp_clear_deque(acp_deque_t deque) {
    return code_of(api::clear_sequence(call_of("acp_clear_deque", deque)) >= 0);
}

int acp_reserve_deque(acp_deque_t deque, size_t size) {
    return code_of(api::reserve_sequence(call_of("acp_reserve_deque", deque), size));
}

size_t acp_size_deque(acp_deque_t deque) {
    const auto seen = api::look_at_sequence(call_of("acp_size_deque", deque), 0, 0, false);
    return seen.is_seen ? seen.bytes : SIZE_MAX;
}

size_t acp_capacity_deque(acp_deque_t deque) {
    const auto seen = api::look_at_sequence(call_of("acp_capacity_deque", deque), 0, 0, false);
    return seen.is_seen ? seen.capacity : SIZE_MAX;
}

int acp_empty_deque(acp_deque_t deque) {
    const auto seen = api::look_at_sequence(call_of("acp_empty_deque", deque), 0, 0, false);
    if (!seen.is_seen) return -1;
    return seen.bytes == 0 ? 1 : 0;
}

acp_ga_t acp_at_deque(acp_deque_t deque, int64_t index) {
    return api::look_at_sequence(call_of("acp_at_deque", deque), index, 1, true).addresses[0];
}

acp_pair_t acp_dereference_deque_it(acp_deque_it_t it, size_t size) {
    const api::SequenceSeen seen =
        api::look_at_sequence(call_of("acp_dereference_deque_it", it.deque), it.index, size, true);
    return {{seen.addresses[0], seen.pieces[0]}, {seen.addresses[1], seen.pieces[1]}};
}

acp_deque_it_t acp_begin_deque(acp_deque_t deque) {
    return {deque, 0};
}

acp_deque_it_t acp_end_deque(acp_deque_t deque) {
    const api::SequenceSeen seen =
        api::look_at_sequence(call_of("acp_end_deque", deque), 0, 0, false);
    return iterator_if(seen.is_seen, {deque, static_cast<int64_t>(seen.bytes)});
}

acp_deque_it_t acp_advance_deque_it(acp_deque_it_t it, int64_t n) {
    // Unsigned, so that it wraps around; an index that is negative then is refused where it is
    // used.
    const auto index = static_cast<uint64_t>(it.index) + static_cast<uint64_t>(n);
    return {it.deque, static_cast<int64_t>(index)};
}

int64_t acp_distance_deque_it(acp_deque_it_t first, acp_deque_it_t last) {
    const auto bytes = static_cast<uint64_t>(last.index) - static_cast<uint64_t>(first.index);
    return static_cast<int64_t>(bytes);
}
}
