// SPDX-License-Identifier: BSD-3-Clause
// `acpbench report`: merges the JSON files of a folder and writes the page. Newer rows replace
// older ones of the same case. Main thread only.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>

#include "experiment.hpp"
#include "glance.hpp"
#include "job.hpp"
#include "page.hpp"
#include "papers_table.hpp"

namespace acp::bench {

namespace {

std::vector<ResultFile> read_folder(const std::string& folder) {
    std::vector<ResultFile> files;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        if (entry.path().extension() != ".json") continue;
        base::Result<ResultFile> file = read_results(entry.path().string());
        if (!file.is_ok()) {
            std::fprintf(stderr, "acpbench: left out: %s\n",
                         std::string(file.failure().message()).c_str());
            continue;
        }
        files.push_back(std::move(file).value());
    }
    if (error) give_up("cannot read the folder " + folder + ": " + error.message());
    std::stable_sort(files.begin(), files.end(), [](const ResultFile& a, const ResultFile& b) {
        return a.header.date < b.header.date;
    });
    return files;
}

std::vector<Row> merge(const std::vector<ResultFile>& files) {
    using Key = std::tuple<std::string, std::string, std::string, int, int, std::uint64_t>;
    std::map<Key, std::size_t> places;
    std::vector<Row> rows;
    for (const ResultFile& file : files) {
        for (const Row& row : file.rows) {
            const Key key{row.experiment, row.name, row.mode, row.ranks, row.nodes, row.bytes};
            const auto [place, is_new] = places.emplace(key, rows.size());
            if (is_new) {
                rows.push_back(row);
            } else {
                rows[place->second] = row;
            }
        }
    }
    return rows;
}

}  // namespace

int run_report(const Options& options) {
    const std::vector<ResultFile> files = read_folder(options.in);
    if (files.empty()) {
        give_up("no results in " + options.in +
                "; make some first, for example:\n  acprun -n 3 --starter-size 16M acpbench copy "
                "--json " +
                options.in + "/copy.json");
    }
    std::vector<Header> headers;
    headers.reserve(files.size());
    for (const ResultFile& file : files) headers.push_back(file.header);
    const std::vector<Row> rows = merge(files);
    const std::string path = options.out.empty()
                                 ? (std::filesystem::path(options.in) / "index.html").string()
                                 : options.out;
    std::ofstream out(path);
    out << make_page(headers, rows);
    out.close();
    if (!out) give_up("cannot write " + path);
    if (options.are_papers_shown) {
        const std::string table = papers_table(rows);
        if (table.empty()) give_up("no row in " + options.in + " measures what a paper states");
        std::printf("What the papers state of their machines, and the same measured here.\n%s\n",
                    table.c_str());
    }
    const std::vector<Figure> figures = glance_at(rows);
    if (!figures.empty()) {
        std::printf("How fast here. %s\n%s\n", glance_explained(), glance_table(figures).c_str());
    }
    std::printf("report page, %zu rows from %zu files: file://%s\n", rows.size(), files.size(),
                std::filesystem::weakly_canonical(path).string().c_str());
    return 0;
}

}  // namespace acp::bench
