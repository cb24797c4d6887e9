"""Opens a run exported as USD with Pixar's own library and says what it holds.

    stiction run swing --out swing --format usd
    python -m venv usd-env && usd-env/bin/pip install usd-core
    usd-env/bin/python benches/peers/usd.py swing/run.usda

Compares every frame with the vtu files of the run, to single precision, where the body is a surface
of triangles or made of rods; exits with 1 if something differs.
"""

import re
import struct
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

from pxr import Usd, UsdGeom


def frames(folder):
    """The files of each time by name, from frames.pvd."""
    found = {}
    for entry in xml.parse(folder / "frames.pvd").iter("DataSet"):
        time = float(entry.get("timestep"))
        found.setdefault(time, {})[entry.get("name")] = folder / entry.get("file")
    return found


def points(path):
    """The points of a vtu file with appended raw data, as this program writes them."""
    data = path.read_bytes()
    head, body = data.split(b'<AppendedData encoding="raw">', 1)
    body = body[body.index(b"_") + 1 :]
    tag = re.search(rb"<Points>\s*<DataArray([^>]*)>", head).group(1)
    offset = int(re.search(rb'offset="(\d+)"', tag).group(1))
    wide = b"Float64" in tag
    (size,) = struct.unpack_from("<Q", body, offset)
    count = size // (8 if wide else 4)
    values = struct.unpack_from(f"<{count}{'d' if wide else 'f'}", body, offset + 8)
    return list(zip(values[0::3], values[1::3], values[2::3]))


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def main(path):
    stage = Usd.Stage.Open(str(path))
    rate = stage.GetTimeCodesPerSecond()
    recorded = frames(path.parent)
    bad = compared = 0
    for prim in stage.Traverse():
        if not prim.IsA(UsdGeom.PointBased):
            continue
        geometry = UsdGeom.PointBased(prim)
        attribute = geometry.GetPointsAttr()
        codes = attribute.GetTimeSamples()
        shown = prim.GetDisplayName() or prim.GetName()
        print(f"{prim.GetTypeName()} {shown}: {len(codes) or 1} samples, "
              f"{len(attribute.Get(codes[0] if codes else 0))} points")
        for time, files in recorded.items():
            stored = files.get(shown)
            if stored is None:
                continue
            expected = points(stored)
            got = attribute.Get(time * rate)
            if len(got) != len(expected):
                continue  # the surface of a solid has fewer points than the solid
            compared += 1
            same = all(
                tuple(map(single, p)) == tuple(q) for p, q in zip(expected, got)
            )
            if not same or (codes and time * rate not in codes):
                bad += 1
                print(f"  differs at t = {time} s")
    print(f"{compared} frames compared, {bad} differ")
    return 1 if bad or not compared else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
