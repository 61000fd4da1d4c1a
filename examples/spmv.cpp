// SPDX-License-Identifier: BSD-3-Clause
// spmv: multiplies a sparse matrix by a vector again and again, as iterative solvers do. Each rank
// has a block of rows and the elements of the vector of the same numbers; which elements of others
// it needs is decided by the matrix. They are exchanged by a plan that is compiled once, while the
// rank multiplies what it has itself.
//
//   acprun -n 4 ./spmv -t 10 matrix.mtx
//
// The matrix is square and comes from a Matrix Market file (coordinate; real, integer or pattern;
// general, symmetric or skew-symmetric). The vector begins as 1, 1/2, 1/3, ... and is divided by
// its largest element after each product. With -p every rank prints the elements of the last
// product, "ROW VALUE". Exit status: 0; 2: wrong command line; else a file cannot be read, or the
// job failed.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <acp.h>

namespace {

[[noreturn]] void give_up(const std::string& reason) {
    acp_abort(("spmv: " + reason).c_str());
    std::abort();
}

void must(bool holds) {
    if (!holds) give_up(acp_error_message());
}

struct Entry {
    std::size_t row;
    std::size_t column;
    double value;
};

struct Matrix {
    std::size_t rows = 0;
    std::vector<Entry> entries;
};

Matrix read_matrix(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) give_up(path + " cannot be read");
    std::transform(line.begin(), line.end(), line.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::istringstream header(line);
    std::string mark, object, format, field, symmetry;
    header >> mark >> object >> format >> field >> symmetry;
    const bool is_known =
        mark == "%%matrixmarket" && object == "matrix" && format == "coordinate" &&
        field != "complex" &&
        (symmetry == "general" || symmetry == "symmetric" || symmetry == "skew-symmetric");
    if (!is_known) give_up(path + " is no sparse real matrix in the Matrix Market format");
    while (file.peek() == '%') std::getline(file, line);
    Matrix matrix;
    std::size_t columns = 0, stored = 0;
    if (!(file >> matrix.rows >> columns >> stored) || matrix.rows != columns || matrix.rows == 0)
        give_up(path + " has no square matrix");
    const double mirrored = symmetry == "symmetric" ? 1 : symmetry == "skew-symmetric" ? -1 : 0;
    for (std::size_t i = 0; i < stored; ++i) {
        Entry entry{0, 0, 1};
        file >> entry.row >> entry.column;
        if (field != "pattern") file >> entry.value;
        if (!file || entry.row - 1 >= matrix.rows || entry.column - 1 >= columns)
            give_up(path + " ends too early, or an entry is outside of the matrix");
        --entry.row;
        --entry.column;
        matrix.entries.push_back(entry);
        if (mirrored != 0 && entry.row != entry.column)
            matrix.entries.push_back({entry.column, entry.row, mirrored * entry.value});
    }
    return matrix;
}

// The rows of a matrix, divided among the ranks in blocks.
struct Division {
    std::size_t rows;

    [[nodiscard]] std::size_t first(int rank) const {
        return rows * static_cast<std::size_t>(rank) / static_cast<std::size_t>(acp_procs());
    }

    [[nodiscard]] int owner(std::size_t row) const {
        auto rank = static_cast<int>(row * static_cast<std::size_t>(acp_procs()) / rows);
        while (first(rank + 1) <= row) ++rank;
        return rank;
    }
};

// Rows with the places of a vector's elements in them.
struct Rows {
    std::vector<std::size_t> begin{0};  // of each row, and behind the last one
    std::vector<std::size_t> places;
    std::vector<double> values;

    void add_to(std::vector<double>& product, const double* vector) const {
        for (std::size_t row = 0; row + 1 < begin.size(); ++row) {
            for (std::size_t i = begin[row]; i < begin[row + 1]; ++i)
                product[row] += values[i] * vector[places[i]];
        }
    }
};

// This rank's rows, its elements of the vector, and the exchange of those that other ranks have.
class Multiplier {
public:
    explicit Multiplier(Matrix matrix)
        : division_{matrix.rows}, first_(division_.first(acp_rank())) {
        std::map<int, std::set<std::size_t>> needed;  // elements of each other rank
        std::map<int, std::set<std::size_t>> wanted;  // elements of mine, by each other rank
        for (const Entry& entry : matrix.entries) {
            const int row_owner = division_.owner(entry.row),
                      column_owner = division_.owner(entry.column);
            if (row_owner == column_owner) continue;
            if (row_owner == acp_rank()) needed[column_owner].insert(entry.column);
            if (column_owner == acp_rank()) wanted[row_owner].insert(entry.column);
        }
        compile(needed, wanted);
        own_.resize(division_.first(acp_rank() + 1) - first_);
        for (std::size_t i = 0; i < own_.size(); ++i)
            own_[i] = 1 / static_cast<double>(first_ + i + 1);
        divide(std::move(matrix.entries), needed);
    }

    Multiplier(const Multiplier&) = delete;
    Multiplier& operator=(const Multiplier&) = delete;

    ~Multiplier() {
        must(acp_free_plan(plan_) == 0);
        must(acp_free_pattern(pattern_) == 0);
    }

    // Returns the largest element of the product, by which all were divided.
    double multiply() {
        for (std::size_t i = 0; i < sent_.size(); ++i) outgoing_[i] = own_[sent_[i]];
        product_.assign(own_.size(), 0);
        must(acp_start_plan(plan_) == 0);
        near_.add_to(product_, own_.data());
        must(acp_wait_plan(plan_) == 0);
        far_.add_to(product_, others_.data());
        double largest = 0;
        for (const double element : product_) largest = std::max(largest, std::abs(element));
        must(acp_allreduce_team(acp_world_team(), &largest, &largest, 1, ACP_DOUBLE, ACP_MAX) == 0);
        if (largest == 0) give_up("the product is 0");
        for (std::size_t i = 0; i < own_.size(); ++i) own_[i] = product_[i] / largest;
        return largest;
    }

