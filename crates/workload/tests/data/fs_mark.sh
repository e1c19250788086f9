#!/usr/bin/env bash
# Captures what Debian's fs_mark (package fsmark 3.3-3) prints, for the layout tests of `fill`.
set -euo pipefail
data=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fs_mark -d t -n 20 -s 4096 -t 2 -D 4 -N 3 -S 0 -k > "$data/fs_mark_plain.txt"
fs_mark -v -d t -n 20 -s 4096 -L 2 -S 4 > "$data/fs_mark_verbose.txt"
fs_mark -v -d t -t 2 -n 5 -s 0 -D 3 -S 2 -p 10 -r 4 > "$data/fs_mark_time_hash.txt"
for method in 0 1 2 3 4 5 6; do
  fs_mark -d t -n 1 -s 0 -S "$method" | sed -n 's/^#\tSync method: //p'
done > "$data/fs_mark_methods.txt"
