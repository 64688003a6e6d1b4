# What the tests of the command share. $BERTH is the program under test, else the one in PATH.
setup() {
    BERTH=${BERTH:-$(command -v berth || true)}
    [ -x "$BERTH" ] || { echo "no program: set BERTH or put berth in PATH" >&2; return 1; }
    CASES=$(cd "$BATS_TEST_DIRNAME/../data/cases" && pwd)
    export T=$CASES/t.topology.conf
    cd "$BATS_TEST_TMPDIR" || return 1
    unset "${!SLURM_@}" "${!BERTH_@}"
}

# must CODE COMMAND...: runs it; keeps stdout in the file out, stderr in err.
must() {
    local want=$1 code=0
    shift
    timeout 60 "$@" >out 2>err || code=$?
    [ "$code" -eq "$want" ] || { echo "exit $code, not $want: $*"; head -5 out err; return 1; }
}

# value FILE PYTHON: an expression over the JSON in FILE, which it calls j.
value() {
    python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

# is WANTED GOT
is() {
    [ "$1" = "$2" ] || { echo "wanted '$1', got '$2'"; return 1; }
}

# says FILE REGEX...: each matches a line of FILE.
says() {
    local file=$1 regex
    shift
    for regex; do
        grep -Eq -e "$regex" "$file" || { echo "$file does not say '$regex':"; cat "$file"; return 1; }
    done
}