    void print() const {
        for (std::size_t i = 0; i < product_.size(); ++i)
            std::printf("%zu %.17g\n", first_ + i + 1, product_[i]);
        std::fflush(stdout);
    }

    // Messages and elements that this rank sends for each product.
    [[nodiscard]] std::uint64_t messages() const { return messages_; }

    [[nodiscard]] std::uint64_t elements() const { return sent_.size(); }

private:
    // A message for each rank that wants something, and from each of which something is needed.
    void compile(const std::map<int, std::set<std::size_t>>& needed,
                 const std::map<int, std::set<std::size_t>>& wanted) {
        for (const auto& [rank, columns] : wanted) {
            for (const std::size_t column : columns) sent_.push_back(column - first_);
        }
        std::size_t received = 0;
        for (const auto& [rank, columns] : needed) received += columns.size();
        others_.resize(received);
        // What is long and lies in memory of acp_malloc is copied by its receiver, straight from
        // here.
        const acp_ga_t memory = acp_malloc(sent_.size() * sizeof(double) + 1, acp_rank());
        must(memory != ACP_GA_NULL);
        outgoing_ = static_cast<double*>(acp_query_address(memory));
        pattern_ = acp_create_pattern(acp_world_team());
        must(pattern_ != ACP_PATTERN_NULL);
        const double* source = outgoing_;
        for (const auto& [rank, columns] : wanted) {
            must(acp_add_send_pattern(pattern_, rank - acp_rank(), source,
                                      columns.size() * sizeof(double)) == 0);
            source += columns.size();
        }
        double* target = others_.data();
        for (const auto& [rank, columns] : needed) {
            must(acp_add_recv_pattern(pattern_, rank - acp_rank(), target,
                                      columns.size() * sizeof(double)) == 0);
            target += columns.size();
        }
        messages_ = wanted.size();
        plan_ = acp_compile_pattern(pattern_, nullptr);
        must(plan_ != ACP_PLAN_NULL);
    }

    // Tells the entries of this rank's rows apart by who has the element of the vector.
    void divide(std::vector<Entry> entries, const std::map<int, std::set<std::size_t>>& needed) {
        std::map<std::size_t, std::size_t> places;
        for (const auto& [rank, columns] : needed) {
            for (const std::size_t column : columns) places.emplace(column, places.size());
        }
        std::stable_sort(entries.begin(), entries.end(),
                         [](const Entry& a, const Entry& b) { return a.row < b.row; });
        auto entry = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& its) { return its.row >= first_; });
        for (std::size_t row = first_; row < first_ + own_.size(); ++row) {
            for (; entry != entries.end() && entry->row == row; ++entry) {
                const bool is_near = entry->column - first_ < own_.size();
                Rows& rows = is_near ? near_ : far_;
                rows.places.push_back(is_near ? entry->column - first_ : places.at(entry->column));
                rows.values.push_back(entry->value);
            }
            near_.begin.push_back(near_.values.size());
            far_.begin.push_back(far_.values.size());
        }
    }

    Division division_;
    std::size_t first_;  // row of this rank
    Rows near_, far_;    // whose elements this rank has, and the others
    std::vector<double> own_, others_, product_;
    std::vector<std::size_t> sent_;  // places of what is sent
    double* outgoing_ = nullptr;     // those elements, side by side
    std::uint64_t messages_ = 0;
    acp_pattern_t pattern_ = ACP_PATTERN_NULL;
    acp_plan_t plan_ = ACP_PLAN_NULL;
};

struct Arguments {
    int times = 1;
    bool prints = false;
    std::string path;  // "": the command line is wrong
};

Arguments read_arguments(int argc, char** argv) {
    Arguments arguments;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "-p") {
            arguments.prints = true;
        } else if (word == "-t" && i + 1 < argc) {
            arguments.times = std::atoi(argv[++i]);
        } else if (word[0] == '-' || !arguments.path.empty()) {
            return {};
        } else {
            arguments.path = word;
        }
    }
    if (arguments.times < 1) return {};
    return arguments;
}

void run(const Arguments& arguments) {
    Matrix matrix = read_matrix(arguments.path);
    const std::size_t rows = matrix.rows, entries = matrix.entries.size();
    Multiplier multiplier(std::move(matrix));
    double largest = 0;
    for (int i = 0; i < arguments.times; ++i) largest = multiplier.multiply();
    std::uint64_t sent[] = {multiplier.messages(), multiplier.elements()};
    must(acp_allreduce_team(acp_world_team(), sent, sent, 2, ACP_UINT64, ACP_SUM) == 0);
    if (acp_rank() == 0) {
        std::printf(
            "%d ranks multiplied %d times by %zu x %zu with %zu entries; each time %llu elements "
            "went in %llu messages; largest %.12g\n",
            acp_procs(), arguments.times, rows, rows, entries,
            static_cast<unsigned long long>(sent[1]), static_cast<unsigned long long>(sent[0]),
            largest);
        std::fflush(stdout);
    }
    if (arguments.prints) multiplier.print();
}

}  // namespace

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0) {
        std::fprintf(stderr, "spmv: cannot join the job: %s\n", acp_error_message());
        return EXIT_FAILURE;
    }
    const Arguments arguments = read_arguments(argc, argv);
    if (arguments.path.empty()) {
        if (acp_rank() == 0) std::fprintf(stderr, "usage: spmv [-t TIMES] [-p] FILE\n");
        acp_finalize();
        return 2;
    }
    run(arguments);
    return acp_finalize() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
