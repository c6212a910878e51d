#!/usr/bin/env bash
# Prints the path of the buf program, which it gets from the npm registry once and keeps in
# build/tools.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=1.75.0
folder=$PWD/build/tools/buf-$version
buf=$folder/node_modules/.bin/buf

if [[ ! -x $buf ]]; then
  mkdir -p "$folder"
  if ! npm install --silent --no-save --no-audit --no-fund --prefix "$folder" \
    "@bufbuild/buf@$version" >&2 </dev/null; then
    echo "cannot get @bufbuild/buf $version: is the npm registry within reach?" >&2
    exit 1
  fi
fi
printf '%s\n' "$buf"
