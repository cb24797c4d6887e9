#!/usr/bin/env bash
# Makes the pictures of README.md and docs/gallery.md anew: docs/images/make.sh (some ten minutes on two cores).
# `docs/images/make.sh slope cards` makes only those. STICTION names another program than the one that cargo builds.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
cd "$here/../.."
if [ -z "${STICTION:-}" ]; then
    cargo build --release --locked -p stiction-cli
    STICTION="${CARGO_TARGET_DIR:-target}/release/stiction"
fi
runs="$(mktemp -d)"
trap 'rm -rf "$runs"' EXIT
wanted() { [ $# -eq 1 ] || [[ " ${*:2} " == *" $1 "* ]]; }

# What the program is about, in one picture.
if wanted friction-holds "$@"; then
    "$STICTION" compare slope --with admm,smooth --columns cloth,certificate.creep --out "$runs/compare"
    cp "$runs/compare/compare.png" "$here/friction-holds.png"
fi

# scene, variant or -, frame, camera
while read -r scene variant frame camera; do
    wanted "$scene" "$@" || continue
    options=(--out "$runs/$scene" --format vtu --quiet)
    [ "$variant" = - ] || options+=(--variant "$variant")
    "$STICTION" run "$scene" "${options[@]}"
    "$STICTION" render "$runs/$scene" --frame="$frame" --camera="$camera" --size 360,300 --out "$here/$scene.png"
done <<'SCENES'
laundry - -1 -65,14
cards - -1 -55,15
box-and-cone - 16 -55,20
shirt-stack - -1 -55,20
bunnies - 8 -55,22
slope - 20 -60,18
drag - 90 -60,25
hairy-ball quick 8 -55,15
capstan - -1 -80,10
grains - -1 -55,15
heap quick -1 -55,20
tube-bend quick -1 -85,8
SCENES
