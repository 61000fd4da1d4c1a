// SPDX-License-Identifier: BSD-3-Clause
// <acp/access.h>: acp_wait_word.
#include <bit>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "api/boundary.hpp"
#include "api/check.hpp"
#include "api/library.hpp"
#include "api/shared_range.hpp"
#include "base/format.hpp"
#include "gma/word_waits.hpp"

#include <acp/access.h>
#include <acp/error.h>

namespace {

using namespace acp;  // NOLINT(google-build-using-namespace): the boundary names things of every layer
using base::Code;
using base::Status;
using node::WordComparison;

// Of any number that a C program may pass as acp_word_comparison_t.
constexpr std::optional<WordComparison> comparison_of(int number) noexcept {
    if (number < ACP_WORD_EQUAL || number > ACP_WORD_GREATER_EQUAL) return std::nullopt;
    return static_cast<WordComparison>(number - ACP_WORD_EQUAL);
}

static_assert(ACP_WORD_GREATER_EQUAL - ACP_WORD_EQUAL + 1 == node::word_comparison_count);
static_assert(comparison_of(ACP_WORD_EQUAL) == WordComparison::equal);
static_assert(comparison_of(ACP_WORD_LESS) == WordComparison::less);
static_assert(comparison_of(ACP_WORD_GREATER_EQUAL) == WordComparison::greater_equal);
// A constant expression: no overflow.
static_assert(!comparison_of(std::numeric_limits<int>::min()));
static_assert(!comparison_of(std::numeric_limits<int>::max()));

Status refuse(std::string text) {
    return {Code::argument, "acp_wait_word: " + std::move(text)};
}

base::Result<gma::AwaitedWord> word_of(const volatile void* place,
                                       std::size_t bytes,
                                       acp_word_comparison_t comparison,
                                       std::uint64_t value) {
    if (place == nullptr) return refuse("word is NULL");
    if (auto status = api::refuse_shared("the word", const_cast<const void*>(place), bytes);
        !status.is_ok())
        return std::move(status).within("acp_wait_word");
    if (bytes > sizeof value || !std::has_single_bit(bytes)) {
        return refuse("a word has 1, 2, 4 or 8 bytes, not " + std::to_string(bytes));
    }
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    if (address % bytes != 0) {
        return Status(Code::alignment, "acp_wait_word: the word of " + base::in_bytes(bytes) +
                                           " at " + base::hex(address) + " is not aligned");
    }
    const int number = static_cast<int>(comparison);
    const std::optional<WordComparison> known = comparison_of(number);
    if (!known) {
        return refuse(
            "comparison is " + std::to_string(number) + ", and is one of ACP_WORD_EQUAL (" +
            std::to_string(static_cast<int>(ACP_WORD_EQUAL)) + ") to ACP_WORD_GREATER_EQUAL (" +
            std::to_string(static_cast<int>(ACP_WORD_GREATER_EQUAL)) + ")");
    }
    if (bytes < sizeof value && value >> (8 * bytes) != 0) {
        return refuse("the value " + std::to_string(value) + " does not fit a word of " +
                      base::in_bytes(bytes));
    }
    return gma::AwaitedWord{place, static_cast<std::uint32_t>(bytes), *known, value};
}

Status wait(const gma::AwaitedWord& word, std::int64_t timeout_ns) {
    gma::WordWaits& waits = *api::library().word_waits;
    if (!api::is_checking()) return waits.wait(word, timeout_ns);
    const gma::WordWaits::LongWordWait tell_long_wait = [](const std::string& awaited) {
        api::tell_long_wait("acp_wait_word", gma::WordWaits::long_wait_ns, awaited);
    };
    return waits.wait(word, timeout_ns, &tell_long_wait);
}

}  // namespace

extern "C" int acp_wait_word(const volatile void* word,
                             size_t bytes,
                             acp_word_comparison_t comparison,
                             uint64_t value,
                             int64_t timeout_ns) {
    const bool is_ok = api::run<api::Gravity::reported>("acp_wait_word", false, [&]() -> Status {
        auto awaited = word_of(word, bytes, comparison, value);
        if (!awaited.is_ok()) return std::move(awaited).failure();
        return wait(awaited.value(), timeout_ns).within("acp_wait_word");
    });
    return is_ok ? ACP_OK : acp_errno();
}
