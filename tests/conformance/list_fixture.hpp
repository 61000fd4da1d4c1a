// SPDX-License-Identifier: BSD-3-Clause
// The fixture of the tests of lists: lists of texts whose elements lie on any rank, and checks of
// expected failures.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <acp.h>

#include "support/heap_ranks.hpp"

namespace acp::test {

using Texts = std::vector<std::string>;

class ListContainerTest : public HeapRankedTest {
protected:
    // The ranks on which lists are made: this rank, the next one and the last one, each once.
    [[nodiscard]] std::vector<int> homes() const {
        std::set<int> some{rank_, (rank_ + 1) % procs_, procs_ - 1};
        return {some.begin(), some.end()};
    }

    static void push(acp_list_t list, const std::string& text, int rank) {
        ASSERT_EQ(acp_push_back_list(list, text.data(), text.size(), rank), 0)
            << acp_error_message();
    }

    [[nodiscard]] acp_list_t made(int home, const Texts& texts = {}) const {
        const acp_list_t list = acp_create_list(home);
        EXPECT_NE(list.ga, ACP_GA_NULL) << acp_error_message();
        for (std::size_t i = 0; i < texts.size(); ++i)
            push(list, texts[i], i % 2 == 0 ? home : static_cast<int>(i) % procs_);
        return list;
    }

    static std::string read(acp_list_it_t it) {
        const int64_t size = acp_read_list(it, nullptr, 0);
        if (size < 0) return std::string("(none) ") + acp_error_message();
        std::string text(static_cast<std::size_t>(size), '\0');
        EXPECT_EQ(acp_read_list(it, text.data(), text.size()), size) << acp_error_message();
        return text;
    }

    static Texts texts(acp_list_t list) {
        Texts found;
        const acp_list_it_t end = acp_end_list(list);
        for (acp_list_it_t it = acp_begin_list(list); it.elem != end.elem && it.elem != 0;
             it = acp_increment_list_it(it)) {
            found.push_back(read(it));
        }
        return found;
    }

    static std::string take_front(acp_list_t list) {
        std::string text(100'000, '\0');
        const int64_t size = acp_take_front_list(list, text.data(), text.size());
        if (size == ACP_NONE) return "(empty)";
        if (size < 0) return std::string("(failed) ") + acp_error_message();
        text.resize(static_cast<std::size_t>(size));
        return text;
    }

    static void expect_failure_of(int code, const std::string& part) {
        EXPECT_EQ(acp_errno(), code) << acp_error_message();
        EXPECT_NE(std::string(acp_error_message()).find(part), std::string::npos)
            << part << " is not in: " << acp_error_message();
    }

    static acp_list_it_t at(acp_list_t list, int number) {
        return acp_advance_list_it(acp_begin_list(list), number);
    }
};

}  // namespace acp::test
