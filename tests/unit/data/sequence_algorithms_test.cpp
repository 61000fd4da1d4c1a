// SPDX-License-Identifier: BSD-3-Clause
// The exchange of two vectors: before each step the process may die, the step may be refused, or
// another process may have changed a vector. The sequences are strings.
#include "data/sequence_algorithms.hpp"

#include <gtest/gtest.h>
#include <map>
#include <new>
#include <stdexcept>
#include <string>

namespace acp::data::test {
namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr GlobalAddress one_at = 64;
constexpr GlobalAddress other_at = 128;
const SequenceName one{one_at, sequence::SequenceKind::vector};
const SequenceName other{other_at, sequence::SequenceKind::vector};

// Stands for the death of the process.
struct Killed : std::runtime_error {
    Killed() : std::runtime_error("killed") {}
};

// The operations of data::Sequences, on strings.
class Strings {
public:
    static constexpr int never = 1000;

    std::map<GlobalAddress, std::string> content{{one_at, "first"}, {other_at, "the second"}};
    int calls_left = never;  // calls until the process is killed
    // changes until the heaps are full; then only bytes at the end can be removed
    int changes_left = never;
    int push_before_call = never;  // the call before which another process pushes to both vectors

    Result<allocator::SequenceTold> tell(const SequenceName& name,
                                         std::uint64_t /*index*/,
                                         std::uint64_t /*bytes*/) {
        step();
        allocator::SequenceTold told;
        told.bytes = content[name.address].size();
        return told;
    }

    Result<sequence::Portion> read(const SequenceName& name,
                                   std::uint64_t index,
                                   char* target,
                                   std::uint64_t bytes) {
        step();
        const std::string& from = content[name.address];
        return sequence::Portion{index < from.size() ? from.copy(target, bytes, index) : 0,
                                 from.size()};
    }

    Result<std::uint64_t> push(const SequenceName& name,
                               sequence::ContentEnd /*end*/,
                               const char* source,
                               std::uint64_t bytes) {
        step();
        if (!may_change()) return full();
        std::string& to = content[name.address];
        const std::uint64_t index = to.size();
        to.append(source, bytes);
        return index;
    }

    Result<std::uint64_t> splice(const SequenceName& name, const sequence::Splice& splice) {
        step();
        std::string& in = content[name.address];
        const bool is_of_end =
            splice.added == 0 && !splice.may_shrink && splice.removed >= in.size() - splice.at;
        if (!is_of_end && !may_change()) return full();
        const std::uint64_t before = in.size();
        in.replace(splice.at, splice.removed, std::string(splice.source, splice.added));
        return before;
    }

    [[nodiscard]] int calls() const { return calls_; }

private:
    void step() {
        if (calls_ == push_before_call) {
            for (auto& [address, text] : content) text += "!";
        }
        if (calls_left-- == 0) throw Killed();
        ++calls_;
    }

    bool may_change() {
        if (changes_left == 0) return false;
        --changes_left;
        return true;
    }

    static Status full() { return {Code::memory, "full"}; }

    int calls_ = 0;
};

TEST(SequenceExchange, gives_each_the_content_of_the_other) {
    for (const char* text : {"", "the second"}) {
        Strings strings;
        strings.content[other_at] = text;
        ASSERT_TRUE(SequenceAlgorithms(strings).exchange(one, other).is_ok());
        EXPECT_EQ(strings.content[one_at], text);
        EXPECT_EQ(strings.content[other_at], "first");
    }
}

TEST(SequenceExchange, loses_nothing_whenever_the_process_is_killed) {
    bool is_killed = true;
    for (int calls = 0; is_killed; ++calls) {
        Strings strings;
        strings.calls_left = calls;
        try {
            EXPECT_TRUE(SequenceAlgorithms(strings).exchange(one, other).is_ok());
            is_killed = false;
        } catch (const Killed&) {
            const std::string all = strings.content[one_at] + "|" + strings.content[other_at];
            EXPECT_NE(all.find("first"), std::string::npos) << calls << ": " << all;
            EXPECT_NE(all.find("the second"), std::string::npos) << calls << ": " << all;
        }
    }
}

TEST(SequenceExchange, that_is_refused_changes_nothing_or_keeps_both_contents) {
    for (int changes = 0; changes < 3; ++changes) {
        Strings strings;
        strings.changes_left = changes;
        const Status status = SequenceAlgorithms(strings).exchange(one, other);
        EXPECT_EQ(status.code(), Code::memory) << changes;
        // else restoring would have to replace the content of `one`
        const bool may_restore = changes < 2;
        EXPECT_EQ(strings.content[one_at], may_restore ? "first" : "the second");
        EXPECT_EQ(strings.content[other_at], may_restore ? "the second" : "the secondfirst");
    }
}

// The heap is full for the last step alone.
TEST(SequenceExchange, that_is_refused_its_last_step_restores_both) {
    struct OnceFull : Strings {
        Result<std::uint64_t> splice(const SequenceName& name, const sequence::Splice& splice) {
            const bool is_last = name.address == other_at && splice.at == 0;
            return is_last ? Status(Code::memory, "full") : Strings::splice(name, splice);
        }
    };

    OnceFull strings;
    EXPECT_EQ(SequenceAlgorithms(strings).exchange(one, other).code(), Code::memory);
    EXPECT_EQ(strings.content[one_at], "first");
    EXPECT_EQ(strings.content[other_at], "the second");
}

// The exchange reads the second content after its first change.
TEST(SequenceExchange, that_has_no_memory_for_a_content_changes_nothing) {
    struct NoMemory : Strings {
        GlobalAddress refused_at = 0;

        Result<sequence::Portion> read(const SequenceName& name,
                                       std::uint64_t index,
                                       char* target,
                                       std::uint64_t bytes) {
            if (name.address == refused_at) throw std::bad_alloc();
            return Strings::read(name, index, target, bytes);
        }
    };

    for (const GlobalAddress refused_at : {one_at, other_at}) {
        NoMemory strings;
        strings.refused_at = refused_at;
        if (refused_at == one_at) {
            EXPECT_THROW((void)SequenceAlgorithms(strings).exchange(one, other), std::bad_alloc);
        } else {
            EXPECT_EQ(SequenceAlgorithms(strings).exchange(one, other).code(), Code::memory);
        }
        EXPECT_EQ(strings.content[one_at], "first");
        EXPECT_EQ(strings.content[other_at], "the second");
    }
}

TEST(SequenceExchange, keeps_what_others_push_meanwhile_where_they_pushed_it) {
    Strings undisturbed;
    ASSERT_TRUE(SequenceAlgorithms(undisturbed).exchange(one, other).is_ok());
    for (int call = 2; call < undisturbed.calls(); ++call) {  // after the first read
        Strings strings;
        strings.push_before_call = call;
        ASSERT_TRUE(SequenceAlgorithms(strings).exchange(one, other).is_ok());
        const std::string& in_one = strings.content[one_at];
        const std::string& in_other = strings.content[other_at];
        // Elements pushed to `other` before its content is read belong to that content.
        const std::size_t pushed =
            static_cast<std::size_t>(std::count(in_one.begin(), in_one.end(), '!') +
                                     std::count(in_other.begin(), in_other.end(), '!'));
        EXPECT_EQ(pushed, 2U) << call << ": " << in_one << ", " << in_other;
        EXPECT_EQ(in_one.substr(0, 10), "the second");
        EXPECT_EQ(in_one.back(), '!');
        EXPECT_EQ(in_other.substr(0, 5), "first");
    }
}

}  // namespace
}  // namespace acp::data::test
