// SPDX-License-Identifier: BSD-3-Clause
// Two vectors and two deques that a rank swaps again and again until it is killed: a survivor then
// finds both contents, each at least once. The rank that makes them, the rank that swaps and the
// rank that checks may be three. Plain data, which is copied as bytes.
#pragma once

#include <array>
#include <string>

#include <acp.h>

#include "leaks/own_container.hpp"

namespace acp::test {

class SwappedPairs {
public:
    void make(int first_home, int second_home) {
        vectors_ = {acp_create_vector(0, first_home), acp_create_vector(0, second_home)};
        deques_ = {acp_create_deque(0, second_home), acp_create_deque(0, first_home)};
        for (std::size_t i = 0; i < 2; ++i) {
            must(acp_push_back_vector(vectors_[i], text(i).data(), text(i).size()) == 0,
                 "filling a vector that is swapped");
            must(acp_push_back_deque(deques_[i], text(i).data(), text(i).size()) == 0,
                 "filling a deque that is swapped");
        }
    }

    void swap_vectors() const {
        must(acp_swap_vector(vectors_[0], vectors_[1]) == 0, "acp_swap_vector");
    }

    void swap_deques() const {
        must(acp_swap_deque(deques_[0], deques_[1]) == 0, "acp_swap_deque");
    }

    void look_and_destroy() const {
        std::array<std::string, 2> in_vectors;
        std::array<std::string, 2> in_deques;
        for (std::size_t i = 0; i < 2; ++i) {
            in_vectors[i] = std::string(room_bytes, '\0');
            in_deques[i] = in_vectors[i];
            resize(in_vectors[i],
                   acp_read_vector(vectors_[i], 0, in_vectors[i].data(), room_bytes));
            resize(in_deques[i], acp_read_deque(deques_[i], 0, in_deques[i].data(), room_bytes));
            must(acp_destroy_vector(vectors_[i]) == 0, "destroying a vector that was swapped");
            must(acp_destroy_deque(deques_[i]) == 0, "destroying a deque that was swapped");
        }
        for (std::size_t i = 0; i < 2; ++i) {
            must(is_in(in_vectors, text(i)), "a swap of vectors has lost bytes");
            must(is_in(in_deques, text(i)), "a swap of deques has lost bytes");
        }
    }

private:
    static constexpr std::size_t room_bytes = 8'000;

    // The second text is so long that it goes between nodes through a block of its own.
    static std::string text(std::size_t which) {
        return which == 0 ? "(" + std::string(60, 'a') + ")" : "<" + std::string(3'000, 'b') + ">";
    }

    static void resize(std::string& text, std::int64_t bytes) {
        must(bytes >= 0, "reading the number of swapped bytes");
        text.resize(static_cast<std::size_t>(bytes));
    }

    static bool is_in(const std::array<std::string, 2>& contents, const std::string& text) {
        return contents[0].find(text) != std::string::npos ||
               contents[1].find(text) != std::string::npos;
    }

    std::array<acp_vector_t, 2> vectors_{};
    std::array<acp_deque_t, 2> deques_{};
};

}  // namespace acp::test
