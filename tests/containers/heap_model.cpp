// SPDX-License-Identifier: BSD-3-Clause
// The heap of a rank with a model of its blocks: each keeps its bytes until it is freed, no two
// overlap, and their number is right.
#include <cstring>
#include <map>
#include <vector>

#include <acp.h>

#include "containers/model.hpp"

namespace acp::test {

namespace {

class HeapModel final : public Model {
public:
    explicit HeapModel(int rank) : rank_(rank) { blocks_before_ = usage().blocks; }

    void apply(const Step& step) override {
        const std::size_t bytes =
            1 + (step.value % 9 == 0 ? step.value % 100'000 : step.value % 300);
        switch (step.what % 5) {
            case 0:
            case 1:
                return keep(acp_malloc(bytes, rank_), bytes, static_cast<char>(step.value));
            case 2: {
                const acp_ga_t block = acp_calloc(bytes, 1, rank_);
                must(block != ACP_GA_NULL, "acp_calloc");
                must(bytes_of(block, bytes) == std::string(bytes, '\0'),
                     "what acp_calloc gave is not zero");
                return keep(block, bytes, 'c');
            }
            case 3:
                return free_one(step.which);
            default:
                return misuse(step.which);
        }
    }

    void compare() override {
        for (const auto& [block, content] : blocks_) expect_content(block, content);
        const acp_heap_stat_t now = usage();
        must(now.blocks == blocks_before_ + blocks_.size(), "the number of blocks");
        must(acp_heap_check(rank_) == 0, "acp_heap_check");
    }

    void destroy() override {
        while (!blocks_.empty()) free_one(0);
    }

private:
    [[nodiscard]] acp_heap_stat_t usage() const {
        acp_heap_stat_t stat{};
        must(acp_heap_stat(rank_, &stat) == 0, "acp_heap_stat");
        return stat;
    }

    static std::string bytes_of(acp_ga_t block, std::size_t bytes) {
        std::string read(bytes, '?');
        must(acp_wait(acp_get(read.data(), block, bytes, ACP_HANDLE_NULL), -1) == ACP_OK,
             "acp_get");
        return read;
    }

    void keep(acp_ga_t block, std::size_t bytes, char letter) {
        must(block != ACP_GA_NULL, "acp_malloc");
        must(block % 16 == 0, "a block is not aligned");
        must(acp_usable_size(block) >= bytes, "acp_usable_size");
        const auto after = blocks_.lower_bound(block);
        must(after == blocks_.end() || block + bytes <= after->first, "a block overlaps the next");
        must(after == blocks_.begin() ||
                 std::prev(after)->first + std::prev(after)->second.size() <= block,
             "a block overlaps the one before");
        const std::string content(bytes, letter);
        must(acp_wait(acp_put(block, content.data(), bytes, ACP_HANDLE_NULL), -1) == ACP_OK,
             "acp_put");
        blocks_.emplace(block, content);
    }

    static void expect_content(acp_ga_t block, const std::string& content) {
        must(bytes_of(block, content.size()) == content, "a block has lost its bytes");
    }

    [[nodiscard]] std::map<acp_ga_t, std::string>::iterator one_of(std::uint16_t which) {
        return std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(which % blocks_.size()));
    }

    void free_one(std::uint16_t which) {
        if (blocks_.empty()) return;
        const auto one = one_of(which);
        expect_content(one->first, one->second);
        must(acp_free(one->first) == 0, "acp_free");
        blocks_.erase(one);
    }

    // Calls with an address that is not the start of a block are refused and change nothing.
    void misuse(std::uint16_t which) {
        if (blocks_.empty()) return;
        const auto one = one_of(which);
        must(acp_free(one->first + 8) != 0, "acp_free took an address inside a block");
        must(acp_usable_size(one->first + 8) == SIZE_MAX, "acp_usable_size inside a block");
    }

    int rank_;
    std::uint64_t blocks_before_ = 0;
    std::map<acp_ga_t, std::string> blocks_;
};

}  // namespace

std::unique_ptr<Model> make_heap_model(int rank) {
    return std::make_unique<HeapModel>(rank);
}

}  // namespace acp::test
