#!/bin/sh
# usage: plugin_exports.sh PLUGIN.so
# The plugin shows Slurm its own three names and SPANK's hooks, and nothing else (slurm.md 2.8: a
# plugin shares a process with slurmd; style.md, habit 2).
set -e
plugin=${1:?usage: plugin_exports.sh PLUGIN.so}
symbols=$(nm -D --defined-only "$plugin" | awk '{ print $3 }' | sed 's/@.*//' | sort)
echo "$symbols" | grep -qx plugin_name || { echo "plugin_name is not exported"; exit 1; }
echo "$symbols" | grep -qx slurm_spank_init || { echo "slurm_spank_init is not exported"; exit 1; }
others=$(echo "$symbols" | grep -vxE 'plugin_(name|type|version)|slurm_spank_[a-z_]+|spank_(plugin|plugin_version)' || true)
[ -z "$others" ] || { echo "exported beside SPANK's symbols: $others"; exit 1; }
