// SPDX-License-Identifier: BSD-3-Clause
// A random program without data races on shared pages, and the bytes that each of its reads must see.
// Threads ("actors") access bytes of a window in epochs, which barriers end. Between two barriers a
// byte has one writer and no reader besides it. The patterns change between pages that rest, pages
// that one actor writes for some epochs, and pages that several actors write, in pieces of 1 to 8
// bytes: a page with one writer and then several ones is what finds most defects of a protocol.
// Where the shape says so, the window consists of areas of a few pages each, and some of them are freed
// and allocated again between two epochs: they are zero then.
// One thread; the same seed makes the same program in each process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/random.hpp"

namespace acp::test {

struct Access {
    std::uint64_t place = 0;  // offset of a byte in the window
    std::byte value{};        // that is written, or read
    bool is_write = false;
};

struct ProgramShape {
    std::uint64_t pages = 0;
    std::uint64_t epochs = 0;
    std::uint32_t actors = 0;
    std::uint64_t area_pages_max = 0;  // 0: the window is one area, which is never freed
};

// Successive pages of the window that are allocated together.
struct Area {
    std::uint64_t first = 0;
    std::uint64_t pages = 0;
};

class RaceFreeProgram {
public:
    RaceFreeProgram(std::uint64_t seed, const ProgramShape& shape)
        : shape_(shape),
          random_(seed),
          accesses_(shape.epochs, std::vector<std::vector<Access>>(shape.actors)) {
        choose_areas(seed);
        std::vector<std::byte> model(shape.pages * page_bytes);
        std::vector<std::uint32_t> sole_writers(shape.pages);
        for (std::uint64_t epoch = 0; epoch < shape.epochs; ++epoch) {
            for (const std::size_t area : renewed_[epoch]) {
                const auto begin = model.begin() + offset_of(areas_[area].first);
                std::fill(begin, begin + offset_of(areas_[area].pages), std::byte{0});
            }
            std::vector<std::byte> next = model;
            std::vector<bool> is_written(model.size());
            for (std::uint64_t page = 0; page < shape.pages; ++page) {
                write_page(epoch, page, sole_writers[page], next, is_written);
            }
            for (std::uint32_t actor = 0; actor < shape.actors; ++actor) {
                read_some(epoch, actor, model, is_written);
            }
            model = std::move(next);
        }
        last_ = std::move(model);
    }

    // In the order of the actor's program.
    [[nodiscard]] const std::vector<Access>& of(std::uint64_t epoch, std::uint32_t actor) const {
        return accesses_[epoch][actor];
    }

    // The bytes behind the last barrier.
    [[nodiscard]] const std::vector<std::byte>& last() const { return last_; }

    // In ascending order of their pages.
    [[nodiscard]] const std::vector<Area>& areas() const { return areas_; }

    // The numbers of the areas that are freed before an epoch, all of them, and then allocated again.
    [[nodiscard]] const std::vector<std::size_t>& renewed(std::uint64_t epoch) const {
        return renewed_[epoch];
    }

private:
    static constexpr std::uint64_t page_bytes = 4096;

    static std::ptrdiff_t offset_of(std::uint64_t page) {
        return static_cast<std::ptrdiff_t>(page * page_bytes);
    }

    void choose_areas(std::uint64_t seed) {
        Random random(~seed);
        renewed_.resize(shape_.epochs);
        const std::uint64_t longest =
            shape_.area_pages_max == 0 ? shape_.pages : shape_.area_pages_max;
        for (std::uint64_t page = 0; page < shape_.pages; page += areas_.back().pages) {
            const std::uint64_t pages =
                shape_.area_pages_max == 0 ? longest : random.between(1, longest);
            areas_.push_back({page, std::min(pages, shape_.pages - page)});
        }
        for (std::uint64_t epoch = 1; epoch < shape_.epochs && shape_.area_pages_max != 0;
             ++epoch) {
            if (!random.chance(30)) continue;
            for (std::size_t area = 0; area < areas_.size(); ++area) {
                if (random.chance(30)) renewed_[epoch].push_back(area);
            }
            for (std::size_t i = renewed_[epoch].size(); i > 1; --i)
                std::swap(renewed_[epoch][i - 1], renewed_[epoch][random.below(i)]);
        }
    }

    // A page rests, or one actor writes it, the same for some epochs, or several do.
    void write_page(std::uint64_t epoch,
                    std::uint64_t page,
                    std::uint32_t& sole_writer,
                    std::vector<std::byte>& next,
                    std::vector<bool>& is_written) {
        if (random_.chance(25)) return;
        if (random_.chance(30)) sole_writer = actor();
        const std::uint64_t writers = random_.chance(55) ? 1 : random_.between(2, 4);
        const std::uint64_t chunk = std::uint64_t{1} << random_.below(4);
        for (std::uint64_t i = 0; i < writers; ++i) {
            auto& accesses = accesses_[epoch][i == 0 ? sole_writer : actor()];
            const std::uint64_t chunks = random_.chance(10) ? 300 : random_.between(1, 12);
            for (std::uint64_t n = 0; n < chunks; ++n) {
                const std::uint64_t place =
                    page * page_bytes + random_.below(page_bytes / chunk) * chunk;
                for (std::uint64_t at = place; at < place + chunk; ++at) {
                    if (is_written[at]) continue;
                    is_written[at] = true;
                    next[at] = static_cast<std::byte>(random_.next());
                    accesses.push_back({at, next[at], true});
                    written_.push_back(at);
                }
            }
        }
    }

    void read_some(std::uint64_t epoch,
                   std::uint32_t actor,
                   const std::vector<std::byte>& model,
                   const std::vector<bool>& is_written) {
        auto& accesses = accesses_[epoch][actor];
        const std::size_t writes = accesses.size();
        for (std::uint64_t i = random_.below(12); i != 0 && !written_.empty(); --i) {
            const std::uint64_t place = written_[random_.below(written_.size())];
            if (is_written[place]) continue;
            // Before or behind one of the writes.
            const auto at = static_cast<std::ptrdiff_t>(random_.below(writes + 1));
            accesses.insert(accesses.begin() + at, {place, model[place], false});
        }
    }

    [[nodiscard]] std::uint32_t actor() {
        return static_cast<std::uint32_t>(random_.below(shape_.actors));
    }

    ProgramShape shape_;
    Random random_;
    std::vector<std::uint64_t> written_;                      // places that any epoch wrote
    std::vector<std::vector<std::vector<Access>>> accesses_;  // indexed by epoch and actor
    std::vector<std::byte> last_;
    std::vector<Area> areas_;
    std::vector<std::vector<std::size_t>> renewed_;  // indexed by epoch
};

}  // namespace acp::test
