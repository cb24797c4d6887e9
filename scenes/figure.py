"""Makes scenes/figure.glb: a mannequin of 1.7 m with a skeleton and three animations; and scenes/trousers.glb for it.

    python scenes/figure.py scenes/figure.glb
    python scenes/figure.py scenes/trousers.glb

Needs numpy. The surface is the zero level of capsules that are blended smoothly, found by surface nets on
a grid of 26 mm, one closed mesh; every vertex follows the bones near it. z is up here and y in the file, as
glTF has it; the figure faces +x. Built-in scenes name it `builtin:figure.glb`. The animations begin with half a second in the rest
pose, the arms 40 degrees from the body:

    walk    walks along +x for 5 s, 0.9 m/s after the first step
    twist   turns its chest by 60 degrees to both sides
    raise   raises its left leg by 60 degrees, and lowers it

The trousers are the surface 22 mm outside its hips and legs, on a grid of 46 mm, cut open at the waist and above the ankles.
"""

import json
import struct
import sys

import numpy as np

CELL = 0.026
BLEND = 0.035

TROUSERS_CELL = 0.046
TROUSERS_GAP = 0.022
WAIST, HEM = 1.07, 0.15

# Bone: parent, joint, end of the bone, radius at both ends.
A = np.radians(40.0)
DOWN = np.array([0.0, np.sin(A), -np.cos(A)])


def arm(side):
    mirror = np.array([1.0, side, 1.0])
    shoulder = np.array([0.0, 0.19, 1.39])
    elbow, wrist = shoulder + 0.27 * DOWN, shoulder + 0.52 * DOWN
    hand = shoulder + 0.66 * DOWN
    return [p * mirror for p in (shoulder, elbow, wrist, hand)]


def leg(side):
    mirror = np.array([1.0, side, 1.0])
    hip, knee = np.array([0.0, 0.105, 0.90]), np.array([0.01, 0.115, 0.48])
    ankle, toe = np.array([-0.02, 0.12, 0.075]), np.array([0.14, 0.13, 0.045])
    return [p * mirror for p in (hip, knee, ankle, toe)]


def bones():
    v = lambda *x: np.array(x, float)
    out = [
        ("pelvis", None, v(0, 0, 0.95), v(0, 0, 0.98), 0.125, 0.125),
        ("spine", "pelvis", v(0, 0, 1.08), v(0, 0, 1.15), 0.115, 0.115),
        ("chest", "spine", v(0, 0, 1.22), v(0, 0, 1.36), 0.135, 0.12),
        ("head", "chest", v(0, 0, 1.46), v(0.01, 0, 1.60), 0.055, 0.1),
    ]
    for name, side in (("left", 1), ("right", -1)):
        shoulder, elbow, wrist, hand = arm(side)
        hip, knee, ankle, toe = leg(side)
        collar = v(0, 0.08 * side, 1.37)
        out += [
            (f"{name} collar", "chest", collar, shoulder, 0.085, 0.065),
            (f"{name} arm", f"{name} collar", shoulder, elbow, 0.058, 0.045),
            (f"{name} forearm", f"{name} arm", elbow, wrist, 0.043, 0.032),
            (f"{name} hand", f"{name} forearm", wrist, hand, 0.036, 0.036),
            (f"{name} thigh", "pelvis", hip, knee, 0.09, 0.058),
            (f"{name} shin", f"{name} thigh", knee, ankle, 0.055, 0.042),
            (f"{name} foot", f"{name} shin", ankle, toe, 0.045, 0.04),
        ]
    return out


def distances(x, all_bones):
    """Distance of points to every bone's capsule."""
    out = []
    for _, _, a, b, ra, rb in all_bones:
        ab = b - a
        t = np.clip((x - a) @ ab / (ab @ ab), 0, 1)
        out.append(np.linalg.norm(x - (a + t[:, None] * ab), axis=1) - (ra + (rb - ra) * t))
    return np.array(out)


