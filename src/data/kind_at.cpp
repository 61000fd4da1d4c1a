// SPDX-License-Identifier: BSD-3-Clause
// Reads the first words at the address, and compares them with the marks. The answer is as good as
// a guess of 64 bits.
#include "data/kind_at.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/format.hpp"
#include "data/ask.hpp"
#include "data/directory.hpp"

#include "allocator/node_lists.hpp"
#include "allocator/node_sequences.hpp"

namespace acp::data {

namespace {

// The first words of a container, up to the kind of a hashed one.
struct FirstWords {
    std::array<std::uint64_t, offsetof(DirectoryHead, kind) / sizeof(std::uint64_t) + 1> word{};
};

// Whether a container begins with a mark, be it used or not (table/first_use.hpp).
bool has_mark(std::uint64_t word, std::uint64_t mark) noexcept {
    return word == mark || table::unused::is_of(word ^ mark);
}

// nullptr: none.
const char* kind_of(const FirstWords& first, table::BlockNumber block) noexcept {
    using Sequence = sequence::SequenceHead<std::atomic>;
    if (has_mark(first.word[0], acp::list::mark::of_list(block))) return "list";
    if (has_mark(first.word[0], Sequence::mark_of(block, sequence::SequenceKind::vector)))
        return "vector";
    if (has_mark(first.word[0], Sequence::mark_of(block, sequence::SequenceKind::deque)))
        return "deque";
    using Start = table::DirectoryStart<std::atomic>;
    const std::uint64_t mark = first.word[offsetof(DirectoryHead, mark) / sizeof(std::uint64_t)];
    if (!has_mark(mark, Start::mark_of_directories) && !has_mark(mark, Start::mark_in_first_use))
        return nullptr;
    const std::uint64_t kind = first.word[offsetof(DirectoryHead, kind) / sizeof(std::uint64_t)];
    return name_of(static_cast<ContainerKind>(static_cast<std::uint32_t>(kind)));
}

}  // namespace

const char* other_kind_at(gma::Gma& gma,
                          const Allocator& allocator,
                          GlobalAddress address,
                          const char* kind) {
    const auto owner = allocator.owner_of(address);
    if (!owner.is_ok()) return nullptr;
    const std::uint64_t offset = address - allocator.start_of(owner.value());
    const std::uint64_t heap_bytes = gma.space().segment().shape().heap_bytes;
    FirstWords first;
    if (offset % heap::granule_bytes != 0 || offset >= heap_bytes ||
        heap_bytes - offset < sizeof first || !get(gma, &first, address, sizeof first).is_ok()) {
        return nullptr;
    }
    const char* const there = kind_of(first, table::number_of(offset));
    return there != nullptr && std::string_view(there) != kind ? there : nullptr;
}

base::Status of_other_kind(GlobalAddress address, const char* there, const char* kind) {
    return {base::Code::argument, "global address " + base::hex(address) + " is a " + there +
                                      "; this call takes a " + kind};
}

base::Status refuse_other_kind(gma::Gma& gma,
                               const Allocator& allocator,
                               GlobalAddress address,
                               const char* kind) {
    const char* const there = other_kind_at(gma, allocator, address, kind);
    return there != nullptr ? of_other_kind(address, there, kind) : base::Status();
}

}  // namespace acp::data
