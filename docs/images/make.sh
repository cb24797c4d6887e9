#!/usr/bin/env bash
# Makes the pictures of the front page anew: docs/images/make.sh (about four minutes on two cores).
# STICTION names another program than the one that cargo builds.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
cd "$here/../.."
if [ -z "${STICTION:-}" ]; then
    cargo build --release --locked -p stiction-cli
    STICTION="${CARGO_TARGET_DIR:-target}/release/stiction"
fi
runs="$(mktemp -d)"
trap 'rm -rf "$runs"' EXIT

# scene, frame, camera
while read -r scene frame camera; do
    "$STICTION" run "$scene" --out "$runs/$scene" --format vtu --quiet
    "$STICTION" render "$runs/$scene" --frame="$frame" --camera="$camera" --size 360,300 --out "$here/$scene.png"
done <<'SCENES'
laundry -1 -65,14
cards -1 -55,15
box-and-cone 16 -55,20
shirt-stack -1 -55,20
bunnies 8 -55,22
SCENES
