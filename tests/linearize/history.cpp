// SPDX-License-Identifier: BSD-3-Clause
// The checker. It tries operations in the order of their calls; an operation can come next only if
// it began before every other remaining one ended. A configuration is the set of operations already
// placed and the word's value; no configuration is visited twice.
#include "linearize/history.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <sstream>
#include <unordered_set>

namespace acp::test {
namespace {

using Set = std::vector<std::uint64_t>;  // one bit per operation; the word's value is appended

struct SetHash {
    std::size_t operator()(const Set& set) const noexcept {
        std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
        for (const std::uint64_t part : set) {
            hash = (hash ^ part) * 0xbf58476d1ce4e5b9ULL;
            hash ^= hash >> 31;
        }
        return hash;
    }
};

std::uint64_t masked(const WordOperation& operation, std::uint64_t value) {
    return operation.width == 4 ? value & 0xffff'ffffULL : value;
}

// Whether one word is less than another, as signed numbers.
bool is_less(const WordOperation& operation, std::uint64_t first, std::uint64_t second) {
    const unsigned unused_bits = operation.width == 4 ? 32 : 0;
    return static_cast<std::int64_t>(first << unused_bits) <
           static_cast<std::int64_t>(second << unused_bits);
}

// The word of a key after an operation that returns a code, and that code.
struct KeyEffect {
    std::uint64_t word;
    std::uint64_t code;
};

std::optional<KeyEffect> effect_on_key(const WordOperation& operation, std::uint64_t word) {
    const bool is_absent = word == absent_word;
    switch (operation.verb) {
        case WordVerb::insert:
            return KeyEffect{is_absent ? operation.operand : word, is_absent ? 1U : 0U};
        case WordVerb::erase:
            return KeyEffect{absent_word, is_absent ? 0U : 1U};
        case WordVerb::replace:
            if (is_absent) return KeyEffect{word, key_is_absent};
            return word == operation.expected ? KeyEffect{operation.operand, 1}
                                              : KeyEffect{word, 0};
        default:
            return std::nullopt;
    }
}

// The word after the operation, or nothing if its result contradicts the word before.
std::optional<std::uint64_t> apply(const WordOperation& operation, std::uint64_t word) {
    if (const auto effect = effect_on_key(operation, word)) {
        return effect->code == operation.result ? std::optional(effect->word) : std::nullopt;
    }
    if (operation.verb != WordVerb::write && masked(operation, operation.result) != word) {
        return std::nullopt;
    }
    switch (operation.verb) {
        case WordVerb::read:
            return word;
        case WordVerb::write:
        case WordVerb::swap:
            return masked(operation, operation.operand);
        case WordVerb::cas:
            return word == masked(operation, operation.expected)
                       ? masked(operation, operation.operand)
                       : word;
        case WordVerb::min:
            return is_less(operation, operation.operand, word)
                       ? masked(operation, operation.operand)
                       : word;
        case WordVerb::max:
            return is_less(operation, word, operation.operand)
                       ? masked(operation, operation.operand)
                       : word;
        case WordVerb::key_add:
            return word == absent_word ? operation.operand : word + operation.operand;
        default:
            break;
    }
    return masked(operation, word + operation.operand);
}

class Search {
public:
    Search(const std::vector<WordOperation>& history, std::optional<std::uint64_t> final_value)
        : history_(history),
          final_value_(final_value),
          by_call_(history.size()),
          placed_((history.size() + 63) / 64 + 1) {
        std::iota(by_call_.begin(), by_call_.end(), std::size_t{0});
        std::ranges::sort(by_call_, {}, [&](std::size_t index) { return history_[index].call_ns; });
    }

    Judgement run(std::uint64_t initial, std::uint64_t configurations_max) {
        limit_ = configurations_max;
        std::vector<Frame> frames;
        frames.push_back({initial, candidates(), 0});
        visit(initial);
        while (!frames.empty()) {
            if (frames.size() == history_.size() + 1 && is_final(frames.back().word)) {
                return judge(Verdict::linearizable);
            }
            if (judgement_.configurations > limit_) {
                return judge(Verdict::undecided);
            }
            if (!step_down(frames)) {
                frames.pop_back();
                if (!frames.empty()) {
                    unplace(path_.back());
                    path_.pop_back();
                }
            }
        }
        return judge(Verdict::not_linearizable);
    }

private:
    struct Frame {
        std::uint64_t word;
        std::vector<std::size_t> candidates;
        std::size_t next;
    };

