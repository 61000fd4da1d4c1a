// SPDX-License-Identifier: BSD-3-Clause
// Text for users: sizes, durations and tables. One thread.
#include "base/format.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace acp::base {
namespace {

TEST(HumanSize, keeps_three_digits_and_drops_empty_ones) {
    EXPECT_EQ(human_size(0), "0 B");
    EXPECT_EQ(human_size(1023), "1023 B");
    EXPECT_EQ(human_size(1024), "1 KiB");
    EXPECT_EQ(human_size(64 * 1024), "64 KiB");
    EXPECT_EQ(human_size(1536 * 1024), "1.5 MiB");
    EXPECT_EQ(human_size(1408 + 1024), "2.38 KiB");
    EXPECT_EQ(human_size(1023 * 1024), "1 MiB");
    EXPECT_EQ(human_size(std::uint64_t{1} << 40), "1 TiB");
    EXPECT_EQ(human_size(std::numeric_limits<std::uint64_t>::max()), "16 EiB");
}

TEST(HumanDuration, chooses_the_unit_by_the_rounded_number) {
    EXPECT_EQ(human_duration(0), "0 ns");
    EXPECT_EQ(human_duration(2.8), "2.8 ns");
    EXPECT_EQ(human_duration(1250), "1.25 us");
    EXPECT_EQ(human_duration(999.6), "1 us");
    EXPECT_EQ(human_duration(34.56e6), "34.6 ms");
    EXPECT_EQ(human_duration(60e9), "60 s");
    EXPECT_EQ(human_duration(86400e9), "86400 s");
}

TEST(InBytes, is_exact_and_knows_the_singular) {
    EXPECT_EQ(in_bytes(0), "0 bytes");
    EXPECT_EQ(in_bytes(1), "1 byte");
    EXPECT_EQ(in_bytes(65536), "65536 bytes");
}

TEST(Printable, shows_control_characters_and_bytes_that_are_no_text_by_their_numbers) {
    EXPECT_EQ(printable(""), "");
    EXPECT_EQ(printable("caf\u00e9 \u20ac \U0001f600\nnext"), "caf\u00e9 \u20ac \U0001f600\nnext");
    EXPECT_EQ(printable("a\033[31mb\r\t\x7f"), "a\\x1b[31mb\\x0d\t\\x7f");
    EXPECT_EQ(printable(std::string_view("\0x", 2)), "\\x00x");
    EXPECT_EQ(printable("\xc2\x9b"
                        "31m"),
              "\\xc2\\x9b31m")
        << "a control sequence in one character";
    EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");
    EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82") << "cut short";
    EXPECT_EQ(printable("\xe2x\xff\xf8"), "\\xe2x\\xff\\xf8");
}

TEST(Hex, has_no_leading_zeros) {
    EXPECT_EQ(hex(0), "0x0");
    EXPECT_EQ(hex(0x1f00), "0x1f00");
    EXPECT_EQ(hex(std::numeric_limits<std::uint64_t>::max()), "0xffffffffffffffff");
}

TEST(DisplayWidth, counts_what_a_terminal_shows) {
    EXPECT_EQ(display_width(""), 0U);
    EXPECT_EQ(display_width("abc"), 3U);
    EXPECT_EQ(display_width("\033[1;31mred\033[0m"), 3U);
    EXPECT_EQ(display_width("\xc3\xa9t\xc3\xa9"), 3U);
    EXPECT_EQ(display_width("\033[31"), 0U);
}

TEST(Wrap, breaks_at_blanks_only) {
    EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
    EXPECT_EQ(wrap("one two three", 13), (std::vector<std::string>{"one two three"}));
    EXPECT_EQ(wrap("a longerword b", 4), (std::vector<std::string>{"a", "longerword", "b"}));
    EXPECT_EQ(wrap("", 4), (std::vector<std::string>{""}));
    EXPECT_EQ(wrap("  a   b ", 9), (std::vector<std::string>{"a b"}));
}

TEST(Table, lines_up_text_left_and_numbers_right_without_trailing_blanks) {
    Table table({{"PART"}, {"BYTES", Table::Align::right}, {"NOTE"}});
    table.add_row({"slots", "576", ""});
    table.add_row({"starter memory", "65536", "used"});
    EXPECT_EQ(table.text(),
              "PART            BYTES  NOTE\n"
              "slots             576\n"
              "starter memory  65536  used\n");
    EXPECT_EQ(table.width(), 27U);
}

TEST(Table, leaves_out_the_titles_when_there_are_none_and_indents) {
    Table table({{""}, {""}});
    table.add_row({"a", "b"});
    table.add_row({"long"});
    EXPECT_EQ(table.text(2), "  a     b\n  long\n");
}

TEST(Table, a_line_across_widens_no_column) {
    Table table({{"A"}, {"B"}});
    table.add_row({"1", "2"});
    table.add_line("    a long remark about the row above");
    table.add_row({"3", "4"});
    EXPECT_EQ(table.text(), "A  B\n1  2\n    a long remark about the row above\n3  4\n");
}

TEST(Table, colours_take_no_room) {
    Table table({{""}, {""}});
    table.add_row({"\033[32myes\033[0m", "x"});
    table.add_row({"no", "y"});
    EXPECT_EQ(table.text(), "\033[32myes\033[0m  x\nno   y\n");
}

}  // namespace
}  // namespace acp::base
