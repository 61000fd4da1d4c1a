// SPDX-License-Identifier: BSD-3-Clause
// Combines elements of a reduction: by an operation of the interface on one of its types, or by a
// function of the program. Knows no team. Any thread.
// Tests: tests/unit/team/combiner_test.cpp.
#pragma once

#include <cstdint>

#include "team/signature.hpp"

namespace acp::team {

class Combiner {
public:
    using OwnFunction = void (*)(void* into, const void* from, std::size_t count, void* context);

    // Has no function.
    constexpr Combiner() noexcept = default;

    // Returns a combiner that is never destroyed. nullptr: no such type or operation, or the type
    // does not have this operation.
    [[nodiscard]] static const Combiner* of(int type, int operation) noexcept;

    //   bytes  the size of an element
    Combiner(OwnFunction function, void* context, std::uint64_t bytes) noexcept
        : own_(function), context_(context), element_bytes_(bytes) {}

    [[nodiscard]] std::uint64_t element_bytes() const noexcept { return element_bytes_; }

    [[nodiscard]] Combination combination() const noexcept { return combination_; }

    // Whether it combines elements of a program's own type, which may need an alignment of more
    // than 8 bytes.
    [[nodiscard]] bool is_own() const noexcept { return own_ != nullptr; }

    // into[i] becomes first[i] combined with second[i].
    //   into  may be `first`, and overlaps the operands in no other way
    void combine(void* into, const void* first, const void* second, std::uint64_t count) const;

private:
    using Function = void (*)(void* into,
                              const void* first,
                              const void* second,
                              std::uint64_t count) noexcept;

    struct Table;

    constexpr Combiner(Function function, std::uint64_t bytes, Combination combination) noexcept
        : function_(function), element_bytes_(bytes), combination_(combination) {}

    Function function_ = nullptr;
    OwnFunction own_ = nullptr;
    void* context_ = nullptr;
    std::uint64_t element_bytes_ = 0;
    Combination combination_;
};

}  // namespace acp::team
