// SPDX-License-Identifier: BSD-3-Clause
// Properties of the heap and the containers: after random steps a container returns the same as its
// model (model.hpp), and it leaves no block. For each kind and each rank, rank 0 makes random lists
// of steps, and RapidCheck finds the shortest that fails; the other ranks sleep. RC_PARAMS takes
// the seed that a failure prints. Arguments: about how many steps for each kind, and the kinds
// (none: all).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <rapidcheck.h>
#include <string>
#include <vector>

#include <acp.h>

#include "containers/model.hpp"
#include "support/watchdog.hpp"

namespace rc {

template <>
struct Arbitrary<acp::test::Step> {
    static Gen<acp::test::Step> arbitrary() {
        using acp::test::Step;
        // Numbers of full range from the first list on: RapidCheck's are small at first.
        return gen::build<Step>(
            gen::set(&Step::what, gen::resize(kNominalSize, gen::arbitrary<std::uint8_t>())),
            gen::set(&Step::which, gen::resize(kNominalSize, gen::arbitrary<std::uint16_t>())),
            gen::set(&Step::value, gen::resize(kNominalSize, gen::arbitrary<std::uint32_t>())));
    }
};

}  // namespace rc

namespace acp::test {

void showValue(const Step& step, std::ostream& stream) {
    stream << "{" << unsigned{step.what} << ", " << step.which << ", " << step.value << "}";
}

std::string text_of(std::uint32_t value) {
    const std::size_t bytes = 1 + (value % 7 == 0 ? value % 2'500 : value % 60);
    return std::string(bytes, static_cast<char>('a' + value % 26));
}

std::string key_of(std::uint16_t which) {
    const std::uint16_t one = which % 40;
    return "key " + std::to_string(one) + (one == 7 ? std::string(700, 'k') : "");
}

std::unique_ptr<Model> make_model(std::string_view kind, int rank) {
    if (kind == "heap") return make_heap_model(rank);
    if (kind == "map") return make_map_model(rank);
    if (kind == "multimap") return make_multimap_model(rank);
    if (kind == "set") return make_set_model(rank);
    if (kind == "multiset") return make_multiset_model(rank);
    if (kind == "list") return make_list_model(rank);
    if (kind == "vector") return make_vector_model(rank);
    return kind == "deque" ? make_deque_model(rank) : nullptr;
}

namespace {

constexpr std::size_t list_steps = 500;

std::uint64_t blocks_of(int rank) {
    acp_heap_stat_t stat{};
    must(acp_heap_stat(rank, &stat) == 0, "acp_heap_stat");
    return stat.blocks;
}

std::string run(std::string_view kind, int rank, const std::vector<Step>& steps) {
    const std::uint64_t before = blocks_of(rank);
    const std::unique_ptr<Model> model = make_model(kind, rank);
    std::string found;
    std::size_t at = 0;
    try {
        for (; at < steps.size(); ++at) {
            model->apply(steps[at]);
            if (at % 100 == 99) model->compare();
        }
        model->compare();
    } catch (const Mismatch& mismatch) {
        found = "step " + std::to_string(at) + ": " + mismatch.what;
    }
    try {
        model->destroy();
        if (found.empty()) must(blocks_of(rank) == before, "the container has left blocks");
    } catch (const Mismatch& mismatch) {
        if (found.empty()) found = "at the end: " + mismatch.what;
    }
    return found;
}

// Whether the property holds for about that many steps.
bool holds(std::string_view kind, int rank, std::size_t steps_wanted) {
    std::size_t done = 0;
    const std::string name = std::string(kind) + " on rank " + std::to_string(rank);
    bool is_well = true;
    while (is_well && done < steps_wanted) {
        is_well = rc::check(name + " does what its model does", [&] {
            const auto count =
                *rc::gen::inRange<std::size_t>(1, std::min(list_steps, steps_wanted / 10) + 1);
            const auto steps =
                *rc::gen::container<std::vector<Step>>(count, rc::gen::arbitrary<Step>());
            done += steps.size();
            const std::string found = run(kind, rank, steps);
            // Printed at once: RapidCheck prints only the failure of the shortest list, which may
            // pass when it is run again.
            if (!found.empty()) std::fprintf(stderr, "%s: %s\n", name.c_str(), found.c_str());
            if (!found.empty()) RC_FAIL(found);
        });
    }
    std::printf("%s: %zu steps\n", name.c_str(), done);
    std::fflush(stdout);
    return is_well;
}

int check_all(int argc, char** argv) {
    const auto steps = static_cast<std::size_t>(std::strtoull(argv[1], nullptr, 10));
    std::vector<std::string_view> chosen(argv + 2, argv + argc);
    if (chosen.empty()) chosen.assign(std::begin(kinds), std::end(kinds));
    bool is_well = true;
    const auto ranks = static_cast<std::size_t>(acp_procs());
    for (const std::string_view kind : chosen) {
        for (int rank = 0; rank < acp_procs(); ++rank)
            is_well = holds(kind, rank, std::max<std::size_t>(steps / ranks, 10)) && is_well;
    }
    return is_well ? 0 : 1;
}

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    if (acp_init(&argc, &argv) != 0 || argc < 2) {
        std::fprintf(stderr, "usage: container_models STEPS [KIND...]; %s\n", acp_error_message());
        return 1;
    }
    const int code = acp_rank() == 0 ? acp::test::check_all(argc, argv) : 0;
    acp_sync();
    acp_finalize();
    return code;
}
