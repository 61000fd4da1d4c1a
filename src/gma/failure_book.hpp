// SPDX-License-Identifier: BSD-3-Clause
// The failures of commands: which of them are not yet reported to the program, and which numbers
// failed lately. Noting a failure with its message takes memory; noting that there was one takes
// none: failures for which no memory is left are merged and reported as one, and so are the oldest
// ones of a program that asks for none of failures_apart_max failures. Knows no order between
// commands. One thread at a time, under the queue's lock. Tests:
// tests/unit/gma/failure_book_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "node/unreported.hpp"

namespace acp::gma {

inline constexpr std::size_t failures_remembered_max = 4096;
inline constexpr std::size_t failures_apart_max =
    2 * failures_remembered_max;  // each with its message
inline constexpr std::size_t told_threads_max = 8;
inline constexpr std::uint64_t sole_thread = 1;  // if there is only one

class FailureBook {
public:
    // Throws std::bad_alloc.
    FailureBook();

    // Removes them from the process's slot.
    ~FailureBook();
    FailureBook(const FailureBook&) = delete;
    FailureBook& operator=(const FailureBook&) = delete;

    // Notes a command's failure.   number  noted once only
    void note(std::uint64_t number, base::Status failure) noexcept;

    // Takes the failure with the least number, up to `number`, that was not yet taken.
    //   thread  a number of the thread that gets it; never 0
    std::optional<base::Status> take(std::uint64_t number,
                                     std::uint64_t thread = sole_thread) noexcept;

    // Takes the failure of exactly this number, or returns it as told_to_others() does if another
    // thread has taken it. It takes merged failures up to this number. The number has
    // ended lately: it is among the newest failures_remembered_max if it failed.
    std::optional<base::Status> take_of(std::uint64_t number,
                                        std::uint64_t thread = sole_thread) noexcept;

    // The failure of exactly this number, if only other threads have taken it: a thread that waits
    // for its own command must not get a success because another one waited for all commands.
    // Returned once per thread; for the newest failures_remembered_max reported failures, and up to
    // told_threads_max threads each. A merged failure is returned to a thread for each number of
    // its own that is newer than those it asked for before.
    std::optional<base::Status> told_to_others(std::uint64_t number, std::uint64_t thread) noexcept;

    // The least number whose failure was not yet taken; 0: there is none.
    [[nodiscard]] std::uint64_t first_untold() const noexcept;

    // Whether the failure of exactly this number was not yet taken.
    [[nodiscard]] bool is_untold(std::uint64_t number) const noexcept;

    // Whether this number is among the newest failures_remembered_max that failed, taken or not.
    [[nodiscard]] bool is_remembered(std::uint64_t number) const noexcept;

    // The least of those; 0: there is none.
    [[nodiscard]] std::uint64_t first_remembered() const noexcept {
        return remembered_.empty() ? 0 : remembered_.front().number;
    }

    // How many failures were not yet taken.
    [[nodiscard]] std::uint64_t untold_count() const noexcept {
        return untold_.size() - told_ + rest_.count;
    }

    // The message of the failure first_untold(); "": there is none. Valid until the next call.
    [[nodiscard]] std::string_view first_message() const noexcept;

    // From now on writes their number and the first one's message there, whenever they change.
    //   place  its segment must outlive this
    void show_in(const node::UnreportedPlace& place) noexcept;

    // Whether no failure is untold and none is remembered.
    [[nodiscard]] bool is_clean() const noexcept {
        return remembered_.empty() && first_untold() == 0;
    }

private:
    struct Untold {
        std::uint64_t number = 0;
        base::Status failure;
    };

    struct Told {
        std::uint64_t number = 0;
        base::Status failure;
        std::array<std::uint64_t, told_threads_max> threads{};  // 0 = none
    };

    // A number that failed lately, reported or not.
    struct Remembered {
        std::uint64_t number = 0;
        base::Code code = base::Code::memory;
    };

    // Failures that are not noted one by one: for which there was no memory, or the oldest ones
    // beyond failures_apart_max. They are reported as one.
    struct Rest {
        std::uint64_t first = 0;  // the least number among them; 0: there are none
        std::uint64_t last = 0;   // the greatest
        std::uint64_t count = 0;
        // some of them may have been reported, for a handle below the last number: count is the most
        // that may be left
        bool is_partly_told = false;
        // the failure that was merged first, for its code and message
        base::Status failure;

        // What a call that reports them returns.   code  of one of them
        [[nodiscard]] base::Status report(base::Code code) const noexcept;
    };

    // The threads to which Rest was reported. The numbers that failed are in remembered_.
    struct ToldRest {
        struct Listener {
            std::uint64_t thread = 0;  // 0: none
            std::uint64_t up_to = 0;   // the newest number reported to it
        };

        std::uint64_t first = 0;  // 0: nothing was reported
        std::uint64_t last = 0;
        std::array<Listener, told_threads_max> listeners{};
    };

    void remember(std::uint64_t number, base::Code code) noexcept;
    [[nodiscard]] std::vector<Remembered>::const_iterator remembered_from(
        std::uint64_t number) const noexcept;
    void note_rest_told(std::uint64_t last, std::uint64_t number, std::uint64_t thread) noexcept;
    [[nodiscard]] ToldRest::Listener& listener(std::uint64_t thread) noexcept;
    std::optional<base::Status> told_rest_to_others(std::uint64_t number,
                                                    std::uint64_t thread) noexcept;
    void note_told(Untold one, std::uint64_t thread) noexcept;
    [[nodiscard]] bool make_room() noexcept;
    void merge_oldest() noexcept;
    void add_to_rest(std::uint64_t number, base::Status failure) noexcept;
    base::Status take_rest(std::uint64_t number, std::uint64_t thread) noexcept;

    void show() noexcept;

    std::vector<Untold> untold_;  // sorted by number; unreported from index told_ on
    std::size_t told_ = 0;
    Rest rest_;
    ToldRest told_rest_;
    std::vector<Told> told_list_;         // the newest, sorted by number; capacity for all
    std::vector<Remembered> remembered_;  // sorted by number; never beyond its initial capacity
    std::optional<node::UnreportedPlace> shown_in_;
    std::uint64_t shown_first_ = 0;  // the number whose message is shown
};

}  // namespace acp::gma
