#!/bin/sh
# The Debian packages that Berth is built, run and tested with. `packages.sh build|test` prints the
# list; `packages.sh install build|test` installs what is missing (root).
set -e

build="gcc make autoconf automake libtool pkg-config libjansson-dev zlib1g-dev libhwloc-dev
    libslurm-dev libopenmpi-dev openmpi-bin"
run="slurm-wlm munge iproute2 jq procps util-linux"
test="$build $run libcmocka-dev bats clang libclang-rt-14-dev python3 python3-torch shellcheck xz-utils"

usage() {
    echo "usage: packages.sh [install] build|run|test" >&2
    exit 2
}

install=no
[ "$1" != install ] || { install=yes; shift; }
case $1 in
build) list=$build ;;
run) list="$build $run" ;;
test) list=$test ;;
*) usage ;;
esac
[ $install = yes ] || { echo $list; exit 0; }
missing=
for package in $list; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
[ "$(id -u)" = 0 ] || { echo "packages.sh: these packages are missing, and only root can install them:$missing" >&2; exit 1; }
echo "installing:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
# daemons must not start by themselves: the tests start their own
policy=/usr/sbin/policy-rc.d
made=no
if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod 755 $policy
    made=yes
fi
status=0
{ apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; } >/dev/null || status=$?
[ $made = no ] || rm -f $policy
exit $status
