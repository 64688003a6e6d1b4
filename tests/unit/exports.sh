#!/bin/sh
# exports.sh LIBBERTH.SO - the library exports the functions of berth.h, as BERTH_0.1, and nothing else.
set -eu
export LC_ALL=C
header=${SRCDIR:-.}/lib/berth.h
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
sed -n '/^BERTH_PUBLIC/s/.*[ *]\(berth_[a-z0-9_]*\)(.*/\1@@BERTH_0.1/p' "$header" | sort >"$temp/header"
# the version itself is an absolute symbol (A)
nm --dynamic --defined-only --with-symbol-versions "$1" | awk '$2 != "A" { print $3 }' |
    sort >"$temp/library"
[ "$(grep -c '^BERTH_PUBLIC' "$header")" -eq "$(wc -l <"$temp/header")" ] || {
    echo "exports.sh: not every BERTH_PUBLIC of $header was understood" >&2
    exit 1
}
diff -u "$temp/header" "$temp/library" || {
    echo "exports.sh: $1 does not export exactly what berth.h declares (see lib/libberth.map)" >&2
    exit 1
}
