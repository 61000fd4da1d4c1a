// SPDX-License-Identifier: BSD-3-Clause
// The calls on vectors and on deques by common names, for tests that hold for both, and a table of
// calls on a container that a row describes: its content before and after, the result, and the code.
#pragma once

#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include <acp.h>

namespace acp::api::test {

// The calls that both kinds have.
#define ACP_SEQUENCE_CALLS(kind)                                  \
    using Handle = acp_##kind##_t;                                \
    using It = acp_##kind##_it_t;                                 \
    static Handle of(const It& it) {                              \
        return it.kind;                                           \
    }                                                             \
    static It at(Handle handle, std::int64_t index) {             \
        return {handle, index};                                   \
    }                                                             \
    static constexpr auto create = acp_create_##kind;             \
    static constexpr auto destroy = acp_destroy_##kind;           \
    static constexpr auto push_back = acp_push_back_##kind;       \
    static constexpr auto append = acp_append_##kind;             \
    static constexpr auto pop_back = acp_pop_back_##kind;         \
    static constexpr auto take_back = acp_take_back_##kind;       \
    static constexpr auto read = acp_read_##kind;                 \
    static constexpr auto write = acp_write_##kind;               \
    static constexpr auto insert = acp_insert_##kind;             \
    static constexpr auto insert_range = acp_insert_range_##kind; \
    static constexpr auto erase = acp_erase_##kind;               \
    static constexpr auto erase_range = acp_erase_range_##kind;   \
    static constexpr auto assign = acp_assign_##kind;             \
    static constexpr auto assign_range = acp_assign_range_##kind; \
    static constexpr auto swap = acp_swap_##kind;                 \
    static constexpr auto clear = acp_clear_##kind;               \
    static constexpr auto reserve = acp_reserve_##kind;           \
    static constexpr auto size = acp_size_##kind;                 \
    static constexpr auto capacity = acp_capacity_##kind;         \
    static constexpr auto empty = acp_empty_##kind;               \
    static constexpr auto address = acp_at_##kind;                \
    static constexpr auto begin = acp_begin_##kind;               \
    static constexpr auto end = acp_end_##kind;                   \
    static constexpr auto advance = acp_advance_##kind##_it;      \
    static constexpr auto distance = acp_distance_##kind##_it

struct VectorCalls {
    ACP_SEQUENCE_CALLS(vector);
};

struct DequeCalls {
    ACP_SEQUENCE_CALLS(deque);
};

// A container with a content.
template <typename Calls>
typename Calls::Handle made(std::string_view content) {
    const auto handle = Calls::create(0, 0);
    EXPECT_NE(handle.ga, ACP_GA_NULL) << acp_error_message();
    EXPECT_EQ(Calls::push_back(handle, content.data(), content.size()), 0) << acp_error_message();
    return handle;
}

template <typename Calls>
std::string content_of(typename Calls::Handle handle) {
    std::string bytes(Calls::size(handle), '?');
    EXPECT_EQ(Calls::read(handle, 0, bytes.data(), bytes.size()),
              static_cast<std::int64_t>(bytes.size()))
        << acp_error_message();
    return bytes;
}

// The result of a call that returns an iterator: its index; -1 with no container.
template <typename Calls>
std::int64_t place_in(typename Calls::Handle handle, const typename Calls::It& it) {
    if (Calls::of(it).ga == ACP_GA_NULL) return -1;
    EXPECT_EQ(Calls::of(it).ga, handle.ga) << "an iterator of another container";
    return it.index;
}

// A row: a call on a container, and what it returns and leaves.
template <typename Calls>
struct SequenceChange {
    const char* what;
    std::string before;
    std::function<std::int64_t(typename Calls::Handle)> call;
    std::int64_t result;
    int code;
    std::string after;
};

template <typename Calls>
void expect_changes(const std::vector<SequenceChange<Calls>>& rows) {
    for (const SequenceChange<Calls>& row : rows) {
        SCOPED_TRACE(std::string(row.what) + " of \"" + row.before + "\"");
        const auto handle = made<Calls>(row.before);
        acp_clear_errno();
        EXPECT_EQ(row.call(handle), row.result) << acp_error_message();
        EXPECT_EQ(acp_errno(), row.code) << acp_error_message();
        EXPECT_EQ(content_of<Calls>(handle), row.after);
        EXPECT_EQ(Calls::size(handle), row.after.size());
        EXPECT_EQ(Calls::empty(handle), row.after.empty() ? 1 : 0);
        EXPECT_GE(Calls::capacity(handle), row.after.size());
        EXPECT_EQ(Calls::end(handle).index, static_cast<std::int64_t>(row.after.size()));
        EXPECT_EQ(Calls::destroy(handle), 0) << acp_error_message();
    }
}

}  // namespace acp::api::test
