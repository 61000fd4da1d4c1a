#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Shows the parts that cmake/part.sh noted, of which some ran beside others, the whole, and as the last line the tests that ctest
# ran in all of them.
#   usage: cmake/parts.sh seconds-of-the-whole
set -euo pipefail
echo
cat build/log/parts.txt
awk -v wall="$1" '{ cpu += $3 } END { printf "%5d s %6d CPU s  all\n", wall, cpu }' build/log/parts.txt
# ctest closes with "98% tests passed, 2 tests failed out of 100".
cat build/log/*.log | awk '
    match($0, /[0-9]+ tests? failed out of [0-9]+/) {
        split(substr($0, RSTART, RLENGTH), words, " ")
        failed += words[1]; all += words[6]
    }
    END { printf "%d passed, %d failed\n", all - failed, failed }'
