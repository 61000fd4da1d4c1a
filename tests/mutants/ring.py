#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Defects planted into the ring of messages."""
import sys

from plants import Plants

FOLDER = "tests/unit/message/"
TESTS = [FOLDER + name for name in ("ring_words_test.cpp", "ring_test.cpp", "ring_corruption_test.cpp", "ring_kill_test.cpp",
                                    "ring_concurrency_test.cpp", "pipe_test.cpp", "pipe_kill_test.cpp",
                                    "lending_test.cpp")]

PLACE = "        put(shape.payload_offset(line, head.wraps));\n"
JOURNAL = "        path_.store(shape.journal_offset(line), header);\n"

# name: (file, text, instead)
MUTANTS = {
    "a slot is written again before it is released": ("pipe.hpp",
        "        if (!ring_.is_released(behind_[slot()])) return nullptr;\n", ""),
    "a slot is given back one record early": ("pipe.hpp", "behind_[slot()] = ring_.next();", "behind_[slot()] = ring_.next() - 1;"),
    "what was released is not known by its line": ("ring.hpp", "static_cast<std::int64_t>(released_ - line) >= 0;",
                                                   "static_cast<std::int64_t>(released_ - line) > 0;"),
    "the journal is not written": ("ring.hpp", "        path_.store(shape.journal_offset(line), header);\n", ""),
    "the header comes before the payload": ("ring.hpp", PLACE + JOURNAL, JOURNAL + """\
        const bool is_wake_due = path_.publish(shape.header_offset(line), header);
""" + PLACE + "        if (is_wake_due) return true;\n"),
    "the journal comes before the payload": ("ring.hpp", PLACE + JOURNAL, JOURNAL + PLACE),
    "a header does not hand the payload over": ("mapped_path.hpp",
        "            word(offset).exchange(value, std::memory_order_seq_cst);", "            word(offset).exchange(value, std::memory_order_relaxed);"),
    "the journal does not hand the payload over": ("mapped_path.hpp",
        "        word(offset).store(value, std::memory_order_release);", "        word(offset).store(value, std::memory_order_relaxed);"),
    "a header is read without order": ("ring.hpp",
        "            path_.word(shape_.header_offset(line_)).load(std::memory_order_acquire);\n        if (!fits(header)) {",
        "            path_.word(shape_.header_offset(line_)).load(std::memory_order_relaxed);\n        if (!fits(header)) {"),
    "the journal is read without order": ("ring.hpp",
        "            path_.word(shape_.journal_offset(line_)).load(std::memory_order_acquire);",
        "            path_.word(shape_.journal_offset(line_)).load(std::memory_order_relaxed);"),
    "a credit is read without order": ("ring.hpp",
        "                path_.word(shape_.credit_offset(which)).load(std::memory_order_acquire);",
        "                path_.word(shape_.credit_offset(which)).load(std::memory_order_relaxed);"),
    "no zeros": ("ring.hpp", "        for (std::uint64_t line = first; line != end; ++line)\n            path_.word",
                 "        for (std::uint64_t line = first; line != first; ++line)\n            path_.word"),
    "a zero in the first line alone": ("ring.hpp", "        clear(cleared_, line_);\n",
                                       "        if (cleared_ != line_) clear(cleared_, cleared_ + 1);\n"),
    "no zeros before a credit": ("ring.hpp", "        clear_released();\n        told_ = line_;\n", "        told_ = line_;\n"),
    "an opened ring is not cleared": ("ring.hpp", "        clear(0, shape_.lines());\n", ""),
    "the second credit is not read": ("ring.hpp", "which < 2; ++which) {", "which < 1; ++which) {"),
    "the first credit is not told": ("ring.hpp", "        path_.store(shape_.credit_offset(0), key_.credit(line_));\n", ""),
    "any credit is believed": ("ring_words.hpp", "        if (distance >= count || word != of_line(first + distance, mark)) return false;",
                               "        if (distance >= count || (word != of_line(first + distance, mark) && mark == request_mark)) return false;"),
    "any line is believed": ("ring_words.hpp", "        if (distance >= count || word", "        if (distance > 0x7fffffff || word"),
    "credits are not told again": ("ring.hpp",
        "        path_.store(shape_.credit_offset(0), key_.credit(told_));\n        path_.store(shape_.credit_offset(1), key_.credit(told_));\n", ""),
    "no request": ("ring.hpp", "        path_.store(shape_.request_offset(), key_.request(line_));\n", ""),
    "a request is answered once": ("ring.hpp", "compare_exchange_strong(seen, 0, std", "compare_exchange_strong(seen, word, std"),
    "a request is not answered": ("ring.hpp", "        path_.store(shape_.header_offset(line), header);\n",
                                  "        static_cast<void>(header);\n"),
    "a request for a line without a header is answered": ("ring.hpp",
        "        if (!key_.fits_header(header, line)) return;  // no record starts there\n", ""),
    "a full sender does not answer": ("ring.hpp", "        serve();\n        // The receiver", "        // The receiver"),
    "a line is used again while an answer is late": ("ring.hpp", "        if (has_answered_ && !path_.is_idle()) return;\n", ""),
    "the journal is not looked at": ("ring.hpp", "        if (fits(noted)) {", "        if (fits(noted) && line_ == ~std::uint64_t{0}) {"),
    "the final length decides where a record lies": ("ring.hpp", "        const RecordHead head{static_cast<std::uint32_t>(bytes), tag, wraps_};\n",
        "        wraps_ = shape_.must_wrap(next_, bytes);\n        const RecordHead head{static_cast<std::uint32_t>(bytes), tag, wraps_};\n"),
    "the line is not checked": ("ring_words.hpp", "os::crc32c_of_word(key_, line << 32 | low);", "os::crc32c_of_word(key_, (line & 0) << 32 | low);"),
    "the key is not checked": ("ring_words.hpp", "os::crc32c_of_word(key_, line << 32 | low);", "os::crc32c_of_word(0, line << 32 | low);"),
    "an empty record may be zero": ("ring_words.hpp", "        return sum + static_cast<std::uint32_t>(sum == 0);", "        return sum;"),
    "any length is believed": ("ring.hpp", """\
        return bytes <= shape_.payload_bytes_max() &&
               (RingKey::wraps_of(word) || !shape_.must_wrap(line_, bytes));""", """\
        return bytes <= header_bytes_max;"""),
    "lengths beyond the end are believed": ("ring.hpp", "(RingKey::wraps_of(word) || !shape_.must_wrap(line_, bytes));", "true;"),
    "credits come too late": ("ring_layout.hpp", "return lines() / 4; }", "return lines() / 2; }"),
    "a full ring takes one more": ("ring.hpp", "        return end - released_ <= shape_.lines();", "        return end - released_ <= shape_.lines() + 1;"),
    "a sender begins before the ring is open": ("ring.hpp", "released_ = std::uint64_t{0} - shape_.lines();", "released_ = 0;"),
    "the sleeper is looked for before the store": ("mapped_path.hpp",
        "        if (is_fence_by_each_) [[unlikely]] {\n", "        const bool is_early = ring();\n        if (is_early || is_fence_by_each_) {\n"
        "            word(offset).exchange(value, std::memory_order_seq_cst);\n            return is_early;\n        }\n        if (is_fence_by_each_) {\n"),
    "a header is stored without order before the look": ("mapped_path.hpp",
        "            word(offset).exchange(value, std::memory_order_seq_cst);  // partner: Bell::announce()",
        "            word(offset).store(value, std::memory_order_release);"),
    "the sender is not woken": (
        "ring.hpp", "        return line_ - told_ >= shape_.credit_lines() && path_.may_send() && tell_credit();",
        "        return line_ - told_ >= shape_.credit_lines() && path_.may_send() && tell_credit() && told_ == 0;"),
    # Lent messages.
    "a piece is told before it is there": ("lending.hpp", """\
        words.copied.store(PieceCount{number_, 0, copied_}.word(), std::memory_order_release);
""", """\
        words.copied.store(PieceCount{number_, 0, copied_}.word(), std::memory_order_relaxed);
"""),
    "a message is opened before its words are there": ("lending.hpp",
        "        words_->opened.store(number_, std::memory_order_release);",
        "        words_->opened.store(number_, std::memory_order_relaxed);"),
    "a claim is of any message": ("lending.hpp",
        "            if (!claims.is_of(number_) || claims.back", "            if (claims.number == ~number_ || claims.back"),
    "a piece is claimed without a look at others": ("lending.hpp",
        "            if (front_ + back_ == pieces_.count()) break;\n", "            if (front_ == pieces_.count()) break;\n"),
    "the sender's last piece is not waited for": ("lending.hpp", "if (copied() != back_) return", "if (copied() + 1 < back_) return"),
    "claims are believed": ("lending.hpp", "            if (!may_be(claims)) [[unlikely]] {\n", "            if (false) {\n"),
    "claims that the sender has not begun are believed": ("lending.hpp", " && claims.back <= begun();", ";"),
    "a lost count stays lost": ("lending.hpp", ".back != copied_)\n            tell_copied", ".back == ~copied_)\n            tell_copied"),
    "what was begun too late stays begun": ("lending.hpp", "        if (words.begun.load(std::memory_order_relaxed) != begun)\n", "        if (begun == ~number)\n"),
    "a refusal is not heard": ("ring.hpp", "is_refused_ || word == key_.refusal();", "is_refused_;"),
    "a sender copies to anywhere": ("lending.hpp", "        if (wanted > message.bytes || !may_copy(target, wanted)) [[unlikely]]\n",
        "        static_cast<void>(may_copy);\n        if (wanted > message.bytes) [[unlikely]]\n"),
    "a sender copies more than the message": ("lending.hpp", "wanted > message.bytes || !may_copy", "!may_copy"),
    "the sender's last piece of what is given up is not waited for": ("lending.hpp",
        "        while (is_sender_copying() && may_wait()) continue;\n", "        static_cast<void>(may_wait);\n"),
    "a loan cannot be taken back": ("lending.hpp", "        words.revoked.store(1, std::memory_order_relaxed);\n", "        static_cast<void>(words);\n"),
    "what a dead sender had claimed stays": ("lending.hpp",
        "            for (std::uint64_t i = copied(); i < back_; ++i)", "            for (std::uint64_t i = back_; i < back_; ++i)"),
}

if __name__ == "__main__":
    sys.exit(Plants("message", TESTS, MUTANTS).main())
