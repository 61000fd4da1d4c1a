// SPDX-License-Identifier: BSD-3-Clause
// Packs, reduces and reads the words. All accesses are relaxed: meetings order them.
#include "node/conclusion.hpp"

#include <algorithm>

#include "memory/ga_layout.hpp"

namespace acp::node {

namespace {

// The word of a slot: the epoch above the code. The first word of a Conclusion: the process above
// the code.
constexpr std::uint32_t code_bits = 8;
constexpr std::uint32_t code_mask = (1U << code_bits) - 1;
static_assert(base::code_count <= code_mask && memory::process_bits_max + code_bits < 32);

constexpr base::Code code_of(std::uint32_t word) noexcept {
    const std::uint32_t code = word & code_mask;
    return code < base::code_count ? static_cast<base::Code>(code) : base::Code::system;
}

}  // namespace

Conclusion Conclusion::of(std::uint32_t process, base::Code code, std::uint32_t epoch) noexcept {
    Conclusion made;
    if (code != base::Code::ok) {
        made.words[0] = process << code_bits | static_cast<std::uint32_t>(code);
    }
    made.words[1] = (epoch & epoch_mask) + 1;
    made.words[2] = ~(epoch & epoch_mask);
    return made;
}

Conclusion Conclusion::of_other_call() noexcept {
    Conclusion made;
    made.words[1] = 0;
    return made;
}

void Conclusion::add(const Conclusion& other) noexcept {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = std::min(words[i], other.words[i]);
}

std::optional<Conclusion::Failure> Conclusion::failure() const noexcept {
    if (words[0] == ~0U) return std::nullopt;
    return Failure{words[0] >> code_bits, code_of(words[0])};
}

void bring_part(const Segment& segment,
                std::uint32_t slot,
                std::uint32_t meeting,
                base::Code code,
                std::uint32_t epoch) noexcept {
    CallOutcome& own = segment.slot(slot).outcome[meeting % 2];
    own.word.store(epoch << code_bits | static_cast<std::uint32_t>(code),
                   std::memory_order_relaxed);
    own.meeting.store(meeting, std::memory_order_relaxed);
}

Conclusion conclusion_of_node(const Segment& segment, std::uint32_t meeting) noexcept {
    Conclusion all;
    for (std::uint32_t slot = 0; slot < segment.shape().local_procs; ++slot) {
        const CallOutcome& one = segment.slot(slot).outcome[meeting % 2];
        const std::uint32_t word = one.word.load(std::memory_order_relaxed);
        const bool is_of_this = one.meeting.load(std::memory_order_relaxed) == meeting;
        all.add(is_of_this ? Conclusion::of(segment.shape().first_process + slot, code_of(word),
                                            word >> code_bits)
                           : Conclusion::of_other_call());
    }
    return all;
}

void write_conclusion(const Segment& segment, const Conclusion& conclusion) noexcept {
    for (std::size_t i = 0; i < conclusion.words.size(); ++i) {
        segment.control().conclusion[i].store(conclusion.words[i], std::memory_order_relaxed);
    }
}

Conclusion read_conclusion(const Segment& segment) noexcept {
    Conclusion all;
    for (std::size_t i = 0; i < all.words.size(); ++i) {
        all.words[i] = segment.control().conclusion[i].load(std::memory_order_relaxed);
    }
    return all;
}

}  // namespace acp::node
