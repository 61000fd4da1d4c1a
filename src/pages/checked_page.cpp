// SPDX-License-Identifier: BSD-3-Clause
// Byte by byte: the check is for programs under test, and a signal handler may have little stack.
#include "pages/checked_page.hpp"

#include <cstring>

#include "pages/difference_ways.hpp"
#include "pages/page_merge.hpp"

namespace acp::pages {

namespace {

// The bytes of a difference that the page has neither as the twin nor as the difference.
WrittenBytes overwritten(PageView page, PageView twin, Difference difference) noexcept {
    WrittenBytes found;
    if (difference.is_empty()) return found;
    for (LineReader lines(difference.bytes().data()); !lines.is_at_end();) {
        const std::byte* bytes = lines.bytes();
        const std::size_t begin = lines.line() * line_bytes;
        const std::uint64_t mask = lines.mask();
        std::uint64_t both = 0;
        std::size_t count = 0;
        for (std::uint64_t rest = mask; rest != 0; rest &= rest - 1) {
            const auto place = static_cast<std::size_t>(std::countr_zero(rest));
            const std::byte now = page[begin + place];
            if (now != twin[begin + place] && now != bytes[count]) both |= rest & (~rest + 1);
            ++count;
        }
        found.set_line(lines.line(), both);
        lines.advance(count);
    }
    return found;
}

}  // namespace

void CheckedPage::apply(const DifferenceCode& code,
                        Difference difference,
                        const PageWriter& writer,
                        const WriterMasks<>& masks) const noexcept {
    (void)masks.add(page_, writer, WrittenBytes(difference));
    const WrittenBytes both = overwritten(bytes_, twin_, difference);
    if (!both.is_empty()) (void)masks.add(page_, {home_, PageWriter::unknown}, both);
    const WrittenBytes late = replace(difference);
    if (!late.is_empty()) (void)masks.add(page_, {home_, PageWriter::unknown}, late);
    code.apply_shared(twin_, difference);
}

// Stores a difference into the page. Returns the bytes that it has overwritten, as overwritten() finds
// them: those too that the home's threads have written since.
WrittenBytes CheckedPage::replace(Difference difference) const noexcept {
    WrittenBytes found;
    if (difference.is_empty()) return found;
    for_each_word(difference.bytes().data(), [&](std::size_t i, std::uint64_t value,
                                                 std::uint64_t bits) {
        const std::uint64_t twin = words_of(twin_)[i].load(std::memory_order_relaxed);
        std::atomic<std::uint64_t>& word = words_of(bytes_)[i];
        std::uint64_t now = word.load(std::memory_order_relaxed);
        // release: as store_bytes()
        while (!word.compare_exchange_weak(now, (now & ~bits) | (value & bits),
                                           std::memory_order_release, std::memory_order_relaxed)) {
        }
        const std::uint64_t both = bits_of_bytes(now ^ twin) & bits_of_bytes(now ^ value) & bits;
        for (std::uint32_t byte = 0; byte < 8; ++byte)
            if ((both >> 8 * byte & 1) != 0) found.add(static_cast<std::uint32_t>(8 * i) + byte);
    });
    return found;
}

WrittenBytes CheckedPage::own_writes() const noexcept {
    WrittenBytes found;
    for (std::size_t line = 0; line < page_lines; ++line) {
        const std::size_t begin = line * line_bytes;
        if (std::memcmp(&bytes_[begin], &twin_[begin], line_bytes) == 0) continue;
        std::uint64_t mask = 0;
        for (std::size_t i = 0; i < line_bytes; ++i)
            if (bytes_[begin + i] != twin_[begin + i]) mask |= std::uint64_t{1} << i;
        found.set_line(line, mask);
    }
    return found;
}

void CheckedPage::end_own_writes() const noexcept {
    if (std::memcmp(bytes_.data(), twin_.data(), page_bytes) == 0) return;
    for (std::size_t i = 0; i < page_words; ++i) {
        std::atomic<std::uint64_t>& twin = words_of(twin_)[i];
        // acquire: the page's word that the difference changed before the twin's; partner: apply()
        std::uint64_t before = twin.load(std::memory_order_acquire);
        std::uint64_t now = 0;
        do {
            now = words_of(bytes_)[i].load(std::memory_order_relaxed);
        } while (now != before &&
                 !twin.compare_exchange_weak(before, now, std::memory_order_acq_rel,
                                             std::memory_order_acquire));
    }
}

}  // namespace acp::pages
