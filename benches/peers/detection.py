"""Times of ipctk on the scene of `stiction bench detection`, one thread, for comparison.

    python3 -m venv peers && peers/bin/pip install ipctk==1.6.1 numpy
    stiction bench detection --write accordion.txt
    stiction bench detection --threads 1
    peers/bin/python benches/peers/detection.py accordion.txt

Run both on the same quiet machine, one after the other, and compare the ratios.
"""

import sys
import time

import ipctk
import numpy as np


def read(path):
    with open(path) as f:
        vertices, triangles = map(int, f.readline().split())
        x = np.array([f.readline().split() for _ in range(vertices)], dtype=float)
        t = np.array([f.readline().split() for _ in range(triangles)], dtype=np.int32)
    return x[:, :3].copy(), x[:, 3:].copy(), t


def best(runs, f):
    """The shortest of several runs [ms of the processor, one thread], and the result."""
    shortest = np.inf
    for _ in range(runs):
        start = time.process_time()
        result = f()
        shortest = min(shortest, time.process_time() - start)
    return 1e3 * shortest, result


def main():
    start, end, triangles = read(sys.argv[1])
    reach = 5e-3
    ipctk.set_num_threads(1)
    mesh = ipctk.CollisionMesh(start, ipctk.edges(triangles), triangles)

    def candidates():
        found = ipctk.Candidates()
        found.build(mesh, start, end, broad_phase=ipctk.LBVH())
        return found

    ms, found = best(20, candidates)
    kinds = f"{len(found.fv_candidates)} vertex-face, {len(found.ee_candidates)} edge-edge"
    print(f"  candidates   {ms:9.2f} ms  {kinds}")
    ccd = ipctk.AdditiveCCD()
    ms, step = best(
        20,
        lambda: found.compute_collision_free_stepsize(
            mesh, start, end, narrow_phase_ccd=ccd
        ),
    )
    print(f"  safe step    {ms:9.2f} ms  fraction {step:.4f}")

    def contacts():
        near = ipctk.NormalCollisions()
        near.build(mesh, start, reach, broad_phase=ipctk.LBVH())
        return near

    ms, near = best(20, contacts)
    print(f"  proximity    {ms:9.2f} ms  {len(near)} contacts")


if __name__ == "__main__":
    main()
