// SPDX-License-Identifier: BSD-3-Clause
// main() of lockstep tests, for programs without their own.
#include "support/ranked.hpp"

int main(int argc, char** argv) {
    return acp::test::run_ranked_tests(argc, argv);
}
