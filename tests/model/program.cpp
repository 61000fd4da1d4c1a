// SPDX-License-Identifier: BSD-3-Clause
// Generates programs without races, and runs them on the model.
#include "model/program.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>

namespace acp::test {
namespace {

// Sets of steps.
using Steps = std::uint32_t;
static_assert(steps_max <= 32);

constexpr Steps steps_before(std::size_t step) {
    return static_cast<Steps>((1ULL << step) - 1);
}

constexpr Steps only(std::size_t step) {
    return Steps{1} << step;
}

bool is_counting(const Step& step) {
    return step.verb == Verb::count_add || step.verb == Verb::count_xor;
}

bool overlap(const Spot& a, std::size_t a_bytes, const Spot& b, std::size_t b_bytes) {
    return a.location == b.location && a.offset < b.offset + b_bytes &&
           b.offset < a.offset + a_bytes;
}

// Whether the order of both steps matters. An atomic writes its source, too.
bool conflict(const Step& a, const Step& b) {
    if (is_counting(a) || is_counting(b)) {
        return false;
    }
    const bool is_a_atomic = a.verb != Verb::copy;
    const bool is_b_atomic = b.verb != Verb::copy;
    return overlap(a.target, a.bytes, b.target, b.bytes) ||
           overlap(a.target, a.bytes, b.source, b.bytes) ||
           overlap(a.source, a.bytes, b.target, b.bytes) ||
           ((is_a_atomic || is_b_atomic) && overlap(a.source, a.bytes, b.source, b.bytes));
}

// Builds one program step by step, and tracks which steps are complete at each point.
class Generator {
public:
    Generator(Random& random, const Shape& shape) : random_(random), shape_(shape) {
        // One program in eight may fail, so that most run to their end.
        may_fail_ = shape.are_failures_allowed && random.chance(12);
    }

    Program make() {
        const std::size_t count = random_.between(5, steps_max);
        for (std::size_t index = 0; index < count; ++index) {
            Step step = make_command();
            step.thread = random_.below(shape_.threads);
            choose_order(step, index);
            settle_fate(step, index);
            program_.push_back(step);
            choose_then(index);
        }
        return program_;
    }

private:
    Spot spot(std::size_t bytes, std::size_t alignment) {
        const std::size_t places = (shape_.strip_bytes - bytes) / alignment + 1;
        return {shape_.locations[random_.below(shape_.locations.size())],
                random_.below(places) * alignment};
    }

    Step make_command() {
        Step step;
        step.operand = random_.chance(50) ? random_.next() : random_.below(3);
        step.expected = random_.below(3);
        const std::uint64_t kind = random_.below(100);
        if (kind < 60) {
            make_copy(step);
        } else if (kind < 90) {
            step.verb = static_cast<Verb>(random_.between(static_cast<std::uint64_t>(Verb::cas),
                                                          static_cast<std::uint64_t>(Verb::max)));
            step.bytes = random_.chance(50) ? 4 : 8;
            step.is_bare = random_.chance(25);
            do {
                step.target = spot(step.bytes, step.bytes);
                step.source = spot(step.bytes, step.bytes);
            } while (overlap(step.target, step.bytes, step.source, step.bytes));
        } else {
            step.verb = random_.chance(50) ? Verb::count_add : Verb::count_xor;
            step.bytes = 8;
            // Even counters are added to, odd ones flipped, so that each has one end whatever the
            // order.
            const std::size_t odd = step.verb == Verb::count_xor ? 1 : 0;
            step.source = {shape_.locations[random_.below(shape_.locations.size())],
                           2 * random_.below(counters / 2) + odd};
        }
        return step;
    }

    void make_copy(Step& step) {
        constexpr std::array<std::size_t, 5> words = {0, 1, 2, 4, 8};
        step.verb = Verb::copy;
        step.bytes = random_.chance(50) ? words[random_.below(words.size())]
                                        : random_.below(shape_.copy_bytes_max);
        const std::size_t alignment = random_.chance(50) ? 8 : 1;
        step.target = spot(step.bytes, alignment);
        do {
            step.source = spot(step.bytes, alignment);
        } while (overlap(step.target, step.bytes, step.source, step.bytes) &&
                 step.target.offset != step.source.offset);
    }

    // The steps that are complete when a step with this order starts.
    Steps guaranteed(const Step& step, std::size_t index) const {
        switch (step.order) {
            case OrderBy::nothing:
                return complete_;
            case OrderBy::handle:
                return complete_ | steps_before(step.order_step + 1);
            case OrderBy::all:
                return complete_ | steps_before(index);
            default:
                return complete_ | before_.back() | only(index - 1);
        }
    }

    void choose_order(Step& step, std::size_t index) {
        Steps needed = 0;
        for (std::size_t earlier = 0; earlier < index; ++earlier) {
            if (conflict(program_[earlier], step)) {
                needed |= only(earlier);
            }
        }
        // After a failure the order "the previous command" is used only if the previous command is
        // the failed one.
        const bool is_cont_possible = index > 0 && shape_.is_cont_allowed &&
                                      program_[index - 1].thread == step.thread &&
                                      (failed_ == 0 || (failed_ & only(index - 1)) != 0);
        const std::uint64_t wish = random_.below(10);
        if (wish < 5 || index == 0) {
            step.order = OrderBy::nothing;
        } else if (wish < 7) {
            step.order = OrderBy::handle;
            step.order_step = random_.below(index);
        } else if (wish < 9 && is_cont_possible) {
            step.order = OrderBy::cont;
        } else {
            step.order = OrderBy::all;
        }
        if ((needed & ~guaranteed(step, index)) != 0) {
            const auto last = static_cast<std::size_t>(std::bit_width(needed)) - 1;
            step.order = random_.chance(75) ? OrderBy::handle : OrderBy::all;
            step.order_step = random_.between(last, index - 1);
        }
        before_.push_back(guaranteed(step, index));
    }

