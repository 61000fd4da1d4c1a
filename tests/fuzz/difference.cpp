// SPDX-License-Identifier: BSD-3-Clause
// The difference of a page from a connected node: any bytes. Whatever the parser accepts is one
// difference in its only form, changes the bytes of its masks alone, and can be cut into parts.
// Whatever two pages differ in is accepted. One thread.
#include "pages/difference.hpp"

#include <algorithm>
#include <vector>

#include "os/cpu.hpp"

#include "fuzz/fuzz.hpp"

namespace acp::fuzz {
namespace {

using namespace pages;

using PageArray = std::array<std::byte, page_bytes>;

const DifferenceCode portable{{}};
const DifferenceCode fastest{{os::has_byte_shuffle(), os::has_byte_compress()}};

bool is_equal(Difference one, Difference two) {
    return std::ranges::equal(one.bytes(), two.bytes());
}

// A page of which each byte differs from the one that a difference stores there.
PageArray page_unlike(Difference difference) {
    PageArray page{};
    fastest.apply(page, difference);
    for (std::byte& byte : page) byte = ~byte;
    return page;
}

void check_accepted(Difference difference) {
    const PageArray twin = page_unlike(difference);
    PageArray page = twin;
    fastest.apply(page, difference);
    PageArray page_by_words = twin;
    portable.apply(page_by_words, difference);
    require(page == page_by_words, "each way stores the same bytes");
    const WrittenBytes written(difference);
    std::uint32_t changed = 0;
    for (std::uint32_t i = 0; i < page_bytes; ++i) {
        if (page[i] == twin[i]) continue;
        ++changed;
        const ByteRun run = written.run_from(i);
        require(run.first == i && run.count != 0, "a byte outside of the masks stays");
    }
    require(changed == written.count(), "each byte of the masks is stored");
    DifferenceRoom room{};
    require(is_equal(fastest.make(room, page, twin), difference), "a difference has one form");
}

void check_parts(Difference difference, std::size_t bytes_max) {
    PageArray page{};
    PageArray page_by_parts{};
    portable.apply(page, difference);
    std::vector<std::byte> room(bytes_max);
    DifferenceParts rest(difference);
    for (Difference part = rest.next(room); !part.is_empty(); part = rest.next(room)) {
        require(Difference::parse(part.bytes()).has_value(), "a part is a difference");
        portable.apply(page_by_parts, part);
    }
    require(page == page_by_parts, "the parts are the whole");
}

void read_difference(Input& input) {
    const std::size_t bytes_max = DifferenceParts::part_bytes_min + input.byte();
    const std::vector<std::byte> bytes = input.bytes(2 * difference_bytes_max);
    const auto difference = Difference::parse(bytes);
    if (!difference || difference->is_empty()) return;
    check_accepted(*difference);
    check_parts(*difference, bytes_max);
}

void make_difference(Input& input) {
    PageArray twin{};
    PageArray page{};
    const std::size_t stride = 1 + std::size_t{input.byte()};
    for (std::size_t i = 0; i < page_bytes && !input.is_empty(); i += stride) {
        page[i] = static_cast<std::byte>(input.byte());
    }
    DifferenceRoom room{};
    DifferenceRoom room_by_words{};
    const Difference difference = fastest.make(room, page, twin);
    require(is_equal(difference, portable.make(room_by_words, page, twin)), "each way is alike");
    require(Difference::parse(difference.bytes()).has_value(), "what is made is accepted");
    fastest.apply(twin, difference);
    require(page == twin, "the difference turns the twin into the page");
}

}  // namespace

void run(Input& input) {
    if (input.below(2) == 0) {
        read_difference(input);
    } else {
        make_difference(input);
    }
}

}  // namespace acp::fuzz
