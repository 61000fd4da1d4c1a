// SPDX-License-Identifier: BSD-3-Clause
// The failures of commands: which of them are still to be told to the program, and which numbers failed lately. It
// takes memory to note a failure with its words, and none to note that there was one: failures for which no memory
// is left are told together, as one. Knows no order between commands. One thread at a time, under the
// queue's lock. Tests: tests/unit/gma/failure_book_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.hpp"
#include "node/unreported.hpp"

namespace acp::gma {

inline constexpr std::size_t failures_remembered_max = 4096;
inline constexpr std::size_t told_threads_max = 8;
inline constexpr std::uint64_t sole_thread = 1;  // where there is but one

class FailureBook {
public:
    // Throws std::bad_alloc.
    FailureBook();

    // Shows none any more.
    ~FailureBook();
    FailureBook(const FailureBook&) = delete;
    FailureBook& operator=(const FailureBook&) = delete;

    // Notes a command's failure.   number  noted once only
    void note(std::uint64_t number, base::Status failure) noexcept;

    // Takes the failure with the least number, up to `number`, that was not yet taken.
    //   thread  a number of the one that is told; never 0
    std::optional<base::Status> take(std::uint64_t number,
                                     std::uint64_t thread = sole_thread) noexcept;

    // Takes the failure of exactly this number, or tells it as told_to_others() does when another thread took it. Where
    // failures are told together, those up to this number are. The number has ended lately: it is among the newest
    // failures_remembered_max if it failed.
    std::optional<base::Status> take_of(std::uint64_t number,
                                        std::uint64_t thread = sole_thread) noexcept;

    // The failure of exactly this number, when only other threads were told of it: a thread that waits for its own command
    // must not be told that it went well because another one waited for everything. Once per thread; for the newest
    // failures_remembered_max that were told, and up to told_threads_max threads each. Of failures that were told
    // together each thread hears for every such number of its own that is newer than those it asked for before.
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

    // One that failed lately, whether it was told or not.
    struct Remembered {
        std::uint64_t number = 0;
        base::Code code = base::Code::memory;
    };

    // Failures there was no memory to note one by one. They are told as one.
    struct Rest {
        std::uint64_t first = 0;  // the least number among them; 0: there are none
        std::uint64_t last = 0;   // the greatest
        std::uint64_t count = 0;
        base::Code code = base::Code::memory;  // of the one noted first, once none is remembered
    };

    // Which threads were told of Rest. The numbers that failed are in remembered_.
    struct ToldRest {
        struct Listener {
            std::uint64_t thread = 0;  // 0: none
            std::uint64_t up_to = 0;   // the newest number it was told of
        };

        std::uint64_t first = 0;  // 0: nothing was told
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
    void add_to_rest(std::uint64_t number, base::Code code) noexcept;
    base::Status take_rest(std::uint64_t number, std::uint64_t thread) noexcept;

    void show() noexcept;

    std::vector<Untold> untold_;  // by number, from told_ on
    std::size_t told_ = 0;
    Rest rest_;
    ToldRest told_rest_;
    std::vector<Told> told_list_;  // by number, the newest; room for all
    std::vector<Remembered>
        remembered_;  // by number; never more than it had memory for from the start
    std::optional<node::UnreportedPlace> shown_in_;
    std::uint64_t shown_first_ = 0;  // the number whose message is shown
};

}  // namespace acp::gma
