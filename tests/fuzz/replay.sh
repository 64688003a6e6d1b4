#!/bin/sh
# Replays every fuzz target's corpus; fails if a target crashes or has no corpus.
status=0
for program in tests/fuzz/fuzz_*; do
    case $program in *.o | *.c) continue ;; esac
    name=${program##*/fuzz_}
    printf '%s: ' "$name"
    "$program" "$SRCDIR/tests/fuzz/corpus/$name" || status=1
done
exit $status
