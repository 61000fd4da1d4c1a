// SPDX-License-Identifier: BSD-3-Clause
// The sequences in a FASTA or FASTQ file; which of the two is seen from its first character. Sequences and
// qualities may span lines; a quality line may begin with '@', for its length says where it ends. Knows
// nothing of k-mers. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "line_reader.hpp"

namespace kmer {

// A stretch of a sequence, at most a line.
struct Piece {
    std::string_view letters;    // valid until the next piece is asked for; may be empty
    bool starts_record = false;  // its record is another than the piece's before
};

class SequenceReader {
public:
    // Throws Failure when the file cannot be opened.
    explicit SequenceReader(std::string path);

    // False at the end of the file. Throws Failure, with path and line, when the file is neither FASTA
    // nor FASTQ or breaks its format, and as ByteSource::read.
    bool next(Piece& piece);

    // How far into the file, as it is stored, reading has come.
    [[nodiscard]] std::uint64_t position() const { return lines_.source().position(); }

private:
    enum class Format { unknown, fasta, fastq };
    enum class Part { header, sequence, quality };  // what the next line is; FASTA has no quality

    bool next_fasta(Piece& piece);
    bool next_fastq(Piece& piece);
    void begin_record(Piece& piece);
    void take_quality();
    void detect_format();
    [[noreturn]] void fail_at_line(const std::string& what);

    LineReader lines_;
    Line line_;
    Format format_ = Format::unknown;
    Part part_ = Part::header;
    bool is_skipping_ = false;           // the rest of a long header or '+' line
    std::uint64_t record_letters_ = 0;   // FASTQ: of the current record's sequence
    std::uint64_t quality_letters_ = 0;  // FASTQ: of the current record's quality
};

}  // namespace kmer
