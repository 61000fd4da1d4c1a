// SPDX-License-Identifier: BSD-3-Clause
// The two formats, each as what a line can be after the lines before it. See sequence_reader.hpp.
#include "sequence_reader.hpp"

#include <cstdio>
#include <utility>

#include "failure.hpp"

namespace kmer {

namespace {

std::string printable(char letter) {
    if (letter >= ' ' && letter <= '~') return std::string("'") + letter + "'";
    char text[16];
    std::snprintf(text, sizeof text, "byte 0x%02x", static_cast<unsigned>(letter) & 0xffU);
    return text;
}

}  // namespace

SequenceReader::SequenceReader(std::string path) : lines_(std::move(path)) {}

bool SequenceReader::next(Piece& piece) {
    switch (format_) {
        case Format::fasta:
            return next_fasta(piece);
        case Format::fastq:
            return next_fastq(piece);
        case Format::unknown:
            break;
    }
    while (lines_.next(line_)) {
        if (line_.text.empty()) continue;
        detect_format();
        begin_record(piece);
        return true;
    }
    return false;  // a file without any record is in order
}

void SequenceReader::detect_format() {
    const char first = line_.text.front();
    if (first == '>') {
        format_ = Format::fasta;
    } else if (first == '@') {
        format_ = Format::fastq;
    } else {
        fail_at_line("neither FASTA nor FASTQ: expected '>' or '@', found " + printable(first));
    }
}

// Called with the first piece of a header line.
void SequenceReader::begin_record(Piece& piece) {
    piece = {.letters = {}, .starts_record = true};
    is_skipping_ = !line_.ends;
    part_ = Part::sequence;
    record_letters_ = 0;
    quality_letters_ = 0;
}

bool SequenceReader::next_fasta(Piece& piece) {
    while (lines_.next(line_)) {
        if (is_skipping_) {
            is_skipping_ = !line_.ends;
            continue;
        }
        if (line_.starts && line_.text.starts_with('>')) {
            begin_record(piece);
        } else {
            piece = {.letters = line_.text, .starts_record = false};
        }
        return true;
    }
    return false;
}

bool SequenceReader::next_fastq(Piece& piece) {
    while (lines_.next(line_)) {
        if (is_skipping_) {
            is_skipping_ = !line_.ends;
            continue;
        }
        switch (part_) {
            case Part::header:
                if (line_.text.empty()) continue;
                if (line_.text.front() != '@') {
                    fail_at_line("expected '@' and a read's name, found " +
                                 printable(line_.text.front()));
                }
                begin_record(piece);
                return true;
            case Part::sequence:
                if (line_.starts && line_.text.starts_with('+')) {
                    is_skipping_ = !line_.ends;
                    part_ = record_letters_ == 0 ? Part::header : Part::quality;
                    continue;
                }
                record_letters_ += line_.text.size();
                piece = {.letters = line_.text, .starts_record = false};
                return true;
            case Part::quality:
                take_quality();
                continue;
        }
    }
    // The last line's end may be missing, the last record's may not.
    const bool is_complete =
        part_ == Part::header || (part_ == Part::quality && quality_letters_ == record_letters_);
    if (!is_complete) fail_at_line("the file ends within a read");
    return false;
}

void SequenceReader::take_quality() {
    quality_letters_ += line_.text.size();
    if (quality_letters_ > record_letters_) {
        fail_at_line("a read of " + std::to_string(record_letters_) + " letters has " +
                     std::to_string(quality_letters_) + " letters of quality");
    }
    if (quality_letters_ == record_letters_ && line_.ends) part_ = Part::header;
}

// Damaged gzip data may look like a broken format before their checksum shows the damage, so that
// is looked at first.
void SequenceReader::fail_at_line(const std::string& what) {
    lines_.check_rest();
    throw Failure(lines_.source().path() + ": line " + std::to_string(lines_.number()) + ": " +
                  what);
}

}  // namespace kmer
