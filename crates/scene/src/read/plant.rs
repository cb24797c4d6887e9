//! Shapes of bodies carried by frames.

use stiction_geometry::{
    Part, Plant, Section,
    shapes::{Palm, ShapeError},
};
use stiction_math::Vec3;

use crate::{
    error::Kind,
    fields::{Fields, list, number, vector},
    read::shape::{Generate, Generator, Purpose, Reader, ShapeKind},
    schema,
    tree::{Node, Value},
};

impl Generate<Plant> for Palm {
    fn count(&self) -> Result<u64, ShapeError> {
        self.node_count()
    }
    fn mesh(&self) -> Result<Plant, ShapeError> {
        self.build()
    }
}

impl Generate<Plant> for Plant {
    fn count(&self) -> Result<u64, ShapeError> {
        self.vertex_count()
    }
    fn mesh(&self) -> Result<Plant, ShapeError> {
        self.check().map(|()| self.clone())
    }
}

/// The shapes of bodies carried by frames.
pub(super) const KINDS: &[ShapeKind] = &[
    ShapeKind {
        name: "plant",
        purposes: &[Purpose::Frames],
        keys: &["parts"],
        read: plant,
    },
    ShapeKind {
        name: "palm",
        purposes: &[Purpose::Frames],
        keys: &[
            "height",
            "radius",
            "leaves",
            "leaf_length",
            "leaflets",
            "leaflet_length",
            "thickness",
            "droop",
            "leaf_stiffness",
            "seed",
        ],
        read: palm,
    },
];

fn plant(r: &Reader<'_, '_>) -> Option<Generator> {
    let f = r.f;
    f.need("parts")?;
    let nodes = f.tables("parts");
    let parts: Vec<Option<Part>> = (0..nodes.len()).map(|i| part(f, nodes, i)).collect();
    let parts: Option<Vec<Part>> = parts.into_iter().collect();
    Some(Generator::Plant(Box::new(Plant { parts: parts? })))
}

fn palm(r: &Reader<'_, '_>) -> Option<Generator> {
    let f = r.f;
    let lengths = [
        "height",
        "radius",
        "leaf_length",
        "leaflet_length",
        "thickness",
    ];
    let [height, radius, leaf_length, leaflet_length, thickness] =
        lengths.map(|key| f.need_positive(key));
    let leaves = f.need_count("leaves", 3);
    let leaflets = f.need_count("leaflets", 0);
    let mut palm = Palm {
        height: height?,
        radius: radius?,
        leaves: leaves?,
        leaf_length: leaf_length?,
        leaflets: leaflets?,
        leaflet_length: leaflet_length?,
        thickness: thickness?,
        droop: 0.5,
        leaf_stiffness: 1.0,
        seed: 0,
    };
    if f.has("droop") {
        palm.droop = f.not_negative("droop")?;
    }
    if f.has("leaf_stiffness") {
        palm.leaf_stiffness = f.positive("leaf_stiffness")?;
    }
    palm.seed = r.seed()?;
    Some(Generator::Plant(Box::new(palm)))
}

/// The name of a part, which later parts grow on.
fn name(node: &Node) -> Option<&str> {
    let Value::Table(table) = &node.value else {
        return None;
    };
    match &table.get("name")?.value {
        Value::String(name) => Some(name),
        _ => None,
    }
}

fn part(shape: &Fields<'_>, nodes: &[Node], index: usize) -> Option<Part> {
    let what = format!("part {index} of {}", shape.what);
    let f = Fields::new(shape.reporter, &nodes[index], what, schema::PART)?;
    let points = points(&f);
    let frames = pair(&f, "frames");
    let parent = match f.string("on") {
        None if f.has("on") => return None,
        None => None,
        Some(on) => {
            let found = nodes[..index]
                .iter()
                .position(|n| name(n) == Some(on.value));
            let Some(found) = found else {
                let message = format!(
                    "{} grows on `{}`, but no part before it has that name",
                    f.what, on.value
                );
                return f.fail(Kind::UnknownName, "on", message, None);
            };
            Some(found as u32)
        }
    };
    if !f.exactly_one(&["radius", "width"]) {
        return None;
    }
    let (section, cells) = if f.has("radius") {
        let radii = numbers(&f, "radius")?;
        (Section::Round { radii }, [2, 8])
    } else {
        let (widths, thickness) = (numbers(&f, "width"), f.need_positive("thickness"));
        let (widths, thickness) = (widths?, thickness?);
        (Section::Flat { widths, thickness }, [2, 4])
    };
    let cells = match f.has("cells") {
        true => f.counts("cells", 1)?,
        false => cells,
    };
    let up = match f.has("up") {
        true => f.direction("up")?,
        false => Vec3::z(),
    };
    let stiffness = match f.has("stiffness") {
        true => f.positive("stiffness")?,
        false => 1.0,
    };
    Some(Part {
        points: points?,
        section,
        up,
        frames: frames?,
        cells,
        stiffness,
        parent,
    })
}

fn points(f: &Fields<'_>) -> Option<Vec<Vec3>> {
    let what = format!("`points` of {}", f.what);
    let items = list(f.reporter, f.need("points")?, &what, None)?;
    items.iter().map(|n| vector(f.reporter, n, &what)).collect()
}

/// A number, or a list of them.
fn numbers(f: &Fields<'_>, key: &str) -> Option<Vec<f64>> {
    let node = f.need(key)?;
    match &node.value {
        Value::Array(_) => f.number_list(key),
        _ => Some(vec![number(
            f.reporter,
            node,
            &format!("`{key}` of {}", f.what),
        )?]),
    }
}

/// A count along the spine, or two: along and across.
fn pair(f: &Fields<'_>, key: &str) -> Option<[u32; 2]> {
    match &f.need(key)?.value {
        Value::Array(_) => f.counts(key, 1),
        _ => f.count(key, 2).map(|n| [n, 1]),
    }
}
