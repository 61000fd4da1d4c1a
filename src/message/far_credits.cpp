// SPDX-License-Identifier: BSD-3-Clause
// Issues words and waits for their ends.
#include "message/far_credits.hpp"

#include <new>
#include <span>
#include <utility>

#include "operations/put_signal.hpp"

namespace acp::message {

namespace {

// A sender that has not answered for this long is stopped, or starved.
constexpr std::int64_t answer_ns = 50'000'000;

}  // namespace

FarCredits::FarCredits(gma::Gma& gma) : gma_(gma) {
    if (!gma_.prepare_invokes()) throw std::bad_alloc();
}

void FarCredits::begin(const CreditPlace& place) noexcept {
    place_ = place;
    for (CarriedWord& word : words_) word.is_waiting = false;
}

FarCredits::CarriedWord* FarCredits::word_at(std::uint64_t offset) noexcept {
    const std::uint64_t line = (offset - place_.credits_begin) / line_bytes;
    return line == 0 ? nullptr : &words_[line - 1];
}

void FarCredits::carry(std::uint64_t offset, std::uint64_t word) noexcept {
    CarriedWord* const to = word_at(offset);
    if (to == nullptr) return;
    to->is_waiting = true;
    to->offset = offset - place_.credits_begin;
    to->word = word;
    carry_on(*to);
}

void FarCredits::wait_until_sent(std::uint64_t offset) noexcept {
    CarriedWord* const word = word_at(offset);
    if (word == nullptr || !word->is_waiting) return;
    end(*word);
    carry_on(*word);
}

void FarCredits::carry_on() noexcept {
    for (CarriedWord& word : words_) carry_on(word);
}

void FarCredits::carry_on(CarriedWord& word) noexcept {
    if (!word.is_waiting) return;
    look(word, 0);
    if (word.handle != gma::handle_null) return;
    const memory::GlobalAddress address = place_.address + word.offset;
    const operations::PutSignal put{address, address, word.word};
    word.handle = gma_.issue_invoke({place_.process,
                                     operations::put_signal_set_number,
                                     std::as_bytes(std::span(&put, 1)),
                                     {},
                                     nullptr},
                                    gma::handle_null);
    word.is_waiting = false;
}

void FarCredits::look(CarriedWord& word, std::int64_t timeout_ns) noexcept {
    if (word.handle != gma::handle_null && gma_.has_ended(word.handle, timeout_ns)) end(word);
}

// Waits for the word in flight.
void FarCredits::end(CarriedWord& word) noexcept {
    const gma::Handle handle = std::exchange(word.handle, gma::handle_null);
    if (handle == gma::handle_null) return;
    is_cut_off_ = gma_.wait_for_one(handle).code() == base::Code::peer || is_cut_off_;
}

bool FarCredits::is_idle() noexcept {
    bool is_idle = true;
    for (CarriedWord& word : words_) {
        carry_on(word);
        look(word, 0);
        is_idle = is_idle && !word.is_waiting && word.handle == gma::handle_null;
    }
    return is_idle;
}

bool FarCredits::is_idle_soon() noexcept {
    for (CarriedWord& word : words_) {
        look(word, is_sender_silent_ ? 0 : answer_ns);
        is_sender_silent_ = is_sender_silent_ || word.handle != gma::handle_null;
    }
    is_sender_silent_ = !is_idle();
    return !is_sender_silent_;
}

bool FarCredits::is_cut_off() noexcept {
    (void)is_idle();
    return is_cut_off_;
}

void FarCredits::settle() noexcept {
    for (CarriedWord& word : words_) end(word);
}

}  // namespace acp::message
