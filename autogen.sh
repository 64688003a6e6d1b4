#!/bin/sh
# Makes ./configure from configure.ac; needs autoconf, automake, libtool and pkg-config.
set -e
cd "$(dirname "$0")"
exec autoreconf --install --force --warnings=all,no-obsolete
