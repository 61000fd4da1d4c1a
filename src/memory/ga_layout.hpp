// SPDX-License-Identifier: BSD-3-Clause
// How the bits of a 64-bit global address are divided, chosen once from the number of processes of
// the job. From the top:
//
//   generation | colour | process | granule | offset
//
// The process field is its index in the job, fixed for its life; acp_reset changes its rank, but no
// address. A segment occupies as many consecutive granules as its size needs (its last granule is
// never full). So an address plus an offset is an address in the same segment, whatever its size;
// few huge and many small segments share one index space; and the address one past the end never
// names another segment. Generation 0 is never used, so the null address names nothing. Knows no
// table and no memory. Any thread; immutable.
// Tests: round_trips_every_field, null_is_never_an_address, adds_across_granules,
// fits_the_stated_job_sizes. ADR 0002.
#pragma once

#include <bit>
#include <cstdint>

namespace acp::memory {

using GlobalAddress = std::uint64_t;

// 8192 granules: >= 4096 live segments per process
inline constexpr std::uint32_t granule_bits = 13;
inline constexpr std::uint32_t granules_per_process = 1U << granule_bits;
inline constexpr std::uint32_t color_bits = 2;
inline constexpr std::uint32_t colors_max = 1U << color_bits;
inline constexpr std::uint32_t process_bits_max = 20;

class GaLayout {
public:
    GaLayout() noexcept : GaLayout(1) {}

    //   procs  1 .. 2^20
    explicit GaLayout(std::uint64_t procs) noexcept
        : process_bits_(procs <= 1 ? 0U : static_cast<std::uint32_t>(std::bit_width(procs - 1))),
          generation_bits_(process_bits_ <= 4 ? 8U : 6U),
          offset_bits_(64 - generation_bits_ - color_bits - process_bits_ - granule_bits) {}

    [[nodiscard]] std::uint32_t process_bits() const noexcept { return process_bits_; }

    [[nodiscard]] std::uint32_t generation_bits() const noexcept { return generation_bits_; }

    // Generations in use are 1 .. generation_max().
    [[nodiscard]] std::uint32_t generation_max() const noexcept {
        return (1U << generation_bits_) - 1;
    }

    // log2 of a granule's bytes.
    [[nodiscard]] std::uint32_t offset_bits() const noexcept { return offset_bits_; }

    [[nodiscard]] std::uint64_t granule_bytes() const noexcept { return 1ULL << offset_bits_; }

    // Number of bits of generation and colour together, at the top; a left shift by this number
    // drops them.
    [[nodiscard]] std::uint32_t tag_bits() const noexcept { return generation_bits_ + color_bits; }

    // process * granules_per_process + granule: the index into the job's address table.
    [[nodiscard]] std::uint64_t index(GlobalAddress address) const noexcept {
        return (address << tag_bits()) >> (tag_bits() + offset_bits_);
    }

    [[nodiscard]] std::uint64_t process(GlobalAddress address) const noexcept {
        return index(address) >> granule_bits;
    }

    [[nodiscard]] std::uint32_t granule(GlobalAddress address) const noexcept {
        return static_cast<std::uint32_t>(index(address) & (granules_per_process - 1));
    }

    [[nodiscard]] std::uint32_t color(GlobalAddress address) const noexcept {
        return static_cast<std::uint32_t>(address >> (64 - tag_bits())) & (colors_max - 1);
    }

    [[nodiscard]] std::uint32_t generation(GlobalAddress address) const noexcept {
        return static_cast<std::uint32_t>(address >> (64 - generation_bits_));
    }

    // A mask of all bits except the colour's.
    [[nodiscard]] std::uint64_t colorless_mask() const noexcept {
        return ~(static_cast<std::uint64_t>(colors_max - 1) << (64 - tag_bits()));
    }

    [[nodiscard]] GlobalAddress colored(GlobalAddress address, std::uint32_t color) const noexcept {
        return (address & colorless_mask()) |
               (static_cast<std::uint64_t>(color) << (64 - tag_bits()));
    }

    // The address of byte 0 of a segment that starts at a granule, in colour 0.
    //   process < 2^process_bits, granule < granules_per_process, generation 1 .. generation_max()
    [[nodiscard]] GlobalAddress segment_start(std::uint64_t process,
                                              std::uint32_t granule,
                                              std::uint32_t generation) const noexcept {
        const std::uint64_t index = (process << granule_bits) | granule;
        return (static_cast<std::uint64_t>(generation) << (64 - generation_bits_)) |
               (index << offset_bits_);
    }

    // The number of granules that a segment of this size occupies: one more than its last byte
    // needs, so that the address one past the end lies in the segment's own granules.
    [[nodiscard]] std::uint64_t granules_for(std::uint64_t bytes) const noexcept {
        return (bytes >> offset_bits_) + 1;
    }

private:
    std::uint32_t process_bits_;
    std::uint32_t generation_bits_;
    std::uint32_t offset_bits_;
};

}  // namespace acp::memory
