"""Friction problems of piles, towers, walls and heaps of capsules, solved again from nothing.

    python3 -m venv env && env/bin/pip install numpy scipy
    env/bin/python benches/peers/piles.py target/release/stiction FOLDER [KIND...] [--solver newton]

Writes a scene of every kind (rocks are convex hulls of random points of fixed seeds), runs it, stores friction
problems of steps at equal distances (`--dump-problems`), and solves them to 1e-8 m/s. Prints contacts, iterations,
factorisations and the error with velocities eliminated. With the module `siconos`, which Debian's python3-siconos has
for /usr/bin/python3, use `problems.py` on the same files.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy.spatial import ConvexHull

HEAD = """description = "{what}"

[time]
step = {step}
duration = {duration}
frames_per_second = 20

[method]
name = "admm"
residual = 1e-6

[contact]
thickness = 0.002

[friction]
default = {mu}

[material.stone]
kind = "rigid"
density = 2600

[[obstacle]]
name = "floor"
shape = {{ type = "plane", normal = [0, 0, 1] }}
"""


def body(name, shape, at, axis=None, angle=0.0):
    """A rigid body of stone: `shape` is the table's text, or `mesh = ...`."""
    lines = ["[[body]]", f'name = "{name}"', 'kind = "rigid"', 'material = "stone"', shape]
    if axis is not None:
        lines.append(f"rotate = {{ axis = {list(map(float, axis))}, angle = {angle:.6f} }}")
    lines.append(f"translate = {[round(float(x), 9) for x in at]}")
    return "\n".join(lines) + "\n"


def rock(path, seed):
    """A convex hull of 12 to 14 points near an ellipsoid, as OBJ."""
    random = np.random.default_rng(seed)
    n = 12 + seed % 3
    points = random.normal(size=(n, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    points *= 0.05 * np.array([1.0, 0.8, 0.65]) * random.uniform(0.85, 1.15, size=(n, 1))
    hull = ConvexHull(points)
    centre = points.mean(axis=0)
    faces = []
    for a, b, c in hull.simplices:
        normal = np.cross(points[b] - points[a], points[c] - points[a])
        faces.append((a, b, c) if normal @ (points[a] - centre) > 0 else (a, c, b))
    text = [f"v {x:.9f} {y:.9f} {z:.9f}" for x, y, z in points]
    text += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    path.write_text("\n".join(text) + "\n")


def rocks(folder, count=120):
    for k in range(12):
        rock(folder / f"rock-{k}.obj", k + 1)
    random = np.random.default_rng(7)
    bodies = []
    for k in range(count):
        layer, cell = divmod(k, 9)
        at = [0.13 * (cell % 3 - 1), 0.13 * (cell // 3 - 1), 0.08 + 0.13 * layer]
        axis = random.normal(size=3)
        bodies.append(body(f"rock-{k}", f'mesh = "rock-{k % 12}.obj"', at, axis, random.uniform(0, 360)))
    return HEAD.format(what="Rocks poured into a pile.", step=0.01, duration=2.0, mu=0.5) + "".join(bodies), 8


def tower(folder):
    """Two bricks a layer, each layer turned by a right angle and a little more."""
    shape = "shape = { type = \"box\", size = [0.2, 0.06, 0.05] }"
    bodies = []
    for layer in range(20):
        angle = 90.0 * (layer % 2) + 1.5 * layer
        turn = np.radians(angle)
        across = np.array([-np.sin(turn), np.cos(turn), 0.0])
        for side in (-1, 1):
            at = 0.065 * side * across + [0, 0, 0.027 + 0.052 * layer]
            bodies.append(body(f"brick-{layer}-{side + 1}", shape, at, [0, 0, 1], angle))
    return HEAD.format(what="A tower of bricks.", step=0.01, duration=0.4, mu=0.6) + "".join(bodies), 10


def wall(folder):
    """A wall of bricks in running bond."""
    shape = "shape = { type = \"box\", size = [0.2, 0.1, 0.08] }"
    bodies = []
    for row in range(10):
        for k in range(8):
            at = [0.204 * (k + 0.5 * (row % 2)), 0.0, 0.042 + 0.082 * row]
            bodies.append(body(f"brick-{row}-{k}", shape, at))
    return HEAD.format(what="A wall of bricks.", step=0.01, duration=0.4, mu=0.5) + "".join(bodies), 10


def capsules(folder):
    shape = "shape = { type = \"capsule\", radius = 0.03, length = 0.12 }"
    random = np.random.default_rng(11)
    bodies = []
    for k in range(60):
        layer, cell = divmod(k, 6)
        at = [0.22 * (cell % 2 - 0.5), 0.22 * (cell // 2 - 1), 0.15 + 0.15 * layer]
        axis = np.append(random.normal(size=2), 0.0)
        bodies.append(body(f"capsule-{k}", shape, at, axis, random.uniform(60, 120)))
    return HEAD.format(what="A heap of capsules.", step=0.01, duration=1.2, mu=0.3) + "".join(bodies), 10


KINDS = {"rocks": rocks, "tower": tower, "wall": wall, "capsules": capsules}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--solver", default="auto")
    args = parser.parse_args()
    print(f"{'problem':<28} {'contacts':>8} {'iterations':>10} {'factorisations':>14} {'eliminated':>10} {'s':>7}")
    for kind in args.kinds or KINDS:
        folder = args.folder / kind
        folder.mkdir(parents=True, exist_ok=True)
        scene, every = KINDS[kind](folder)
        (folder / "scene.toml").write_text(scene)
        run = folder / "run"
        if not run.exists():
            command = [args.program, "run", folder / "scene.toml", "--out", run, "--format", "none", "--threads", "1",
                       "--dump-problems", f"every={every}", "--quiet"]
            subprocess.run(list(map(str, command)), check=False)
        total = 0
        for path in sorted((run / "problems").glob("*.problem")):
            command = [args.program, "solve", str(path), "--solver", args.solver, "--threads", "1", "--json"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode > 1:
                sys.exit(done.stderr)
            found = json.loads(done.stdout)[0]
            if found["contacts"] == 0:
                continue
            total += found["factorisations"]
            print(f"{kind + ' ' + path.stem:<28} {found['contacts']:>8} {found['iterations']:>10} "
                  f"{found['factorisations']:>14} {found['eliminated']:>10.1e} {found['seconds']:>7.2f}"
                  f"{'' if found['solved'] else '  not solved'}", flush=True)
        print(f"{kind}: {total} factorisations", flush=True)


main()
