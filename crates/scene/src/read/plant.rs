//! Shapes of bodies carried by frames.

use stiction_geometry::{
    Plant, PlantPart, PlantSection as CrossSection,
    shapes::{Palm, ShapeError},
};
use stiction_math::Vec3;

use crate::{
    format::{Direction, Fields, ProblemKind, Read, TreeNode, Value, section},
    read::{
        Context,
        shape::{Generate, Generator, Mesh, Purpose, Shape, generators, shape_kinds},
    },
};

generators! { Plant: Palm; }

impl Generate for Plant {
    fn count(&self) -> Result<u64, ShapeError> {
        self.vertex_count()
    }
    fn mesh(&self) -> Result<Mesh, ShapeError> {
        self.check().map(|()| Mesh::Plant(self.clone()))
    }
}

section! { struct PartKeys "part" [ExactlyOne(&["radius", "width"]), Needs("width", &["thickness"])] => PlantPart, part {
    name: () = Text, Absent, "for parts that grow on it";
    on: () = Text, Absent, "the part, listed before, that its root moves with; the two need not touch";
    points: Vec<Vec3> = List(&Vector("m")), Required, "its spine runs through them, smoothly";
    radius: Option<Vec<f64>> = Either(&[Number("m", Any), List(&Number("m", Any))]), Absent, "of a round part; a list is spread evenly from root to tip";
    width: Vec<f64> = Either(&[Number("m", Any), List(&Number("m", Any))]), Absent, "instead of `radius`: of a flat part";
    thickness: Option<f64> = Number("m", Positive), Said("required with `width`"), "of a flat part";
    up: Direction = Direction, Vec(&[0.0, 0.0, 1.0]), "the normal of a flat part at its root, as far as it is across the spine";
    frames: Frames = Either(&[Count(2), Counts(2, 1)]), Required, "along the spine, and across it (default 1). The first row of a part that grows on another is that other's. With one frame across, a flat part stays straight across and twists only by shear; two or more let it curl and twist as a thin plate";
    cells: Option<[u32; 2]> = Counts(2, 1), Said("`[2, 8]` round, `[2, 4]` flat"), "of the surface: along the spine between two frames, and around or across";
    stiffness: f64 = Number("1", Positive), Num(1.0), "multiplies Young's modulus";
} }

const FRAMES: &[Purpose] = &[Purpose::Frames];

shape_kinds! {
    [new "plant" FRAMES PlantKeys "the parts listed above"] => {
        parts: Vec<PlantPart> = Tables(PartKeys::SECTION), Required, "";
    }
    ["palm" FRAMES Palm "a palm tree on the origin: a trunk of the given `height` and `radius` at its root, `leaves` in two tiers that bend down by `droop` leaf lengths, `leaflets` of at most `leaflet_length` on each side of a leaf (with 0 of them blades of twice that width); `leaf_stiffness` multiplies Young's modulus in leaves, `seed` makes small differences"] => {
        height: f64 = Number("m", Positive), Required, "";
        radius: f64 = Number("m", Positive), Required, "";
        leaves: u32 = Count(3), Required, "";
        leaf_length: f64 = Number("m", Positive), Required, "";
        leaflets: u32 = Count(0), Required, "";
        leaflet_length: f64 = Number("m", Positive), Required, "";
        thickness: f64 = Number("m", Positive), Required, "";
        droop: f64 = Number("1", NotNegative), Num(0.5), "";
        leaf_stiffness: f64 = Number("1", Positive), Num(1.0), "";
        seed: u64 = Count(0), Int(0), "";
    }
}

impl Shape for PlantKeys {
    fn generator(mut self, f: &Fields<'_>) -> Option<Generator> {
        let nodes = f.table.items("parts");
        for (i, node) in nodes.iter().enumerate() {
            let Some(on) = node.table().and_then(|t| t.get("on")) else {
                continue;
            };
            let Some(found) = nodes[..i].iter().position(|n| n.name() == on.text()) else {
                let (what, on_name) = (&f.what, on.text().unwrap_or_default());
                let message = format!(
                    "part {i} of {what} grows on `{on_name}`, but no part before it has that name"
                );
                return f
                    .reporter()
                    .fail(ProblemKind::UnknownName, on.place, message, None);
            };
            self.parts[i].parent = Some(found as u32);
        }
        Some(Generator::mesh(Plant { parts: self.parts }))
    }
}

/// Frames along the spine and across it.
pub(crate) struct Frames([u32; 2]);

impl Read<Context> for Frames {
    fn read(f: &Fields<'_>, key: &str, node: &TreeNode) -> Option<Self> {
        match node.value {
            Value::Integer(_) => Some(Self([u32::read(f, key, node)?, 1])),
            _ => <[u32; 2]>::read(f, key, node).map(Self),
        }
    }
}

fn part(f: &Fields<'_>, k: PartKeys) -> Option<PlantPart> {
    let (section, cells) = match k.radius {
        Some(radii) => (CrossSection::Round { radii }, [2, 8]),
        None => {
            let thickness = f.need("thickness", k.thickness)?;
            let widths = k.width;
            (CrossSection::Flat { widths, thickness }, [2, 4])
        }
    };
    Some(PlantPart {
        points: k.points,
        section,
        up: k.up.0,
        frames: k.frames.0,
        cells: k.cells.unwrap_or(cells),
        stiffness: k.stiffness,
        // Known when the other parts are.
        parent: None,
    })
}