def field(x, all_bones):
    d = distances(x, all_bones)
    return -BLEND * np.log(np.exp(-(d - d.min(0)) / BLEND).sum(0)) + d.min(0)


def surface(all_bones, cell=CELL, level=0.0):
    """Vertices and triangles of a level of the field, and the cell of every vertex."""
    low, high = np.array([-0.3, -0.85, -0.08]), np.array([0.35, 0.85, 1.85])
    n = np.ceil((high - low) / cell).astype(int)
    axes = [low[k] + cell * np.arange(n[k]) for k in range(3)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    f = field(grid.reshape(-1, 3), all_bones).reshape(n) - level
    index = -np.ones(n - 1, int)
    points = []
    corners = [(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    edges = [(a, b) for a in corners for b in corners if sum(np.subtract(b, a)) == 1 and min(np.subtract(b, a)) >= 0]
    inside = f < 0
    count = sum(inside[c[0] : n[0] - 1 + c[0], c[1] : n[1] - 1 + c[1], c[2] : n[2] - 1 + c[2]].astype(int) for c in corners)
    cells = np.argwhere((count > 0) & (count < 8))
    for at in cells:
        found = []
        for a, b in edges:
            p, q = tuple(at + a), tuple(at + b)
            if inside[p] != inside[q]:
                t = f[p] / (f[p] - f[q])
                found.append(grid[p] * (1 - t) + grid[q] * t)
        index[tuple(at)] = len(points)
        points.append(np.mean(found, 0))
    triangles = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        step, du, dv = np.eye(3, dtype=int)[[axis, u, v]]
        cut = inside != np.roll(inside, -1, axis)
        for p in np.argwhere(cut):
            if p[axis] + 1 >= n[axis] or min(p[u], p[v]) < 1 or p[u] + 1 >= n[u] or p[v] + 1 >= n[v]:
                continue
            a, b, c, d = (index[tuple(p - s)] for s in (du + dv, dv, 0 * du, du))
            quad = [a, b, c, d] if inside[tuple(p)] else [a, d, c, b]
            triangles += [[quad[0], quad[1], quad[2]], [quad[0], quad[2], quad[3]]]
    return np.array(points), np.array(triangles), low + cell * cells


def project(points, all_bones, level=0.0):
    """Moves points onto a level of the field."""
    for _ in range(4):
        e = 1e-4
        g = np.stack([(field(points + e * d, all_bones) - field(points - e * d, all_bones)) / (2 * e) for d in np.eye(3)], 1)
        points = points - (field(points, all_bones) - level)[:, None] * g / (g * g).sum(1)[:, None]
    return points


def trousers(path):
    """An open surface around hips and legs, with layers of vertices at waist and hems."""
    parts = ("pelvis", "spine", "left thigh", "right thigh", "left shin", "right shin")
    own = [b for b in bones() if b[0] in parts]
    points, triangles, cells = surface(own, TROUSERS_CELL, TROUSERS_GAP)
    points = project(points, own, TROUSERS_GAP)
    layer = np.round((cells[:, 2] - cells[:, 2].min()) / TROUSERS_CELL).astype(int)
    middle = cells[:, 2] + 0.5 * TROUSERS_CELL
    kept = (middle > HEM) & (middle < WAIST)
    for z, rim in ((HEM, layer[kept].min()), (WAIST, layer[kept].max())):
        points[kept & (layer == rim), 2] = z
    triangles = triangles[kept[triangles].all(1)]
    used = np.unique(triangles)
    number = -np.ones(len(points), int)
    number[used] = np.arange(len(used))
    points, triangles = points[used], number[triangles]
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    count = np.bincount(np.sort(edges, 1) @ [len(points), 1])
    assert set(count[count > 0]) <= {1, 2}, "the surface is manifold"
    rims = len(np.flatnonzero(count == 1))
    file = File()
    low, high = upright(points).min(0).astype("f4"), upright(points).max(0).astype("f4")
    position = file.add(upright(points).astype("f4"), "VEC3", 5126, min=low.tolist(), max=high.tolist())
    indices = file.add(triangles.astype("u2").reshape(-1), "SCALAR", 5123)
    file.write(path, {
        "scenes": [{"nodes": [0]}],
        "nodes": [{"name": "trousers", "mesh": 0}],
        "meshes": [{"name": "trousers", "primitives": [{"attributes": {"POSITION": position}, "indices": indices}]}],
    })
    print(f"{len(points)} vertices, {len(triangles)} triangles, {rims} edges on rims")


def turn(axis, degrees):
    half = np.radians(degrees) / 2
    x, y, z = np.sin(half) * np.array(axis, float)
    return np.array([x, y, z, np.cos(half)])


def smooth(t, start, end):
    s = np.clip((t - start) / (end - start), 0, 1)
    return s * s * (3 - 2 * s)


def walk(t):
    """Rotations by bone, and the displacement of the pelvis."""
    swing = smooth(t, 0.5, 1.3) * (1 - smooth(t, 5.2, 5.5))
    phase = 2 * np.pi * (max(t, 0.5) - 0.5) / 1.2
    out = {}
    for name, side in (("left", 0.0), ("right", np.pi)):
        hip = 24 * np.sin(phase + side)
        knee = 28 * max(0.0, np.sin(phase + side + 0.9)) + 6
        out[f"{name} thigh"] = turn((0, -1, 0), swing * hip)
        out[f"{name} shin"] = turn((0, 1, 0), swing * knee)
        out[f"{name} foot"] = turn((0, -1, 0), swing * 0.4 * knee)
        out[f"{name} arm"] = turn((0, -1, 0), swing * -16 * np.sin(phase + side))
    out["spine"] = turn((0, 0, 1), swing * 6 * np.sin(phase))
    ahead = 0.9 * (max(t, 0.5) - 0.5) * smooth(t, 0.5, 1.5)
    return out, np.array([ahead, 0.0, swing * -0.012 * np.cos(2 * phase)])


def twist(t):
    angle = 60 * smooth(t, 0.5, 1.0) - 120 * smooth(t, 1.3, 2.0) + 120 * smooth(t, 2.3, 3.0) - 60 * smooth(t, 3.3, 3.8)
    return {"spine": turn((0, 0, 1), 0.5 * angle), "chest": turn((0, 0, 1), 0.5 * angle)}, np.zeros(3)


def lift(t):
    up = smooth(t, 0.5, 1.7) - smooth(t, 2.7, 3.7)
    return {"left thigh": turn((0, -1, 0), 60 * up), "left shin": turn((0, 1, 0), 60 * up)}, np.zeros(3)


def upright(x):
    """From z up to y up."""
    return np.stack([x[..., 0], x[..., 2], -x[..., 1]], -1)


class File:
    def __init__(self):
        self.data, self.views, self.accessors = b"", [], []

    def add(self, array, kind, component, **more):
        raw = np.ascontiguousarray(array).tobytes()
        self.views.append({"buffer": 0, "byteOffset": len(self.data), "byteLength": len(raw)})
        self.data += raw + b"\0" * (-len(raw) % 4)
        entry = {"bufferView": len(self.views) - 1, "componentType": component, "count": len(array), "type": kind}
        self.accessors.append({**entry, **more})
        return len(self.accessors) - 1

    def write(self, path, contents):
        document = {
            "asset": {"version": "2.0", "generator": "scenes/figure.py"},
            "scene": 0,
            **contents,
            "accessors": self.accessors,
            "bufferViews": self.views,
            "buffers": [{"byteLength": len(self.data)}],
        }
        text = json.dumps(document, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        total = 12 + 8 + len(text) + 8 + len(self.data)
        with open(path, "wb") as out:
            out.write(struct.pack("<4sII", b"glTF", 2, total))
            out.write(struct.pack("<I4s", len(text), b"JSON") + text)
            out.write(struct.pack("<I4s", len(self.data), b"BIN\0") + self.data)
        print(f"{total} bytes")


def main(path):
    all_bones = bones()
    points, triangles, _ = surface(all_bones)
    points = project(points, all_bones)
    used = np.bincount(np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), 1) @ [len(points), 1])
    assert set(used[used > 0]) == {2}, "the surface is closed and manifold"
    a, b, c = (points[triangles[:, k]] for k in range(3))
    assert (np.cross(a, b) * c).sum() > 0, "its triangles face outwards"
    # Each vertex follows the four nearest bones, less the farther they are.
    d = distances(points, all_bones)
    near = np.argsort(d, 0)[:4]
    share = np.exp(-(np.take_along_axis(d, near, 0) - d.min(0)) / 0.022)
    share = np.round(255 * share / share.sum(0)).astype(int)
    share[0] += 255 - share.sum(0)
    file = File()
    half = "VEC3", 5126
    low, high = upright(points).min(0).astype("f4"), upright(points).max(0).astype("f4")
    position = file.add(upright(points).astype("f4"), *half, min=low.tolist(), max=high.tolist())
    joints = file.add(near.T.astype("u1"), "VEC4", 5121)
    weights = file.add(share.T.astype("u1"), "VEC4", 5121, normalized=True)
    indices = file.add(triangles.astype("u2").reshape(-1), "SCALAR", 5123)
    names = [b[0] for b in all_bones]
    nodes = []
    inverse = []
    for name, parent, joint, *_ in all_bones:
        base = all_bones[names.index(parent)][2] if parent else np.zeros(3)
        node = {"name": name, "translation": upright(joint - base).tolist()}
        children = [i for i, b in enumerate(all_bones) if b[1] == name]
        nodes.append({**node, "children": children} if children else node)
        m = np.eye(4)
        m[:3, 3] = -upright(joint)
        inverse.append(m.T.reshape(-1))
    bind = file.add(np.array(inverse, "f4"), "MAT4", 5126)
    nodes.append({"name": "figure", "mesh": 0, "skin": 0})
    animations = []
    for clip, pose, end in (("walk", walk, 5.5), ("twist", twist, 4.3), ("raise", lift, 4.2)):
        times = np.linspace(0, end, round(20 * end) + 1)
        poses = [pose(t) for t in times]
        keys = file.add(times.astype("f4"), "SCALAR", 5126, min=[0.0], max=[float(np.float32(end))])
        samplers, channels = [], []

        def channel(node, what, values, kind):
            samplers.append({"input": keys, "output": file.add(values.astype("f4"), kind, 5126)})
            channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": what}})

        for name in poses[0][0]:
            turns = np.array([p[0][name] for p in poses])
            turns[:, :3] = upright(turns[:, :3])
            channel(names.index(name), "rotation", turns, "VEC4")
        root = all_bones[0][2] + np.array([p[1] for p in poses])
        if np.ptp(root, 0).max() > 0:
            channel(0, "translation", upright(root), "VEC3")
        animations.append({"name": clip, "samplers": samplers, "channels": channels})
    file.write(path, {
        "scenes": [{"nodes": [0, len(nodes) - 1]}],
        "nodes": nodes,
        "meshes": [{"name": "figure", "primitives": [{"attributes": {"POSITION": position, "JOINTS_0": joints, "WEIGHTS_0": weights}, "indices": indices}]}],
        "skins": [{"joints": list(range(len(all_bones))), "inverseBindMatrices": bind}],
        "animations": animations,
    })
    print(f"{len(points)} vertices, {len(triangles)} triangles")


if __name__ == "__main__":
    if "trousers" in sys.argv[1]:
        trousers(sys.argv[1])
    else:
        main(sys.argv[1])