    // Decides whether the step runs: it fails if it is bad, or ordered after a failed one.
    void settle_fate(Step& step, std::size_t index) {
        if (may_fail_ && !is_counting(step) && step.bytes > 0 && random_.chance(8)) {
            step.is_bad = true;
            step.is_bare = false;
        }
        Steps ordered_after = 0;
        if (step.order == OrderBy::handle) {
            ordered_after = steps_before(step.order_step + 1);
        } else if (step.order == OrderBy::all) {
            ordered_after = steps_before(index);
        } else if (step.order == OrderBy::cont) {
            ordered_after = only(index - 1);
        }
        if (step.is_bad || (ordered_after & failed_) != 0) {
            step.is_expected_to_run = false;
            failed_ |= only(index);
        }
    }

    // Waiting reports failures, so programs that fail wait only at their end.
    void choose_then(std::size_t index) {
        Step& step = program_[index];
        if (may_fail_ || !random_.chance(15)) {
            return;
        }
        step.then = static_cast<Then>(random_.between(1, 4));
        step.then_step = random_.below(index + 1);
        complete_ |= step.then == Then::complete_all ? steps_before(index + 1)
                                                     : steps_before(step.then_step + 1);
    }

    Random& random_;
    const Shape& shape_;
    Program program_;
    std::vector<Steps> before_;  // for each step, the steps that are complete when it starts
    Steps complete_ = 0;
    Steps failed_ = 0;
    bool may_fail_ = false;
};

std::uint64_t load(const std::byte* from, std::size_t width) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, width);
    return word;
}

std::uint64_t atomic_result(const Step& step, std::uint64_t word) {
    const std::uint64_t mask = step.bytes == 8 ? ~0ULL : 0xffff'ffffULL;
    const auto signed_of = [&](std::uint64_t value) {
        return step.bytes == 8 ? static_cast<std::int64_t>(value)
                               : std::int64_t{static_cast<std::int32_t>(value & mask)};
    };
    switch (step.verb) {
        case Verb::cas:
            return word == (step.expected & mask) ? step.operand : word;
        case Verb::swap:
            return step.operand;
        case Verb::add:
            return word + step.operand;
        case Verb::bit_xor:
            return word ^ step.operand;
        case Verb::bit_or:
            return word | step.operand;
        case Verb::min:
            return signed_of(step.operand) < signed_of(word) ? step.operand : word;
        case Verb::max:
            return signed_of(step.operand) > signed_of(word) ? step.operand : word;
        default:
            return word & step.operand;
    }
}

}  // namespace

Program make_program(Random& random, const Shape& shape) {
    return Generator(random, shape).make();
}

std::size_t failures_of(const Program& program) {
    return static_cast<std::size_t>(std::ranges::count(program, false, &Step::is_expected_to_run));
}

void Model::run(const Program& program) {
    for (const Step& step : program) {
        if (!step.is_expected_to_run) {
            continue;
        }
        if (step.verb == Verb::count_add) {
            added[step.source.location][step.source.offset] += step.operand;
            continue;
        }
        if (step.verb == Verb::count_xor) {
            flipped[step.source.location][step.source.offset] ^= step.operand;
            continue;
        }
        std::byte* target = strips[step.target.location].data() + step.target.offset;
        std::byte* source = strips[step.source.location].data() + step.source.offset;
        if (step.verb == Verb::copy) {
            std::memmove(target, source, step.bytes);
            continue;
        }
        const std::uint64_t old = load(source, step.bytes);
        const std::uint64_t fresh = atomic_result(step, old);
        std::memcpy(source, &fresh, step.bytes);
        if (!step.is_bare) std::memcpy(target, &old, step.bytes);
    }
}

std::string describe(const Step& step) {
    constexpr const char* verbs[] = {"copy", "cas", "swap", "add",       "xor",      "or",
                                     "and",  "min", "max",  "count_add", "count_xor"};
    constexpr const char* thens[] = {"", "complete", "complete all", "wait",
                                     "inquire until complete"};
    std::ostringstream text;
    text << verbs[static_cast<std::size_t>(step.verb)] << ' ' << step.bytes << " bytes, target "
         << step.target.location << '+' << step.target.offset << ", source " << step.source.location
         << '+' << step.source.offset << ", operand " << step.operand << ", expected "
         << step.expected << ", order ";
    if (step.order == OrderBy::handle) {
        text << "handle of " << step.order_step;
    } else {
        constexpr const char* orders[] = {"null", "", "all", "cont"};
        text << orders[static_cast<std::size_t>(step.order)];
    }
    text << ", thread " << step.thread;
    if (step.is_bad) {
        text << ", bad";
    }
    if (step.is_bare) {
        text << ", its target unwanted";
    }
    if (!step.is_expected_to_run) {
        text << ", must not run";
    }
    if (step.then != Then::go_on) {
        text << "; then " << thens[static_cast<std::size_t>(step.then)] << ' ' << step.then_step;
    }
    return text.str();
}

std::string describe(const Program& program) {
    std::string text;
    for (std::size_t index = 0; index < program.size(); ++index) {
        text += "  " + std::to_string(index) + ": " + describe(program[index]) + "\n";
    }
    return text;
}

}  // namespace acp::test
