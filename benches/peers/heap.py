"""The built-in scene `heap` in MuJoCo and in Stiction: processor time per simulated second and overlaps.

    python3 -m venv peers && peers/bin/pip install mujoco==4.0.0 numpy
    peers/bin/python benches/peers/heap.py target/release/stiction [--default]

The same boxes, friction, time step and duration, one thread each, one after the other on one machine. MuJoCo
runs with elliptic cones and its Newton solver, with and without `noslip` iterations. Overlaps are
taken from each program's own contacts: MuJoCo's `dist`, and `certificate.penetration` of Stiction, which
counts from the contact thickness: below 2 mm of it the boxes themselves do not overlap.
"""

import csv
import json
import math
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import tomllib

import mujoco
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENE = ROOT / "scenes" / "heap.toml"


def quaternion(rotate):
    axis = np.array(rotate["axis"], dtype=float)
    axis /= np.linalg.norm(axis)
    half = math.radians(rotate["angle"]) / 2
    return [math.cos(half), *(math.sin(half) * axis)]


def model(scene, noslip):
    """The scene as MuJoCo's XML; both shrink or grow no box: MuJoCo has no contact thickness."""
    mu = scene["friction"]["default"]
    density = scene["material"]["wood"]["density"]
    bodies = []
    for body in scene["body"]:
        size = " ".join(str(s / 2) for s in body["shape"]["size"])
        quat = " ".join(map(str, quaternion(body["rotate"])))
        repeat = body["repeat"]
        for k in range(repeat["count"]):
            place = np.array(body["translate"]) + k * np.array(repeat["step"])
            bodies.append(
                f'<body pos="{place[0]} {place[1]} {place[2]}" quat="{quat}"><freejoint/>'
                f'<geom type="box" size="{size}" density="{density}"/></body>'
            )
    step = scene["time"]["step"]
    return f"""<mujoco>
      <option timestep="{step}" cone="elliptic" solver="Newton" noslip_iterations="{noslip}"
              integrator="implicitfast" gravity="0 0 -9.81"/>
      <size memory="200M"/>
      <default><geom friction="{mu} 0 0" condim="3"/></default>
      <worldbody><geom type="plane" size="5 5 0.1"/>{"".join(bodies)}</worldbody>
    </mujoco>"""


def run_mujoco(scene, noslip):
    m = mujoco.MjModel.from_xml_string(model(scene, noslip))
    d = mujoco.MjData(m)
    steps = round(scene["time"]["duration"] / scene["time"]["step"])
    deepest, contacts = 0.0, 0
    start = time.process_time()
    for _ in range(steps):
        mujoco.mj_step(m, d)
        contacts += d.ncon
        if d.ncon:
            deepest = max(deepest, -float(d.contact.dist.min()))
    seconds = time.process_time() - start
    last = max(0.0, -float(d.contact.dist.min()))
    speed = float(np.abs(d.qvel.reshape(-1, 6)[:, :3]).max())
    return seconds, contacts / steps, deepest, last, speed


def run_stiction(program, residual):
    settings = ["--set", f"method.residual={residual}"]
    with tempfile.TemporaryDirectory() as out:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run(
            [program, "run", str(SCENE), "--threads", "1", "--out", out, "--overwrite",
             "--quiet", "--format", "none", "--json", *settings],
            check=False, stdout=subprocess.PIPE,
        )
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        summary = json.loads((pathlib.Path(out) / "summary.json").read_text())
        with open(pathlib.Path(out) / "certificate.csv") as rows:
            rows = list(csv.DictReader(rows))
    depth = [float(row["penetration"]) for row in rows]
    creep = float(rows[-1]["creep"])
    return seconds, summary["contacts"]["mean"], max(depth), depth[-1], creep


def main():
    scene = tomllib.loads(SCENE.read_text())
    duration = scene["time"]["duration"]
    print("                         core-s per s  contacts  deepest [mm]  at the end [mm]  speed at the end [m/s]")

    def row(name, figures):
        seconds, contacts, deepest, last, speed = figures
        print(
            f"{name:24s} {seconds / duration:12.2f} {contacts:9.0f} {1e3 * deepest:13.4f}"
            f" {1e3 * last:16.4f} {speed:23.1e}"
        )

    # The default of the method, 1e-9 m/s, takes some ten times as long.
    for residual in ["1e-6", "1e-9"] if "--default" in sys.argv else ["1e-6"]:
        row(f"stiction, {residual}", run_stiction(sys.argv[1], residual))
    for noslip in [0, 10]:
        row(f"mujoco {mujoco.__version__}, noslip {noslip}", run_mujoco(scene, noslip))


if __name__ == "__main__":
    main()