    [[nodiscard]] bool is_final(std::uint64_t word) const {
        return !final_value_ || *final_value_ == word;
    }

    [[nodiscard]] bool is_placed(std::size_t index) const {
        return (placed_[index / 64] >> (index % 64) & 1) != 0;
    }

    void place(std::size_t index) { placed_[index / 64] |= 1ULL << (index % 64); }

    void unplace(std::size_t index) { placed_[index / 64] &= ~(1ULL << (index % 64)); }

    // The operations that may come next: none of the others ended before they began.
    [[nodiscard]] std::vector<std::size_t> candidates() const {
        std::vector<std::size_t> result;
        std::int64_t first_return = std::numeric_limits<std::int64_t>::max();
        for (const std::size_t index : by_call_) {
            if (is_placed(index)) {
                continue;
            }
            if (history_[index].call_ns > first_return) {
                break;
            }
            first_return = std::min(first_return, history_[index].return_ns);
            result.push_back(index);
        }
        std::erase_if(result,
                      [&](std::size_t index) { return history_[index].call_ns > first_return; });
        return result;
    }

    // Remembers the configuration. False if it was known.
    bool visit(std::uint64_t word) {
        Set key = placed_;
        key.back() = word;
        if (!visited_.insert(std::move(key)).second) {
            return false;
        }
        ++judgement_.configurations;
        return true;
    }

    // Places the next candidate of the last frame that reaches a new configuration.
    bool step_down(std::vector<Frame>& frames) {
        Frame& frame = frames.back();
        while (frame.next < frame.candidates.size()) {
            const std::size_t index = frame.candidates[frame.next++];
            const std::optional<std::uint64_t> word = apply(history_[index], frame.word);
            if (!word) {
                continue;
            }
            place(index);
            if (!visit(*word)) {
                unplace(index);
                continue;
            }
            path_.push_back(index);
            if (path_.size() > judgement_.longest.size()) {
                judgement_.longest = path_;
            }
            frames.push_back({*word, candidates(), 0});
            return true;
        }
        return false;
    }

    Judgement judge(Verdict verdict) {
        judgement_.verdict = verdict;
        return judgement_;
    }

    const std::vector<WordOperation>& history_;
    std::optional<std::uint64_t> final_value_;
    std::vector<std::size_t> by_call_;
    Set placed_;
    std::unordered_set<Set, SetHash> visited_;
    std::vector<std::size_t> path_;
    Judgement judgement_;
    std::uint64_t limit_ = 0;
};

}  // namespace

Judgement check_history(const std::vector<WordOperation>& history,
                        std::uint64_t initial,
                        std::optional<std::uint64_t> final_value,
                        std::uint64_t configurations_max) {
    return Search(history, final_value).run(initial, configurations_max);
}

std::string explain(const std::vector<WordOperation>& history, const Judgement& judgement) {
    std::string text =
        judgement.verdict == Verdict::undecided ? "undecided\n" : "not linearizable\n";
    std::vector<bool> is_explained(history.size(), false);
    for (const std::size_t index : judgement.longest) {
        text += "  " + describe(history[index]) + "\n";
        is_explained[index] = true;
    }
    text += "not explained after these:\n";
    for (std::size_t index = 0; index < history.size(); ++index) {
        text += is_explained[index] ? "" : "  " + describe(history[index]) + "\n";
    }
    return text;
}

std::string describe(const WordOperation& operation) {
    constexpr const char* verbs[] = {"read", "write",  "cas",   "swap",    "add",    "min",
                                     "max",  "insert", "erase", "key_add", "replace"};
    std::ostringstream text;
    text << "rank " << operation.rank << ' ' << operation.call_ns << ".." << operation.return_ns
         << ' ' << verbs[static_cast<std::size_t>(operation.verb)] << int{operation.width}
         << std::hex;
    if (operation.verb == WordVerb::cas || operation.verb == WordVerb::replace) {
        text << " expected " << operation.expected;
    }
    if (operation.verb != WordVerb::read) {
        text << " operand " << operation.operand;
    }
    if (operation.verb != WordVerb::write) {
        text << (operation.verb == WordVerb::insert || operation.verb == WordVerb::erase ||
                         operation.verb == WordVerb::replace
                     ? " result "
                     : " old value ")
             << operation.result;
    }
    return text.str();
}

}  // namespace acp::test
