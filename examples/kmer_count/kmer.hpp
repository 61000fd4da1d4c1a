// SPDX-License-Identifier: BSD-3-Clause
// K-mers as numbers. A k-mer and its reverse complement count as one, the canonical k-mer: the smaller of
// the two as numbers, two bits a letter. What travels and is counted is not that number but its hash,
// which a bijection makes: equal hashes are equal k-mers, and all bits of a hash are equally mixed, so
// that some of them choose the owner and others the place in the owner's table. Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kmer {

constexpr int k_max = 31;

// A bijection of the 64-bit numbers: Stafford's 13th variant of MurmurHash3's finalizer.
constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

// The rank that counts the k-mer: the low half of the hash, scaled to 0 .. procs-1.
constexpr std::uint32_t owner_of(std::uint64_t hash, std::uint32_t procs) {
    return static_cast<std::uint32_t>(((hash & 0xffffffffU) * procs) >> 32);
}

constexpr std::uint8_t no_base = 4;

constexpr std::array<std::uint8_t, 256> make_base_codes() {
    std::array<std::uint8_t, 256> codes{};
    codes.fill(no_base);
    for (std::uint8_t code = 0; code < 4; ++code) {
        codes[static_cast<unsigned char>("ACGT"[code])] = code;
        codes[static_cast<unsigned char>("acgt"[code])] = code;
    }
    return codes;
}

inline constexpr std::array<std::uint8_t, 256> base_codes = make_base_codes();

// Slides a window of k letters over a sequence that comes in pieces. A letter other than A, C, G and T
// breaks the k-mers it would be part of.
class Window {
public:
    // k  1 .. k_max
    explicit Window(int k)
        : k_(static_cast<std::uint32_t>(k)),
          mask_((std::uint64_t{1} << (2 * k_)) - 1),
          top_shift_(2 * k_ - 2) {}

    // Begins another sequence.
    void reset() { length_ = 0; }

    // Goes on with letters and calls visit(hash) for every k-mer that ends among them.
    template <typename Visit>
    void slide(std::string_view letters, Visit&& visit) {
        // In locals, so that they stay in registers whatever visit writes.
        std::uint64_t forward = forward_;
        std::uint64_t reverse = reverse_;
        std::uint32_t length = length_;
        for (const char letter : letters) {
            const std::uint64_t code = base_codes[static_cast<unsigned char>(letter)];
            if (code == no_base) [[unlikely]] {
                length = 0;
                continue;
            }
            forward = ((forward << 2) | code) & mask_;
            reverse = (reverse >> 2) | ((3 - code) << top_shift_);
            if (length + 1 < k_) {
                ++length;
                continue;
            }
            visit(mix(forward < reverse ? forward : reverse));
        }
        forward_ = forward;
        reverse_ = reverse;
        length_ = length;
    }

private:
    std::uint32_t k_;
    std::uint64_t mask_;
    std::uint32_t top_shift_;
    std::uint64_t forward_ = 0;  // the last k letters
    std::uint64_t reverse_ = 0;  // their reverse complement
    std::uint32_t length_ = 0;   // the number of good letters at the end so far, at most k-1
};

}  // namespace kmer
