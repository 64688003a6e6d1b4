# The cluster's network: leaf and spine bridges, one namespace per node, tbf on every link's ends.
# Sourced by cluster. The kernel's names all start with "bth" (links) or "berth-" (namespaces), so
# that down finds them without any record.
#
#   node n00: namespace berth-n00, eth0 ~~ bthn0 --- bridge bthl0 --- bthu0 ~~ bthd0 --- bridge bths
#             (tbf on both ends of ~~)                                                (the controller)
# shellcheck shell=bash disable=SC2154 # cluster sets state, leaves, host, uplink, uplink_of, subnet

declare -a leaf_names node_names node_addrs node_leaf
declare -A leaf_index node_index

# "leaf0=n00,n03 leaf1=n01": fills leaf_names, node_names, node_leaf (index of its leaf), node_addrs.
network_parse_leaves() {
    local item leaf name list
    leaf_names=() node_names=() node_addrs=() node_leaf=() leaf_index=() node_index=()
    for item in $leaves; do
        leaf=${item%%=*}
        [[ $item =~ ^[A-Za-z][A-Za-z0-9_-]*=[^,=]+(,[^,=]+)*$ ]] ||
            die "leaves: '$item' is not of the form LEAF=NODE,NODE"
        [[ -z ${leaf_index[$leaf]:-} && $leaf != spine ]] || die "leaves: $leaf stands twice"
        leaf_index[$leaf]=${#leaf_names[@]}
        leaf_names+=("$leaf")
        IFS=, read -ra list <<<"${item#*=}"
        for name in "${list[@]}"; do
            [[ $name =~ ^[a-z][a-z0-9-]{0,40}$ ]] || die "leaves: '$name' is not a host name"
            [ -z "${node_index[$name]:-}" ] || die "leaves: node $name stands twice"
            node_index[$name]=${#node_names[@]}
            node_leaf+=("${leaf_index[$leaf]}")
            node_addrs+=("$subnet.$((1 + ${#node_names[@]} / 250)).$((1 + ${#node_names[@]} % 250))")
            node_names+=("$name")
        done
    done
    [ ${#node_names[@]} -ge 1 ] || die "leaves: no node is named"
}

network_check_rate() {
    local rate
    for rate; do
        [[ $rate =~ ^[1-9][0-9]*[kmg]bit$ ]] || die "rate '$rate' is not like 200mbit or 1gbit"
    done
}

network_check_free() {
    [ -z "$(ip -4 route show "$subnet.0.0/16")" ] ||
        die "$subnet.0.0/16 has a route on this host already: choose another --subnet"
    [[ ! -e /sys/class/net/bths && -z $(network_namespaces) ]] ||
        die "links or namespaces of a cluster are left over: run 'cluster down' first"
}

network_namespaces() {
    ip netns list | sed -n 's/^\(berth-[^ ]*\).*/\1/p'
}

# limit DEVICE RATE [NAMESPACE]: tbf, the one shaper that every kernel tried has. The queue holds all that
# the rings of a case can have under way: a training fabric does not drop, and TCP that loses packets
# made uplinks with several flows a tenth slower than the link model says.
limit() {
    local in=()
    [ -z "${3:-}" ] || in=(-n "$3")
    tc "${in[@]}" qdisc replace dev "$1" root tbf rate "$2" burst 256kb limit 16mb
}

uplink_rate() { # LEAF-NAME
    local item rate=$uplink
    for item in "${uplink_of[@]}"; do
        [ "${item%%=*}" != "$1" ] || rate=${item#*=}
    done
    echo "$rate"
}

network_up() {
    local i
    ip link add bths type bridge
    ip addr add "$subnet.0.1/16" dev bths
    ip link set bths up
    for i in "${!leaf_names[@]}"; do
        ip link add "bthl$i" type bridge
        ip link add "bthu$i" type veth peer name "bthd$i"
        ip link set "bthu$i" master "bthl$i" up
        ip link set "bthd$i" master bths up
        ip link set "bthl$i" up
    done
    for i in "${!node_names[@]}"; do
        network_add_node "$i" "berth-${node_names[i]}"
    done
    network_save
    network_apply_rates
}

network_add_node() { # INDEX NAMESPACE
    ip netns add "$2"
    ip link add "bthn$1" type veth peer name eth0 netns "$2"
    ip link set "bthn$1" master "bthl${node_leaf[$1]}" up
    ip -n "$2" link set lo up
    ip -n "$2" addr add "${node_addrs[$1]}/16" dev eth0
    ip -n "$2" link set eth0 up
}

network_save() {
    {
        printf '%s=%q\n' leaves "$leaves" host "$host" uplink "$uplink" subnet "$subnet"
        echo "uplink_of=(${uplink_of[*]@Q})"
    } >"$state/network.new"
    mv "$state/network.new" "$state/network"
}

network_apply_rates() {
    local i rate
    for i in "${!leaf_names[@]}"; do
        rate=$(uplink_rate "${leaf_names[i]}")
        limit "bthu$i" "$rate"
        limit "bthd$i" "$rate"
    done
    for i in "${!node_names[@]}"; do
        limit "bthn$i" "$host"
        limit eth0 "$host" "berth-${node_names[i]}"
    done
}

network_load() {
    # shellcheck disable=SC1091
    . "$state/network"
    network_parse_leaves
}

# --uplink sets every leaf again, then --uplink-of those it names.
network_rate() {
    network_load
    local new=()
    [ $# -ge 2 ] || die "rate takes --host RATE, --uplink RATE, --uplink-of LEAF=RATE"
    while [ $# -gt 0 ]; do
        [ $# -ge 2 ] || die "rate: $1 lacks its value"
        case $1 in
        --host) network_check_rate "$2"; host=$2 ;;
        --uplink) network_check_rate "$2"; uplink=$2; uplink_of=() ;;
        --uplink-of)
            network_check_rate "${2#*=}"
            [ -n "${leaf_index[${2%%=*}]:-}" ] || die "rate: there is no leaf ${2%%=*}"
            new+=("$2") ;;
        *) die "rate: unknown option '$1'" ;;
        esac
        shift 2
    done
    uplink_of+=("${new[@]}")
    network_apply_rates
    network_save
}

network_show_rates() {
    network_load
    local leaf
    echo "every node's link: $host"
    for leaf in "${leaf_names[@]}"; do
        echo "uplink of $leaf: $(uplink_rate "$leaf")"
    done
}

# Deleting a bridge, one end of a veth pair, or a namespace takes its qdiscs and peers along.
network_down() {
    local name
    for name in $(network_namespaces); do
        ip netns del "$name"
    done
    for name in /sys/class/net/bth*; do
        name=${name##*/}
        [[ ! $name =~ ^bth([nlud][0-9]+|s)$ ]] || ip link del "$name" 2>/dev/null || true
    done
}
