// SPDX-License-Identifier: BSD-3-Clause
// The choice of a way, the way by words, and all that is not fast: the parser, parts, sets of
// bytes.
#include "pages/difference.hpp"

#include <algorithm>

#include "pages/difference_ways.hpp"
#include "pages/page_merge.hpp"

namespace acp::pages {

namespace {

// A bit for each of 8 bytes: 1 where they differ. A byte that is not zero carries into its bit 7;
// the multiplication gathers the eight bits in the top byte.
std::uint64_t changed_bytes(std::uint64_t page, std::uint64_t twin) noexcept {
    constexpr std::uint64_t low_bits = 0x7f7f7f7f7f7f7f7fU;
    const std::uint64_t changes = page ^ twin;
    const std::uint64_t marks = (((changes & low_bits) + low_bits) | changes) & ~low_bits;
    return (marks >> 7) * 0x0102040810204080U >> 56;
}

std::uint64_t changed_bytes_of_line(const std::byte* page, const std::byte* twin) noexcept {
    std::uint64_t mask = 0;
    for (std::size_t i = 0; i < line_bytes; i += 8) {
        mask |= changed_bytes(word_at(page + i), word_at(twin + i)) << i;
    }
    return mask;
}

// Packs the bytes of a mask. Stores up to 8 bytes behind them.
std::byte* pack_runs(std::byte* target, const std::byte* line, std::uint64_t mask) noexcept {
    for (RunReader runs(mask); !runs.is_at_end(); runs.advance()) {
        const std::size_t first = runs.first();
        const std::size_t count = runs.count();
        // A store of a word is faster than one of the exact length, if the word is in the line.
        if (count <= 8 && first <= line_bytes - 8) {
            std::memcpy(target, line + first, 8);
        } else {
            std::memcpy(target, line + first, count);
        }
        target += count;
    }
    return target;
}

// Copies the changed bytes of a line, run by run: without masked stores this alone writes no
// unchanged byte. Returns the place behind the bytes.
const std::byte* store_runs(std::byte* line, const std::byte* bytes, std::uint64_t mask) noexcept {
    for (RunReader runs(mask); !runs.is_at_end(); runs.advance()) {
        std::byte* const target = line + runs.first();
        const std::size_t count = runs.count();
        // The lengths of doubles that changed little and of words come first.
        if (count - 4 < 4) {
            std::memcpy(target, bytes, 4);
            std::memcpy(target + count - 4, bytes + count - 4, 4);
        } else if (count == 8) {
            std::memcpy(target, bytes, 8);
        } else if (count > 8) {
            std::memcpy(target, bytes, count);
        } else {
            target[0] = bytes[0];
            target[count / 2] = bytes[count / 2];
            target[count - 1] = bytes[count - 1];
        }
        bytes += count;
    }
    return bytes;
}

std::size_t bytes_of_mask(std::uint64_t mask) noexcept {
    return static_cast<std::size_t>(std::popcount(mask));
}

}  // namespace

std::size_t make_by_words(std::byte* room, const std::byte* page, const std::byte* twin) noexcept {
    LineWriter writer(room);
    for (std::size_t line = 0; line < page_lines; ++line, page += line_bytes, twin += line_bytes) {
        if (std::memcmp(page, twin, line_bytes) == 0) continue;
        const std::uint64_t mask = changed_bytes_of_line(page, twin);
        // Another thread has restored the line since.
        if (mask == 0) continue;
        writer.end(pack_runs(writer.begin(line, mask), page, mask));
    }
    return writer.finish();
}

void apply_by_words(std::byte* page, const std::byte* difference) noexcept {
    for (LineReader lines(difference); !lines.is_at_end();) {
        const std::byte* const bytes = lines.bytes();
        std::byte* const target = page + lines.line() * line_bytes;
        if (lines.is_whole()) {
            std::memcpy(target, bytes, line_bytes);
            lines.advance(line_bytes);
        } else {
            lines.advance(
                static_cast<std::size_t>(store_runs(target, bytes, lines.mask()) - bytes));
        }
    }
}

void apply_by_atomic_words(std::byte* page, const std::byte* difference) noexcept {
    std::atomic<std::uint64_t>* const words = words_of(PageSpan(page, page_bytes));
    for_each_word(difference, [words](std::size_t i, std::uint64_t value, std::uint64_t bits) {
        store_bytes(words[i], value, bits);
    });
}

DifferenceCode::DifferenceCode(ByteInstructions instructions) noexcept
    : make_(make_by_words), apply_(apply_by_words), apply_shared_(apply_by_atomic_words) {
    if (!has_vector_ways) return;
    if (instructions.has_compress) {
        make_ = make_by_compression;
        apply_ = apply_by_expansion;
        apply_shared_ = apply_by_expansion;
    } else if (instructions.has_shuffle) {
        make_ = make_by_shuffles;
    }
}

std::optional<Difference> Difference::parse(std::span<const std::byte> bytes) noexcept {
    if (bytes.empty()) return Difference();
    if (bytes.size() <= difference_head_bytes) return std::nullopt;
    const std::uint64_t dirty = word_at(bytes.data());
    const std::uint64_t whole = word_at(bytes.data() + 8);
    if (dirty == 0 || (whole & ~dirty) != 0) return std::nullopt;
    std::span<const std::byte> rest = bytes.subspan(difference_head_bytes);
    for (std::uint64_t lines = dirty; lines != 0; lines &= lines - 1) {
        std::size_t count = line_bytes;
        if ((whole >> std::countr_zero(lines) & 1) == 0) {
            if (rest.size() < 8) return std::nullopt;
            const std::uint64_t mask = word_at(rest.data());
            if (mask == 0 || mask == all_bytes) return std::nullopt;
            count = 8 + bytes_of_mask(mask);
        }
        if (rest.size() < count) return std::nullopt;
        rest = rest.subspan(count);
    }
    if (!rest.empty()) return std::nullopt;
    return Difference(bytes);
}

DifferenceParts::DifferenceParts(Difference difference) noexcept {
    if (difference.is_empty()) return;
    dirty_ = word_at(difference.bytes().data());
    whole_ = word_at(difference.bytes().data() + 8);
    rest_ = difference.bytes().subspan(difference_head_bytes);
}

Difference DifferenceParts::next(std::span<std::byte> room) noexcept {
    std::uint64_t taken = 0;
    std::size_t count = 0;
    for (LineReader lines(dirty_, whole_, rest_.data()); !lines.is_at_end();) {
        const std::size_t line = lines.line();
        lines.advance(bytes_of_mask(lines.mask()));
        const auto end = static_cast<std::size_t>(lines.place() - rest_.data());
        if (difference_head_bytes + end > room.size()) break;
        taken |= std::uint64_t{1} << line;
        count = end;
    }
    if (taken == 0) return {};
    const std::uint64_t whole = whole_ & taken;
    std::memcpy(room.data(), &taken, sizeof taken);
    std::memcpy(room.data() + 8, &whole, sizeof whole);
    std::memcpy(room.data() + difference_head_bytes, rest_.data(), count);
    dirty_ &= ~taken;
    rest_ = rest_.subspan(count);
    return Difference(room.first(difference_head_bytes + count));
}

WrittenBytes::WrittenBytes(Difference difference) noexcept {
    if (difference.is_empty()) return;
    for (LineReader lines(difference.bytes().data()); !lines.is_at_end();) {
        const std::uint64_t mask = lines.mask();
        lines_[lines.line()] = mask;
        lines.advance(bytes_of_mask(mask));
    }
}

WrittenBytes WrittenBytes::operator&(const WrittenBytes& other) const noexcept {
    WrittenBytes both = *this;
    for (std::size_t line = 0; line < page_lines; ++line) both.lines_[line] &= other.lines_[line];
    return both;
}

void WrittenBytes::add(const WrittenBytes& other) noexcept {
    for (std::size_t line = 0; line < page_lines; ++line) lines_[line] |= other.lines_[line];
}

bool WrittenBytes::is_empty() const noexcept {
    return std::all_of(lines_.begin(), lines_.end(), [](std::uint64_t mask) { return mask == 0; });
}

std::uint32_t WrittenBytes::count() const noexcept {
    std::size_t count = 0;
    for (const std::uint64_t mask : lines_) count += bytes_of_mask(mask);
    return static_cast<std::uint32_t>(count);
}

ByteRun WrittenBytes::run_from(std::uint32_t from) const noexcept {
    // The first byte from `place` on that is in the set, or is not; page_bytes if there is none.
    const auto find = [this](std::uint32_t place, bool is_in_set) {
        while (place < page_bytes) {
            const std::uint64_t mask = lines_[place / line_bytes];
            const std::uint64_t bits = (is_in_set ? mask : ~mask) >> place % line_bytes;
            if (bits != 0) return place + static_cast<std::uint32_t>(std::countr_zero(bits));
            place = (place / 64 + 1) * 64;
        }
        return static_cast<std::uint32_t>(page_bytes);
    };
    const std::uint32_t first = find(from, true);
    return {first, find(first, false) - first};
}

}  // namespace acp::pages
