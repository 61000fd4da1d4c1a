// SPDX-License-Identifier: BSD-3-Clause
// Histories of operations on one word, or on the value of one key, and whether they are
// linearizable: whether some order of all operations that respects real time explains every result.
// Linearizability is local, so each word is checked alone. The search is Wing and Gong's with
// Lowe's memory of visited configurations. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace acp::test {

enum class WordVerb : std::uint8_t {
    read,
    write,
    cas,
    swap,
    add,
    min,
    max,
    // Verbs of a key, which has no value while its word is absent_word. read, write (insert or
    // assign) and cas are those of words.
    insert,   // if it is absent; the result is 1, else 0
    erase,    // the result is 1, or 0 if it was absent
    key_add,  // an absent key's value becomes the operand; the result is the old value
    replace,  // like cas; the result is 1, 0 if it had another value, or key_is_absent
};

inline constexpr std::uint64_t word_verbs = 7;  // the number of verbs of words

inline constexpr std::uint64_t absent_word = ~std::uint64_t{0};
inline constexpr std::uint64_t key_is_absent = 2;  // the result of a replacement

// One finished operation. It took effect at some time from call_ns to return_ns.
struct WordOperation {
    std::int64_t call_ns = 0;
    std::int64_t return_ns = 0;
    WordVerb verb = WordVerb::read;
    std::uint8_t width = 8;      // 4: all values are modulo 2^32
    std::uint16_t rank = 0;      // printed in messages
    std::uint64_t operand = 0;   // value written, added, or desired
    std::uint64_t expected = 0;  // the expected value of cas
    std::uint64_t result = 0;    // the old value, or a code as the verb says; a write has none
};

enum class Verdict { linearizable, not_linearizable, undecided };

struct Judgement {
    Verdict verdict = Verdict::undecided;
    std::uint64_t configurations = 0;  // visited
    std::vector<std::size_t> longest;  // the longest explained beginning, for messages
};

//   initial               the word before the first operation
//   final_value           the word after the last one, when it is known
//   configurations_max    undecided after that many
[[nodiscard]] Judgement check_history(const std::vector<WordOperation>& history,
                                      std::uint64_t initial,
                                      std::optional<std::uint64_t> final_value = std::nullopt,
                                      std::uint64_t configurations_max = 5'000'000);

[[nodiscard]] std::string describe(const WordOperation& operation);

// The verdict, and which operations are explained and which are not, a line each.
[[nodiscard]] std::string explain(const std::vector<WordOperation>& history,
                                  const Judgement& judgement);

}  // namespace acp::test
