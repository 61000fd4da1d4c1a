#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Shows how far a long command is that writes a line for each step: on a terminal the latest step on one line, else one
# step every ten seconds. What is no step, a warning say, passes as it is. Steps begin with "[".
#   usage: command | cmake/progress.sh
set -u
pause_s=10
columns=$(tput cols 2>/dev/null || echo 80)
next=$((SECONDS + pause_s))
is_line_open=no
close_line() {
    [ "$is_line_open" = no ] || printf '\r\033[K'
    is_line_open=no
}
while IFS= read -r line; do
    case $line in
        'ninja: '*'no work to do.') ;;
        'ninja: Entering directory'*) ;;
        '['*']'*)
            if [ -t 1 ]; then
                printf '\r\033[K%s' "${line:0:columns}"
                is_line_open=yes
            elif [ "$SECONDS" -ge "$next" ]; then
                printf '%s\n' "$line"
                next=$((SECONDS + pause_s))
            fi
            ;;
        *)
            close_line
            printf '%s\n' "$line"
            ;;
    esac
done
close_line
