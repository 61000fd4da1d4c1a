// SPDX-License-Identifier: BSD-3-Clause
// A container that a test fills until its heap has no room, with a model of the successful calls.
// Each element is made from a number, and its bytes show that number if there are enough of them.
// Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <acp.h>

namespace acp::test {

// Where a new element is inserted; in containers without an order this selects the call.
enum class Place : std::uint8_t { back, front, middle };

class Filled {
public:
    Filled() = default;
    virtual ~Filled() = default;
    Filled(const Filled&) = delete;
    Filled& operator=(const Filled&) = delete;

    // Inserts an element. False: the call failed with ACP_ERR_MEMORY. Throws Mismatch at any other
    // failure.
    virtual bool put(Place place, std::uint32_t number) = 0;

    // Erases all elements. False: the call failed with ACP_ERR_MEMORY, and compare() finds all of
    // them. Throws Mismatch at any other failure.
    virtual bool clear() = 0;

    // Erases about every second element.
    virtual void thin_out() = 0;

    // Throws Mismatch if an inserted element is missing or has other bytes, or if there is another
    // one.
    virtual void compare() = 0;

    virtual void destroy() = 0;

    // Whether an element takes memory: one of 0 bytes does not in a vector.
    [[nodiscard]] virtual bool grows() const = 0;

    // Whether a call in the middle copies the content: then filling a large heap takes time
    // quadratic in its size.
    [[nodiscard]] virtual bool copies_to_insert() const = 0;
};

// The bytes of an element. Fewer than 4 bytes do not distinguish all numbers.
[[nodiscard]] inline std::string content_of(std::uint32_t number, std::size_t bytes) {
    std::string content(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i)
        content[i] = static_cast<char>(i < 4 ? number >> (8 * i) : number * 31 + i);
    return content;
}

// Whether a call has succeeded; false: it had no memory. Throws Mismatch at any other failure.
[[nodiscard]] bool is_done(bool is_ok, const char* call);

inline constexpr std::string_view filled_kinds[] = {"vector", "deque",    "list", "apart",
                                                    "map",    "multimap", "set",  "multiset"};

// An empty container of a kind, on a rank, for elements of `bytes` bytes. "apart": a list whose
// elements lie on the next rank.
[[nodiscard]] std::unique_ptr<Filled> make_filled(std::string_view kind,
                                                  int rank,
                                                  std::size_t bytes);
[[nodiscard]] std::unique_ptr<Filled> make_filled_list(int rank, int elements, std::size_t bytes);
[[nodiscard]] std::unique_ptr<Filled> make_filled_vector(int rank, std::size_t bytes);
[[nodiscard]] std::unique_ptr<Filled> make_filled_deque(int rank, std::size_t bytes);
[[nodiscard]] std::unique_ptr<Filled> make_filled_map(int rank, std::size_t bytes);
[[nodiscard]] std::unique_ptr<Filled> make_filled_multimap(int rank, std::size_t bytes);
[[nodiscard]] std::unique_ptr<Filled> make_filled_set(int rank, std::size_t bytes);
[[nodiscard]] std::unique_ptr<Filled> make_filled_multiset(int rank, std::size_t bytes);

}  // namespace acp::test
