// SPDX-License-Identifier: BSD-3-Clause
// word_count: how often each word stands in text files. Each rank reads its part of every file and
// counts words in one map that all ranks share.
//
//   acprun -n 4 ./word_count -n 20 book.txt
//
// prints the 20 most frequent words (10 without -n) as `sort | uniq -c` prints them. A word is a
// run of ASCII letters and digits; upper case counts as lower case. Exit status: 0; 2: wrong
// command line; else a file cannot be read, or the job failed.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <acp.h>

namespace {

[[noreturn]] void give_up(const std::string& reason) {
    acp_abort(("word_count: " + reason).c_str());
    std::abort();
}

// All ranks learn a map that rank 0 made: its struct is copied from the start of rank 0's starter
// memory.
acp_map_t share_map() {
    acp_map_t map{};
    if (acp_rank() == 0) {
        acp_hashed_options_t options{};  // on all ranks
        map = acp_create_map_with(&options);
        if (map.ga == ACP_GA_NULL) give_up(acp_error_message());
        acp_complete(acp_put(acp_query_starter_ga(0), &map, sizeof map, ACP_HANDLE_NULL));
    }
    acp_sync();
    acp_complete(acp_get(&map, acp_query_starter_ga(0), sizeof map, ACP_HANDLE_NULL));
    acp_sync();  // the next map is put to the same place
    return map;
}

// Counts words many at a time, so that a word which another node stores does not cost a round trip
// of its own.
class WordCounter {
public:
    explicit WordCounter(acp_map_t counts) : counts_(counts) {}

    void add(std::string word) {
        words_.push_back(std::move(word));
        if (words_.size() == batch_words) flush();
    }

    void flush() {
        std::vector<acp_entry_t> entries(words_.size());
        for (std::size_t i = 0; i < words_.size(); ++i) {
            entries[i].key = words_[i].data();
            entries[i].key_size = words_[i].size();
            entries[i].number = 1;
        }
        if (acp_fetch_add_many_map(counts_, entries.size(), entries.data()) < 0) {
            give_up(acp_error_message());
        }
        words_.clear();
    }

private:
    static constexpr std::size_t batch_words = 4096;

    acp_map_t counts_;
    std::vector<std::string> words_;
};

bool is_letter(int byte) {
    return byte >= 0 && byte < 128 && std::isalnum(byte) != 0;
}

// Counts the words of a file that begin in this rank's part of its bytes.
void count_file(const std::string& path, WordCounter& counter) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) give_up(path + " cannot be read");
    const auto bytes = static_cast<std::uint64_t>(file.tellg());
    const auto ranks = static_cast<std::uint64_t>(acp_procs());
    const auto rank = static_cast<std::uint64_t>(acp_rank());
    const std::uint64_t end = bytes * (rank + 1) / ranks;
    std::uint64_t at = bytes * rank / ranks;
    bool is_inside_word = false;  // of the rank before
    if (at > 0) {
        file.seekg(static_cast<std::streamoff>(at - 1));
        is_inside_word = is_letter(file.get());
    } else {
        file.seekg(0);
    }
    std::string word;
    for (;; ++at) {
        const int byte = file.get();
        if (is_letter(byte)) {
            if (at >= end && word.empty()) return;
            if (!is_inside_word) word += static_cast<char>(std::tolower(byte));
            continue;
        }
        is_inside_word = false;
        if (!word.empty()) counter.add(std::move(word));
        word.clear();
        if (at >= end || byte == std::char_traits<char>::eof()) return;
    }
}

struct Counted {
    std::uint64_t count = 0;
    std::string word;
};

// Keeps the most frequent of the words, most frequent first; equal ones by their letters.
void keep_most(std::vector<Counted>& words, std::size_t most) {
    std::sort(words.begin(), words.end(), [](const Counted& one, const Counted& other) {
        return one.count != other.count ? one.count > other.count : one.word < other.word;
    });
    if (words.size() > most) words.resize(most);
}

// Called for each word that is stored on this rank, at the speed of memory.
int collect(const void* key, size_t key_size, const void* value, size_t, void* words) {
    std::uint64_t count = 0;
    std::memcpy(&count, value, sizeof count);
    static_cast<std::vector<Counted>*>(words)->push_back(
        {count, std::string(static_cast<const char*>(key), key_size)});
    return 0;
}

// Each rank puts its most frequent words into a second map, under its number; rank 0 puts these
// together.
std::vector<Counted> most_frequent(acp_map_t counts, acp_map_t texts, std::size_t most) {
    std::vector<Counted> words;
    if (acp_for_each_local_map(counts, collect, &words) < 0) give_up(acp_error_message());
    keep_most(words, most);
    std::ostringstream text;
    for (const Counted& word : words) text << word.count << ' ' << word.word << '\n';
    const std::string mine = text.str();
    const int rank = acp_rank();
    if (acp_insert_or_assign_map(texts, &rank, sizeof rank, mine.data(), mine.size()) < 0) {
        give_up(acp_error_message());
    }
    acp_sync();
    words.clear();
    for (int of = 0; rank == 0 && of < acp_procs(); ++of) {
        std::size_t size = 0;
        if (acp_retrieve_map(texts, &of, sizeof of, nullptr, &size) != 1) {
            give_up(acp_error_message());
        }
        std::string theirs(size, '\0');
        if (acp_retrieve_map(texts, &of, sizeof of, theirs.data(), &size) != 1) {
            give_up(acp_error_message());
        }
        std::istringstream lines(theirs);
        for (Counted word; lines >> word.count >> word.word;) words.push_back(word);
    }
    keep_most(words, most);
    return words;
}

int run(int argc, char** argv) {
    std::size_t most = 10;
    int first_file = 1;
    if (argc > 2 && std::string(argv[1]) == "-n") {
        most = std::strtoull(argv[2], nullptr, 10);
        first_file = 3;
    }
    if (first_file >= argc || most == 0) {
        if (acp_rank() == 0)
            std::fputs("usage: acprun -n RANKS word_count [-n MOST] FILE...\n", stderr);
        return 2;
    }
    const acp_map_t counts = share_map();
    const acp_map_t texts = share_map();
    WordCounter counter(counts);
    for (int i = first_file; i < argc; ++i) count_file(argv[i], counter);
    counter.flush();
    acp_sync();
    for (const Counted& word : most_frequent(counts, texts, most)) {
        std::printf("%7llu %s\n", static_cast<unsigned long long>(word.count), word.word.c_str());
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        std::fprintf(stderr, "word_count: %s\n", acp_error_message());
        return 1;
    }
    const int code = run(argc, argv);
    return acp_finalize() == 0 ? code : 1;
}
