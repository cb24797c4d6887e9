"""Round trips of friction problems with the readers of others, and Siconos on the same problems.

    python3 -m venv env && env/bin/pip install numpy scipy h5py
    apt-get install libsiconos-numerics7            # Debian; without it only h5py is used
    env/bin/python benches/peers/problems.py target/release/stiction FILE...

For every problem file (`.problem`, FCLIB's HDF5 or Siconos' text) the program solves it and writes the
answer as JSON and, with the problem, as FCLIB's HDF5. h5py reads that back; numpy eliminates the
velocities, judges r by its own formula, and writes the problem in its local form as Siconos' text.
`stiction` reads that text again and solves it to the same tolerance. Siconos reads it, judges our r by
its own measure, and solves it with NSN_AC, ADMM and NSGS until our measure is below 1e-8 m/s;
the times are those of the best tolerance that gets there.
"""

import ctypes
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg

TOLERANCE = 1e-8
SOLVERS = {"NSN_AC": 504, "ADMM": 523, "NSGS": 500}


def matrix(group):
    """A matrix of FCLIB: triplets with columns in p, or compressed columns or rows."""
    shape = (group["m"][0], group["n"][0])
    x, i, p = group["x"][:], group["i"][:], group["p"][:]
    match group["nz"][0]:
        case -1:
            return sparse.csc_matrix((x, i, p), shape=shape)
        case -2:
            return sparse.csr_matrix((x, i, p), shape=shape).tocsc()
        case n:
            return sparse.coo_matrix((x[:n], (i[:n], p[:n])), shape=shape).tocsc()


def local(path):
    """W, q, mu and r of an FCLIB file with a solution, with velocities eliminated."""
    with h5py.File(path) as file:
        r = file["solution/r"][:]
        if "fclib_local" in file:
            group = file["fclib_local"]
            w = matrix(group["W"])
            return (w + w.T) / 2, group["vectors/q"][:], group["vectors/mu"][:], r
        group = file["fclib_global"]
        m, h = matrix(group["M"]), matrix(group["H"])
        lu = linalg.splu(((m + m.T) / 2).tocsc())
        w = sparse.csc_matrix(h.T @ lu.solve(h.toarray()))
        q = h.T @ lu.solve(group["vectors/f"][:]) + group["vectors/w"][:]
        return (w + w.T) / 2, q, group["vectors/mu"][:], r


def residual(w, q, mu, r):
    """max |r - P(r - rho (u + mu |u_T| n))| / rho [m/s]."""
    u = (w @ r + q).reshape(-1, 3)
    r = r.reshape(-1, 3)
    rho = 3 / w.diagonal().reshape(-1, 3).sum(axis=1)
    u[:, 0] += mu * np.hypot(u[:, 1], u[:, 2])
    x = r - rho[:, None] * u
    t = np.hypot(x[:, 1], x[:, 2])
    n = np.where(t <= mu * x[:, 0], x[:, 0], (x[:, 0] + mu * t) / (1 + mu**2))
    p = np.column_stack([n, x[:, 1:] * np.where(t > 0, np.minimum(1, mu * n / np.maximum(t, 1e-300)), 0)[:, None]])
    p[mu * t <= -x[:, 0]] = 0
    return float((np.linalg.norm(r - p, axis=1) / rho).max())


def write_text(path, w, q, mu):
    """Siconos' text, by blocks."""
    w = sparse.bsr_matrix(w, blocksize=(3, 3))
    w.sort_indices()
    n = len(mu)
    ends = "\t".join(str(3 * (i + 1)) for i in range(n))
    out = [f"3\n{n}\n1\n{3 * n}\n{3 * n}\n{len(w.data)}\n{n}\n{n}\n{ends}\n{ends}\n{n + 1}\n{len(w.data)}"]
    out += ["\t".join(map(str, w.indptr)), "\t".join(map(str, w.indices))]
    for k, block in enumerate(w.data):
        out.append(str(k))
        out += [f"{x:.17e}" for x in block.T.ravel()]
    out += [" ".join(f"{x:.17e}" for x in column) for column in (q, mu)]
    Path(path).write_text("\n".join(out) + "\n")


class Options(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("is_set", ctypes.c_bool), ("n_int", ctypes.c_int),
                ("ints", ctypes.POINTER(ctypes.c_int)), ("n_double", ctypes.c_int),
                ("doubles", ctypes.POINTER(ctypes.c_double))]


class Siconos:
    def __init__(self):
        self.lib = ctypes.CDLL("libsiconos_numerics.so.7")
        self.lib.frictionContact_new_from_filename.restype = ctypes.c_void_p
        self.lib.solver_options_create.restype = ctypes.POINTER(Options)

    def solve(self, path, problem):
        """Milliseconds of the best solver until our residual is below the tolerance."""
        w, q, mu, _ = problem
        best = None
        for name, number in SOLVERS.items():
            for tolerance in (1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13):
                read = ctypes.c_void_p(self.lib.frictionContact_new_from_filename(str(path).encode()))
                options = self.lib.solver_options_create(number)
                options.contents.doubles[0] = tolerance
                options.contents.ints[0] = 20000
                r, u = np.zeros(len(q)), np.zeros(len(q))
                pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (r, u)]
                start = time.process_time()
                self.lib.fc3d_driver(read, *pointers, options)
                seconds = time.process_time() - start
                if residual(w, q, mu, r) <= TOLERANCE:
                    if best is None or seconds < best[1]:
                        best = (name, seconds)
                    break
                # Hopeless: a tighter tolerance takes longer still.
                if seconds > 20 or best is not None and seconds > 3 * best[1]:
                    break
        return best


def solve(program, path, *more):
    command = [program, "solve", str(path), "--threads", "1", "--json", *more]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode > 1:
        return None, done.stderr.strip()
    return json.loads(done.stdout)[0], ""


def main():
    program, files = sys.argv[1], sys.argv[2:]
    try:
        siconos = Siconos()
    except OSError:
        siconos = None
    print(f"{'problem':<36} {'contacts':>8} {'ours ms':>8} {'residual':>9} {'by numpy':>9} {'again':>9}  Siconos ms")
    for path in map(Path, files):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            found, why = solve(program, path, "--out", str(folder / "answer.hdf5"))
            if found is None:
                print(f"{path.name:<36} {why}")
                continue
            problem = local(folder / "answer.hdf5")
            write_text(folder / "local.dat", *problem[:3])
            times = [solve(program, path)[0]["seconds"] for _ in range(5)]
            again, _ = solve(program, folder / "local.dat")
            peer = siconos and siconos.solve(folder / "local.dat", problem)
            peer = f"{peer[1] * 1e3:.1f} {peer[0]}" if peer else "-"
            print(f"{path.name:<36} {found['contacts']:>8} {min(times) * 1e3:>8.2f} {found['eliminated']:>9.1e} "
                  f"{residual(*problem):>9.1e} {again['eliminated']:>9.1e}  {peer}")


main()
