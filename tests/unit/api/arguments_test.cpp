// SPDX-License-Identifier: BSD-3-Clause
// ACP's settings on a command line become variables and are removed from it; everything else stays.
#include "api/arguments.hpp"

#include <gtest/gtest.h>

namespace acp::api {
namespace {

// A command line as main has it.
class Line {
public:
    explicit Line(std::vector<std::string> words) : words_(std::move(words)) {
        for (std::string& word : words_) pointers_.push_back(word.data());
        argc_ = static_cast<int>(pointers_.size());
        pointers_.push_back(nullptr);
        argv_ = pointers_.data();
    }

    base::Status take(std::vector<std::string>& environment) {
        return take_arguments(&argc_, &argv_, environment);
    }

    [[nodiscard]] std::vector<std::string> left() const {
        EXPECT_EQ(argv_[argc_], nullptr);
        return {argv_, argv_ + argc_};
    }

private:
    std::vector<std::string> words_;
    std::vector<char*> pointers_;
    int argc_ = 0;
    char** argv_ = nullptr;
};

using Words = std::vector<std::string>;

TEST(Arguments, pairs_in_both_forms_become_variables_and_the_rest_stays) {
    Line line({"prog", "--acp-starter-size", "1M", "input", "--acp-trace=a=b", "-v"});
    Words environment{"HOME=/root"};
    ASSERT_TRUE(line.take(environment).is_ok());
    EXPECT_EQ(line.left(), (Words{"prog", "input", "-v"}));
    EXPECT_EQ(environment, (Words{"HOME=/root", "ACP_STARTER_SIZE=1M", "ACP_TRACE=a=b"}));
}

TEST(Arguments, win_over_the_environment_and_the_last_over_the_first) {
    Line line({"prog", "--acp-report=0", "--acp-report", "1"});
    Words environment{"ACP_REPORT=2", "ACP_REPORTER=3"};
    ASSERT_TRUE(line.take(environment).is_ok());
    EXPECT_EQ(environment, (Words{"ACP_REPORTER=3", "ACP_REPORT=1"}));
}

TEST(Arguments, the_size_of_version_3_is_that_of_starter_memory) {
    Line line({"prog", "--acp-size-smem", "4096"});
    Words environment;
    ASSERT_TRUE(line.take(environment).is_ok());
    EXPECT_EQ(environment, (Words{"ACP_STARTER_SIZE=4096"}));
}

TEST(Arguments, a_name_without_a_value_is_refused_and_nothing_is_changed) {
    const Words words{"prog", "--acp-report=1", "--acp-trace"};
    Line line(words);
    Words environment{"ACP_REPORT=0"};
    const base::Status status = line.take(environment);
    EXPECT_EQ(status.code(), base::Code::config);
    EXPECT_NE(std::string(status.message()).find("--acp-trace"), std::string::npos);
    EXPECT_EQ(line.left(), words);
    EXPECT_EQ(environment, (Words{"ACP_REPORT=0"}));
}

TEST(Arguments, what_follows_two_dashes_is_the_programs_and_so_is_its_name) {
    const Words words{"--acp-odd=1", "--", "--acp-report=1"};
    Line line(words);
    Words environment;
    ASSERT_TRUE(line.take(environment).is_ok());
    EXPECT_EQ(line.left(), words);
    EXPECT_TRUE(environment.empty());
}

TEST(Arguments, a_program_without_a_command_line_has_none) {
    Words environment{"A=b"};
    EXPECT_TRUE(take_arguments(nullptr, nullptr, environment).is_ok());
    EXPECT_EQ(environment, (Words{"A=b"}));
}

}  // namespace
}  // namespace acp::api
