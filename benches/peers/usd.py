"""Opens a run exported as USD with Pixar's own library and says what it holds.

    stiction run swing --out swing --format usd
    python -m venv usd-env && usd-env/bin/pip install usd-core
    usd-env/bin/python benches/peers/usd.py swing/run.usda

Compares every frame with the vtu files of the run: points and velocities to single precision, faces of
surfaces, texture coordinates (`primvars:st`, bit for bit) and unit normals along those of the faces, and for all bodies that counts fit together, also where a mesh changes between frames (a run of
such meshes: `cargo run -p stiction-cli --example changing_meshes`). Exits with 1 if something differs.
"""

import re
import struct
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

from pxr import Usd, UsdGeom

LINE, TET = 3, 10  # cell types of VTK


def frames(folder):
    """The files of each time by name, from frames.pvd."""
    found = {}
    for entry in xml.parse(folder / "frames.pvd").iter("DataSet"):
        time = float(entry.get("timestep"))
        found.setdefault(time, {})[entry.get("name")] = folder / entry.get("file")
    return found


def array(path, name):
    """An array of a vtu file with appended raw data, as this program writes them."""
    data = path.read_bytes()
    head, body = data.split(b'<AppendedData encoding="raw">', 1)
    body = body[body.index(b"_") + 1 :]
    pattern = rb"<Points>\s*<DataArray([^>]*)>"
    if name != "points":
        pattern = rb'<DataArray([^>]*Name="' + name.encode() + rb'"[^>]*)>'
    found = re.search(pattern, head)
    if found is None:
        return []
    tag = found.group(1)
    offset = int(re.search(rb'offset="(\d+)"', tag).group(1))
    kind = re.search(rb'type="(\w+)"', tag).group(1).decode()
    code, wide = {"Float64": ("d", 8), "Float32": ("f", 4), "Int64": ("q", 8), "UInt8": ("B", 1)}[kind]
    (size,) = struct.unpack_from("<Q", body, offset)
    return struct.unpack_from(f"<{size // wide}{code}", body, offset + 8)


def triples(values):
    return list(zip(values[0::3], values[1::3], values[2::3]))


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def same(expected, got):
    """Whether triples agree to single precision."""
    if len(expected) != len(got):
        return False
    return all(tuple(map(single, p)) == tuple(q) for p, q in zip(expected, got))


def faults(prim, stored, code):
    """What is wrong with a body at a time code."""
    geometry = UsdGeom.PointBased(prim)
    got = geometry.GetPointsAttr().Get(code)
    velocities = geometry.GetVelocitiesAttr().Get(code)
    if velocities is not None and len(velocities) != len(got):
        yield f"{len(velocities)} velocities of {len(got)} points"
    if not UsdGeom.PointBased.ComputeExtent(got) and len(got):
        yield "no extent"
    kinds = set(array(stored, "types"))
    if TET in kinds:  # the surface of a solid has fewer points than the solid
        expected = None
    elif LINE in kinds:  # curves repeat the points where they branch
        expected = None if len(got) != len(array(stored, "points")) // 3 else triples(array(stored, "points"))
    else:
        expected = triples(array(stored, "points"))
    if expected is not None and not same(expected, got):
        yield f"points differ: {len(got)} of {len(expected)}"
    if expected is not None and velocities is not None:
        if not same(triples(array(stored, "velocity")), velocities):
            yield "velocities differ"
    if prim.IsA(UsdGeom.Mesh):
        mesh = UsdGeom.Mesh(prim)
        indices = mesh.GetFaceVertexIndicesAttr().Get(code)
        faces = mesh.GetFaceVertexCountsAttr().Get(code)
        valid = UsdGeom.Mesh.ValidateTopology(indices, faces, len(got))
        if not valid[0] if isinstance(valid, tuple) else not valid:
            yield f"topology is not valid: {valid}"
        if TET not in kinds and list(indices) != list(array(stored, "connectivity")):
            yield f"{len(faces)} faces are not those of the run"
        yield from surface_faults(mesh, stored, got, indices, code)
    elif prim.IsA(UsdGeom.BasisCurves):
        if sum(UsdGeom.BasisCurves(prim).GetCurveVertexCountsAttr().Get(code)) != len(got):
            yield "curves have another number of points"


def textures(stored):
    """Texture coordinates of the corners of all triangles as the run has them, or nothing."""
    corners = list(array(stored, "connectivity"))
    u, v = array(stored, "texture_u"), array(stored, "texture_v")
    if u:
        return [(single(u[i]), single(v[i])) for i in corners]
    columns = [[array(stored, f"texture_{x}_{k}") for x in "uv"] for k in range(3)]
    if not columns[0][0]:
        return []
    count = len(corners) // 3
    return [tuple(single(x[t]) for x in columns[k]) for t in range(count) for k in range(3)]


def surface_faults(mesh, stored, points, indices, code):
    """What is wrong with the texture coordinates and normals of a mesh."""
    expected = textures(stored)
    primvar = UsdGeom.PrimvarsAPI(mesh.GetPrim()).GetPrimvar("st")
    got = primvar.ComputeFlattened(code) if primvar.HasValue() else []
    if [tuple(p) for p in got or []] != expected:
        yield f"{len(got or [])} texture coordinates instead of {len(expected)}"
    normals = mesh.GetNormalsAttr().Get(code)
    if normals is None or len(normals) != len(points) or mesh.GetNormalsInterpolation() != "vertex":
        yield "normals are not those of points"
        return
    used = set(indices)
    if any(abs(n.GetLength() - 1) > 1e-5 for i, n in enumerate(normals) if i in used):
        yield "a normal is not a unit vector"
    # On average, a point's normal is on the side of its faces.
    against = 0
    for k in range(0, len(indices), 3):
        a, b, c = (points[indices[k + j]] for j in range(3))
        face = (b - a).GetCross(c - a) if hasattr(b - a, "GetCross") else (b - a) ^ (c - a)
        against += sum(face * normals[indices[k + j]] < 0 for j in range(3)) > 1
    if against > 0.02 * len(indices) / 3:
        yield f"normals of {against} faces are turned"


def main(path):
    stage = Usd.Stage.Open(str(path))
    rate = stage.GetTimeCodesPerSecond()
    recorded = frames(path.parent)
    bad = compared = 0
    for prim in stage.Traverse():
        if not prim.IsA(UsdGeom.PointBased):
            continue
        attribute = UsdGeom.PointBased(prim).GetPointsAttr()
        codes = attribute.GetTimeSamples()
        shown = prim.GetDisplayName() or prim.GetName()
        counts = [len(attribute.Get(time * rate)) for time in recorded]
        counts = f"{counts[0]}" if len(set(counts)) == 1 else ", ".join(map(str, counts))
        print(f"{prim.GetTypeName()} {shown}: {len(codes) or 1} samples, {counts} points")
        for time, files in recorded.items():
            stored = files.get(shown)
            if stored is None:
                continue
            compared += 1
            wrong = list(faults(prim, stored, time * rate))
            if codes and time * rate not in codes:
                wrong.append("no sample")
            bad += bool(wrong)
            for fault in wrong:
                print(f"  t = {time} s: {fault}")
    print(f"{compared} frames compared, {bad} differ")
    return 1 if bad or not compared else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
