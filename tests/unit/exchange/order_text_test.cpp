// SPDX-License-Identifier: BSD-3-Clause
// A saved plan is read back unchanged, by its owner only; all other texts are refused.
#include "exchange/order_text.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

#include "base/random.hpp"

namespace acp::exchange {
namespace {

const std::vector<SentMessage> sent{{1, 1000}, {2, 0}, {1, 30}};

SendOrder made() {
    SendOrder order;
    order.pieces = {{0, 600, 400, 2}, {2, 0, 30}, {0, 0, 600}};
    order.engines = 4;
    order.predicted_us = 106.8123456789;
    order.bound_us = 103.77;
    return order;
}

TEST(OrderTextTest, an_order_is_read_back) {
    const OrderOwner owner{2, 8, sent};
    const auto read = order_from_text(text_of(made(), owner), owner);
    ASSERT_TRUE(read.is_ok()) << read.failure().message();
    EXPECT_EQ(read.value(), made());
}

// The reason of a refusal; "" if the text is accepted.
std::string refusal_of(const std::string& text) {
    const auto read = order_from_text(text, {2, 8, sent});
    return read.is_ok() ? "" : std::string(read.failure().message());
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream rest(text);
    for (std::string line; std::getline(rest, line);) lines.push_back(line + "\n");
    return lines;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line;
    return text;
}

TEST(OrderTextTest, a_changed_number_is_refused_with_its_line_and_value) {
    const std::string text = text_of(made(), {2, 8, sent});
    const std::string numbers = "0123456789.";
    std::vector<std::string> read_ones;
    for (std::size_t at = text.find_first_of(numbers); at < text.size();) {
        const std::size_t end = text.find_first_not_of(numbers, at);
        for (const char* const other : {"0", "-1", "99", "2147483648", "18446744073709551616"}) {
            const std::string changed = text.substr(0, at) + other + text.substr(end);
            if (changed == text) continue;
            const std::string why = refusal_of(changed);
            const auto number =
                1 + std::count(text.begin(), text.begin() + static_cast<long>(at), '\n');
            const std::size_t begin = changed.rfind('\n', at) + 1;
            const std::string line = changed.substr(begin, changed.find('\n', at) - begin);
            if (why.empty()) {
                read_ones.push_back(line);
                continue;
            }
            // A missing byte is found at the end of the text, a doubled byte in one of two lines.
            const bool is_of_all = why.find("are in no piece") != std::string::npos ||
                                   why.find("both have") != std::string::npos;
            const bool is_of_line = why.starts_with("line " + std::to_string(number)) &&
                                    why.find(other) != std::string::npos;
            EXPECT_TRUE(is_of_all || is_of_line) << line << ": " << why;
        }
        at = text.find_first_of(numbers, end);
    }
    // The network is known only from the text itself.
    const std::vector<std::string> expected{"predicted 106.8123456789 99", "piece 0 600 400 0"};
    EXPECT_EQ(read_ones, expected);
}

TEST(OrderTextTest, each_value_that_does_not_fit_is_named) {
    const struct {
        const char* line;
        const char* instead;
        const char* part;  // part of the message
    } changes[] = {
        {"acp-plan 1", "acp-plan 2", "line 1, \"acp-plan 2\", is not of a saved plan"},
        {"member 2 of 8", "member 7 of 8",
         "line 2: the plan was saved by member 7 of 8, and this is member 2 of 8"},
        {"messages 3", "messages 4",
         "line 3: the plan was saved by member 2 of 8, for other messages: it has 4, and the "
         "pattern 3"},
        {"messages 3 0x", "messages 3 0x0", "for other messages: their digest is 0x0"},
        {"predicted 106.8123456789", "predicted 103", "line 4, \"predicted 103 103.7"},
        {"predicted 106.8123456789", "predicted 1e5", "so much longer than its bound"},
        {"predicted 106.8123456789", "predicted nan", "TIME BOUND"},
        {"engines 4", "engines 9",
         "line 5, \"engines 9\", is not of a saved plan: this line is \"engines ENGINES\", of "
         "which a node has 1 .. 8"},
        {"engines 4", "engines 2",
         "line 6, \"piece 0 600 400 2\", is not of a saved plan: there is no engine 2 of 2"},
        {"0 600 400 2", "0 600 400 99", "there is no engine 99 of 4"},
        {"piece 2 0 30", "piece 3 0 30",
         "line 7, \"piece 3 0 30\", is not of a saved plan: there is no message 3 of 3"},
        {"piece 2 0 30", "piece 2 0 31", "message 2 has 30 bytes"},
        {"piece 2 0 30", "piece 2 10 20",
         "line 9, \"end\", is not of a saved plan: bytes 0 .. 9 of message 2 are in no piece"},
        {"piece 2 0 30", "piece 2 0 30 1 1", "line 7"},
        {"piece 0 0 600", "piece 0 0 610", "lines 6 and 8 both have bytes 600 .. 609 of message 0"},
        {"end\n", "end\n\n", "line 10, \"\", is not of a saved plan: it stands behind the end"},
    };

    for (const auto& [line, instead, part] : changes) {
        std::string text = text_of(made(), {2, 8, sent});
        text.replace(text.find(line), std::string(line).size(), instead);
        EXPECT_NE(refusal_of(text).find(part), std::string::npos)
            << part << " is not in: " << refusal_of(text);
    }
}

// Each by itself.
TEST(OrderTextTest, lines_that_lack_or_stand_twice_are_refused) {
    const std::vector<std::string> lines = lines_of(text_of(made(), {2, 8, sent}));
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::vector<std::string> fewer = lines;
        fewer.erase(fewer.begin() + static_cast<long>(i));
        EXPECT_TRUE(refusal_of(joined(fewer)).starts_with("line")) << "without " << lines[i];
        std::vector<std::string> more = lines;
        more.insert(more.begin() + static_cast<long>(i), lines[i]);
        EXPECT_TRUE(refusal_of(joined(more)).starts_with("line")) << "twice " << lines[i];
    }
}

TEST(OrderTextTest, without_a_network_there_is_one_engine_and_no_prediction) {
    SendOrder order = made();
    order.predicted_us = 0;
    order.bound_us = 0;
    order.engines = 0;
    order.pieces[0].engine = 0;
    const std::string text = text_of(order, {2, 8, sent});
    EXPECT_EQ(order_from_text(text, {2, 8, sent}).value(), order);
    order.pieces[0].engine = 1;
    EXPECT_NE(refusal_of(text_of(order, {2, 8, sent})).find("no engine 1 of 1"), std::string::npos);
    std::string with_engines = text;
    with_engines.insert(with_engines.find("piece"), "engines 4\n");
    EXPECT_TRUE(refusal_of(with_engines).starts_with("line 5, \"engines 4\""));
}

TEST(OrderTextTest, another_member_and_other_messages_are_refused) {
    const std::string text = text_of(made(), {2, 8, sent});
    std::vector<SentMessage> others = sent;
    ++others[0].bytes;
    for (const OrderOwner& owner :
         {OrderOwner{3, 8, sent}, OrderOwner{2, 9, sent}, OrderOwner{2, 8, others}}) {
        const auto read = order_from_text(text, owner);
        ASSERT_FALSE(read.is_ok());
        EXPECT_EQ(read.failure().code(), base::Code::mismatch);
        EXPECT_NE(read.failure().message().find("saved by member 2 of 8"), std::string::npos)
            << read.failure().message();
    }
}

// Texts that are truncated, or have one byte changed: each is read as a complete order, or refused.
TEST(OrderTextTest, damaged_texts_do_no_harm) {
    const OrderOwner owner{2, 8, sent};
    const std::string text = text_of(made(), owner);
    for (std::size_t bytes = 0; bytes + 1 < text.size(); ++bytes)
        EXPECT_FALSE(order_from_text(text.substr(0, bytes), owner).is_ok()) << bytes;
    base::Random random(7);
    for (int trial = 0; trial < 20'000; ++trial) {
        std::string damaged = text;
        damaged[random() % text.size()] = static_cast<char>("0123456789 \n-xpe"[random() % 16]);
        const auto read = order_from_text(damaged, owner);
        if (!read.is_ok()) continue;
        std::uint64_t bytes = 0;
        for (const SentPiece& piece : read.value().pieces) bytes += piece.bytes;
        EXPECT_EQ(bytes, 1030U);
    }
}

TEST(OrderTextTest, pieces_that_overlap_or_lack_are_refused) {
    const OrderOwner owner{2, 8, sent};
    SendOrder order = made();
    order.pieces[0].offset_bytes = 599;
    EXPECT_FALSE(order_from_text(text_of(order, owner), owner).is_ok());
    order = made();
    order.pieces.pop_back();
    EXPECT_FALSE(order_from_text(text_of(order, owner), owner).is_ok());
}

}  // namespace
}  // namespace acp::exchange
