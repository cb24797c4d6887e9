"""Opens all frames of a run with pyvista (VTK) and says how many points and cells they have.

    cargo run --release -p stiction-cli --example changing_meshes -- out/changing
    stiction export out/changing --format obj,ply
    python -m venv frames-env && frames-env/bin/pip install pyvista
    frames-env/bin/python benches/peers/read_frames.py out/changing sheet=9,9,25,25,4

The time series frames.pvd is read by VTK's own reader, every file of it by that of its format. Files
NAME_NUMBER.obj and .ply in the folder or in its `frames` must have the points and faces of the surface
of that frame. Arguments NAME=COUNT,COUNT,… are the numbers of points that a body must have in each
frame. Exits with 1 if something cannot be read or differs.
"""

import sys
from pathlib import Path

import pyvista


def counts(text):
    """NAME=1,2,3 as a name and numbers."""
    name, _, numbers = text.partition("=")
    return name, [int(n) for n in numbers.split(",")]


def surface(grid):
    """Points and triangles of a frame as a surface; none for rods and grains."""
    if pyvista.CellType.TETRA in grid.celltypes:
        skin = grid.extract_surface(algorithm="dataset_surface")
        return skin.n_points, skin.n_cells
    if grid.n_cells and all(t == pyvista.CellType.TRIANGLE for t in grid.celltypes):
        return grid.n_points, grid.n_cells
    return None


def main(folder, expected):
    reader = pyvista.get_reader(str(folder / "frames.pvd"))
    found, bad, surfaces = {}, [], 0
    for number, time in enumerate(reader.time_values):
        reader.set_active_time_value(time)
        blocks = reader.read()
        sets = reader.active_datasets
        if len(blocks) != len(sets):
            bad.append(f"t = {time}: {len(blocks)} blocks of {len(sets)}")
        for block, entry in zip(blocks, sets):
            file = Path(entry.path)
            name = file.stem.rpartition("_")[0]
            alone = pyvista.read(str(folder / file))
            size = (alone.n_points, alone.n_cells)
            if (block.n_points, block.n_cells) != size:
                bad.append(f"{file}: the series has {block.n_points} points, the file {size[0]}")
            for column in alone.point_data.keys():
                if len(alone.point_data[column]) != alone.n_points:
                    bad.append(f"{file}: {column} has another length than the points")
            found.setdefault(name, []).append(size)
            skin = surface(alone)
            for ending in ("obj", "ply"):
                for place in (folder, folder / "frames"):
                    other = place / f"{name}_{number:06}.{ending}"
                    if skin is None or not other.exists():
                        continue
                    mesh = pyvista.read(str(other))
                    surfaces += 1
                    # A solid is written with all its nodes or with those of its surface.
                    points = {skin[0], alone.n_points}
                    if mesh.n_points not in points or mesh.n_cells != skin[1]:
                        bad.append(f"{other}: {mesh.n_points} points, {mesh.n_cells} faces, not {skin}")
    for name, sizes in found.items():
        print(f"{name}: {len(sizes)} frames, points {[s[0] for s in sizes]}, cells {[s[1] for s in sizes]}")
    for name, numbers in expected:
        got = [s[0] for s in found.get(name, [])]
        if got != numbers:
            bad.append(f"{name}: points {got}, expected {numbers}")
    frames = sum(len(sizes) for sizes in found.values())
    print(f"{len(reader.time_values)} times, {frames} frames of bodies, {surfaces} OBJ and PLY files, {len(bad)} differ")
    print("\n".join(bad), end="\n" if bad else "")
    return 1 if bad or not frames else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), [counts(a) for a in sys.argv[2:]]))
