//! Procedural shapes of bodies.

use stiction_geometry::{
    Plant, Strands, TetMesh, TriMesh,
    shapes::{
        BallShell, BallSolid, BallSurface, Band, Blob, Bowl, BowlSolid, BowlSurface, BoxShell,
        BoxSolid, BoxSurface, CapsuleSolid, CapsuleSurface, Card, Cone, CylinderSolid,
        CylinderSurface, Disc, Grid, Groom, ShapeError, Sheet, SheetPattern, TetPattern,
        TorusSolid, TorusSurface, Tube, TubeEnds,
    },
};

use crate::{
    error::{Kind, Reporter},
    fields::Fields,
    read::{plant, rod},
    schema,
    source::Place,
    suggest,
    tree::Node,
};

/// A shape that can say how large its mesh is before it is built.
pub(crate) struct ShapePlan {
    pub place: Place,
    pub source: Generator,
    /// Places of the shape's keys, for errors about them.
    pub keys: Vec<(String, Place)>,
}

/// What makes the mesh.
pub(crate) enum Generator {
    Surface(Box<dyn Generate<TriMesh>>),
    Solid(Box<dyn Generate<TetMesh>>),
    Strands(Box<dyn Generate<Strands>>),
    /// Hair on the surface of the body that it is rooted in.
    Grown(Groom),
    Plant(Box<dyn Generate<Plant>>),
}

/// A procedural mesh.
pub(crate) trait Generate<M> {
    fn count(&self) -> Result<u64, ShapeError>;
    fn mesh(&self) -> Result<M, ShapeError>;
}

macro_rules! generators {
    ($mesh:ty: $($shape:ty),*) => {$(
        impl Generate<$mesh> for $shape {
            fn count(&self) -> Result<u64, ShapeError> {
                self.node_count()
            }
            fn mesh(&self) -> Result<$mesh, ShapeError> {
                self.build()
            }
        }
    )*};
}
generators!(TriMesh: Grid, Sheet, Card, Disc, Tube, Band, Blob, Bowl, BowlSurface, BoxSurface, BallSurface, CapsuleSurface,
    CylinderSurface, Cone, TorusSurface);
generators!(TetMesh: BoxSolid, BoxShell, BallSolid, BallShell, CapsuleSolid, CylinderSolid, TorusSolid, BowlSolid);

/// What the mesh of a shape is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A surface of nodes, open or closed; its resolution must be given.
    Shell,
    /// Tetrahedra; their resolution must be given.
    Solid,
    /// A closed surface that is carried by a lattice.
    Embedded,
    /// A closed surface that moves as one.
    Rigid,
    /// Points.
    Particles,
    /// Polylines.
    Rods,
    /// Spines with cross-sections.
    Frames,
}

impl ShapePlan {
    /// Reports a shape that cannot be built.
    pub fn fail<T>(&self, reporter: &Reporter, error: &ShapeError) -> Option<T> {
        let key = match error {
            ShapeError::Parameter { parameter, .. } => Some(*parameter),
            ShapeError::NoRoom { .. } => Some("apart"),
            ShapeError::TooLarge { .. } => None,
        };
        let place = self.keys.iter().find(|k| Some(k.0.as_str()) == key);
        let place = place.map_or(self.place, |k| k.1);
        reporter.fail(Kind::Value, place, error.to_string(), None)
    }

    /// The number of nodes, which may be more than anyone can build.
    pub fn count(&self, reporter: &Reporter) -> Option<u128> {
        let count = match &self.source {
            Generator::Surface(s) => s.count(),
            Generator::Solid(s) => s.count(),
            Generator::Strands(s) => s.count(),
            Generator::Grown(groom) => groom.node_count(),
            Generator::Plant(s) => s.count(),
        };
        match count {
            Ok(n) => Some(u128::from(n)),
            Err(ShapeError::TooLarge { nodes, .. }) => Some(nodes),
            Err(error) => self.fail(reporter, &error),
        }
    }
}

/// The shape of a body.
pub(crate) fn shape(
    reporter: &Reporter,
    node: &Node,
    body: &str,
    purpose: Purpose,
) -> Option<ShapePlan> {
    let (f, kind) = open(reporter, node, &format!("body `{body}`"))?;
    let r = Reader { f: &f, purpose };
    let source = match (kind, purpose) {
        ("sheet" | "card" | "disc" | "tube" | "band", Purpose::Shell) => {
            Generator::Surface(r.open_surface(kind)?)
        }
        ("bowl", Purpose::Shell) => {
            known(&f, kind, &["type", "radius", "depth", "rings"]);
            let (radius, depth, rings) =
                (r.length("radius"), r.length("depth"), r.cells("rings", 12));
            Generator::Surface(Box::new(Bowl {
                radius: radius?,
                depth: depth?,
                rings: rings?,
            }))
        }
        (kind, Purpose::Rods) if rod::SHAPES.contains(&kind) => rod::shape(&f, kind)?,
        (kind, Purpose::Frames) if plant::SHAPES.contains(&kind) => {
            Generator::Plant(plant::shape(&f, kind)?)
        }
        ("grid", Purpose::Particles) => {
            known(&f, kind, &["type", "count", "spacing", "jitter", "seed"]);
            let spacing = r.length("spacing");
            f.need("count")?;
            let count = f.counts("count", 1);
            let jitter = if f.has("jitter") {
                f.not_negative("jitter")
            } else {
                Some(0.0)
            };
            let seed = if f.has("seed") {
                f.count("seed", 0)
            } else {
                Some(0)
            };
            Generator::Surface(Box::new(Grid {
                count: count?,
                spacing: spacing?,
                jitter: jitter?,
                seed: u64::from(seed?),
            }))
        }
        ("box" | "sphere" | "capsule" | "cylinder" | "torus" | "bowl", Purpose::Solid) => {
            Generator::Solid(r.solid(kind)?)
        }
        ("tube", Purpose::Rigid | Purpose::Embedded)
        | ("box" | "sphere" | "blob" | "capsule" | "cylinder" | "cone" | "torus" | "bowl", _)
            if matches!(purpose, Purpose::Shell | Purpose::Embedded | Purpose::Rigid) =>
        {
            Generator::Surface(r.closed_surface(kind)?)
        }
        _ => {
            let (what, known): (&str, &[&str]) = match purpose {
                Purpose::Shell => (
                    "a shell",
                    &[
                        "sheet", "card", "disc", "tube", "band", "bowl", "box", "sphere", "blob",
                        "capsule", "cylinder", "cone", "torus",
                    ],
                ),
                Purpose::Solid => (
                    "a solid",
                    &["box", "sphere", "capsule", "cylinder", "torus", "bowl"],
                ),
                Purpose::Embedded => ("an embedded solid", CLOSED),
                Purpose::Rigid => ("a rigid body", CLOSED),
                Purpose::Particles => ("a body of particles", &["grid"]),
                Purpose::Rods => ("a body of rods", rod::SHAPES),
                Purpose::Frames => ("a body of frames", plant::SHAPES),
            };
            let help = suggest::help(kind, &format!("shapes of {what}"), known.iter().copied());
            return f.fail(
                Kind::Value,
                "type",
                format!("body `{body}` is {what}, which cannot have the shape `{kind}`"),
                Some(help),
            );
        }
    };
    let keys = f
        .table
        .entries
        .iter()
        .map(|e| (e.key.clone(), e.node.place))
        .collect();
    Some(ShapePlan {
        place: node.place,
        source,
        keys,
    })
}

const CLOSED: &[&str] = &[
    "box", "sphere", "blob", "capsule", "cylinder", "cone", "torus", "bowl",
];

/// The shape table and its type; a type that no table of ours knows is reported.
pub(super) fn open<'a>(
    reporter: &'a Reporter,
    node: &'a Node,
    owner: &str,
) -> Option<(Fields<'a>, &'a str)> {
    let f = Fields::open(reporter, node, format!("the shape of {owner}"))?;
    let kind = f.need_string("type")?;
    if schema::SHAPES.iter().all(|s| s.0 != kind.value) {
        let help = suggest::help(kind.value, "shapes", schema::SHAPES.iter().map(|s| s.0));
        return kind.fail(
            reporter,
            Kind::UnknownName,
            format!("there is no shape `{}`", kind.value),
            Some(help),
        );
    }
    Some((f, kind.value))
}

/// Reports keys that are not among `keys`, which are those of `kind` that make sense here.
pub(super) fn known(f: &Fields<'_>, kind: &str, keys: &[&str]) {
    let documented = |key| {
        schema::SHAPES
            .iter()
            .any(|s| s.0 == kind && s.1.contains(key))
    };
    debug_assert!(
        keys.iter().all(documented),
        "a key of `{kind}` is not in the schema"
    );
    f.allow(keys);
}

/// Reads the keys of a shape.
pub(super) struct Reader<'f, 'a> {
    pub f: &'f Fields<'a>,
    pub purpose: Purpose,
}

impl Reader<'_, '_> {
    pub fn length(&self, key: &str) -> Option<f64> {
        self.f.need_positive(key)
    }

    /// A resolution. What only needs to look right has a default; what deforms does not.
    fn cells(&self, key: &str, default: u32) -> Option<u32> {
        if !self.f.has(key) && matches!(self.purpose, Purpose::Rigid | Purpose::Embedded) {
            return Some(default);
        }
        self.f.need_count(key, 1)
    }

    pub fn lengths<const N: usize>(&self, key: &str) -> Option<[f64; N]> {
        let all = self.f.need_numbers(key)?;
        match all.iter().find(|x| **x <= 0.0) {
            Some(x) => self.f.out_of_range(key, *x, "positive"),
            None => Some(all),
        }
    }

    fn open_surface(&self, kind: &str) -> Option<Box<dyn Generate<TriMesh>>> {
        let f = self.f;
        Some(match kind {
            "sheet" => {
                known(
                    f,
                    kind,
                    &["type", "size", "cells", "pattern", "jitter", "seed"],
                );
                let size = self.lengths("size");
                f.need("cells")?;
                let cells = f.counts("cells", 1);
                let jitter = f.number("jitter").unwrap_or(0.5);
                let seed = u64::from(f.count("seed", 0).unwrap_or(0));
                let patterns = [
                    ("regular", SheetPattern::Regular),
                    ("alternating", SheetPattern::Alternating),
                    ("irregular", SheetPattern::Irregular { jitter, seed }),
                ];
                let pattern = f
                    .choice("pattern", &patterns)
                    .unwrap_or(SheetPattern::Regular);
                Box::new(Sheet {
                    size: size?,
                    cells: cells?,
                    pattern,
                })
            }
            "card" => {
                known(f, kind, &["type", "size", "refinements"]);
                let (size, refinements) = (self.lengths("size"), f.need_count("refinements", 0));
                Box::new(Card {
                    size: size?,
                    refinements: refinements?,
                })
            }
            "disc" => {
                known(f, kind, &["type", "radius", "rings"]);
                let (radius, rings) = (self.length("radius"), self.cells("rings", 8));
                Box::new(Disc {
                    radius: radius?,
                    rings: rings?,
                })
            }
            "tube" => {
                known(
                    f,
                    kind,
                    &["type", "radius", "length", "around", "along", "ends"],
                );
                let ends = [("open", TubeEnds::Open), ("closed", TubeEnds::Closed)];
                let ends = f.choice("ends", &ends).unwrap_or(TubeEnds::Open);
                let (radius, length) = (self.length("radius"), self.length("length"));
                let (around, along) = (self.cells("around", 32), self.cells("along", 1));
                Box::new(Tube {
                    radius: radius?,
                    length: length?,
                    around: around?,
                    along: along?,
                    ends,
                })
            }
            _ => {
                known(
                    f,
                    kind,
                    &["type", "radius", "straight", "width", "around", "across"],
                );
                let straight = if f.has("straight") {
                    f.not_negative("straight")
                } else {
                    Some(0.0)
                };
                let (radius, width) = (self.length("radius"), self.length("width"));
                let (around, across) = (self.cells("around", 32), self.cells("across", 1));
                Box::new(Band {
                    radius: radius?,
                    straight: straight?,
                    width: width?,
                    around: around?,
                    across: across?,
                })
            }
        })
    }

    pub fn closed_surface(&self, kind: &str) -> Option<Box<dyn Generate<TriMesh>>> {
        let f = self.f;
        Some(match kind {
            "box" => {
                known(f, kind, &["type", "size", "cells"]);
                let size = self.lengths("size");
                let cells = if !f.has("cells") && self.purpose != Purpose::Shell {
                    Some([1; 3])
                } else {
                    f.need("cells")?;
                    f.counts("cells", 1)
                };
                Box::new(BoxSurface {
                    size: size?,
                    cells: cells?,
                })
            }
            "sphere" => {
                known(f, kind, &["type", "radius", "frequency"]);
                let (radius, frequency) = (self.length("radius"), self.cells("frequency", 8));
                Box::new(BallSurface {
                    radius: radius?,
                    frequency: frequency?,
                })
            }
            "blob" => {
                known(f, kind, &["type", "radius", "bumps", "seed", "frequency"]);
                let (radius, frequency) = (self.length("radius"), self.cells("frequency", 8));
                let bumps = match f.has("bumps") {
                    true => f.not_negative("bumps")?,
                    false => 1.0,
                };
                let seed = f.count("seed", 0).map_or(0, u64::from);
                Box::new(Blob {
                    radius: radius?,
                    bumps,
                    seed,
                    frequency: frequency?,
                })
            }
            "capsule" => {
                known(f, kind, &["type", "radius", "length", "rings", "along"]);
                let (radius, length) = (self.length("radius"), self.length("length"));
                let (rings, along) = (self.cells("rings", 6), self.cells("along", 4));
                Box::new(CapsuleSurface {
                    radius: radius?,
                    length: length?,
                    rings: rings?,
                    along: along?,
                })
            }
            "cylinder" => {
                known(f, kind, &["type", "radius", "length", "around", "along"]);
                let (radius, length) = (self.length("radius"), self.length("length"));
                let (around, along) = (self.cells("around", 48), self.cells("along", 1));
                Box::new(CylinderSurface {
                    radius: radius?,
                    length: length?,
                    around: around?,
                    along: along?,
                })
            }
            "cone" => {
                known(f, kind, &["type", "radius", "height", "around", "along"]);
                let (radius, height) = (self.length("radius"), self.length("height"));
                let (around, along) = (self.cells("around", 48), self.cells("along", 1));
                Box::new(Cone {
                    radius: radius?,
                    height: height?,
                    around: around?,
                    along: along?,
                })
            }
            "torus" => {
                known(f, kind, &["type", "major", "minor", "around", "across"]);
                let (major, minor) = (self.length("major"), self.length("minor"));
                let (around, across) = (self.cells("around", 48), self.cells("across", 16));
                Box::new(TorusSurface {
                    major: major?,
                    minor: minor?,
                    around: around?,
                    across: across?,
                })
            }
            "tube" => {
                let message = format!("{} is an open tube; a closed one is a `cylinder`", f.what);
                return f.fail(
                    Kind::Value,
                    "type",
                    message,
                    Some("use `type = \"cylinder\"`".to_owned()),
                );
            }
            _ => {
                known(
                    f,
                    kind,
                    &["type", "radius", "depth", "thickness", "rings", "layers"],
                );
                let (radius, depth, thickness) = (
                    self.length("radius"),
                    self.length("depth"),
                    self.length("thickness"),
                );
                let (rings, layers) = (self.cells("rings", 12), self.cells("layers", 1));
                Box::new(BowlSurface {
                    radius: radius?,
                    depth: depth?,
                    thickness: thickness?,
                    rings: rings?,
                    layers: layers?,
                })
            }
        })
    }

    fn solid(&self, kind: &str) -> Option<Box<dyn Generate<TetMesh>>> {
        let f = self.f;
        Some(match kind {
            "box" => {
                known(f, kind, &["type", "size", "cells", "walls", "pattern"]);
                let size = self.lengths("size");
                f.need("cells")?;
                let cells = f.counts("cells", 1);
                let patterns = [("kuhn", TetPattern::Kuhn), ("five", TetPattern::Five)];
                let pattern = f.choice("pattern", &patterns).unwrap_or(TetPattern::Kuhn);
                if f.has("walls") {
                    return Some(Box::new(BoxShell {
                        size: size?,
                        cells: cells?,
                        walls: f.count("walls", 1)?,
                        pattern,
                    }));
                }
                Box::new(BoxSolid {
                    size: size?,
                    cells: cells?,
                    pattern,
                })
            }
            "sphere" if f.has("thickness") => {
                known(
                    f,
                    kind,
                    &["type", "radius", "thickness", "frequency", "layers"],
                );
                let (radius, thickness) = (self.length("radius"), self.length("thickness"));
                let (frequency, layers) = (self.cells("frequency", 8), self.cells("layers", 1));
                Box::new(BallShell {
                    radius: radius?,
                    thickness: thickness?,
                    frequency: frequency?,
                    layers: layers?,
                })
            }
            "sphere" => {
                known(f, kind, &["type", "radius", "thickness", "layers"]);
                let (radius, layers) = (self.length("radius"), self.cells("layers", 8));
                Box::new(BallSolid {
                    radius: radius?,
                    layers: layers?,
                })
            }
            "capsule" => {
                known(f, kind, &["type", "radius", "length", "rings", "along"]);
                let (radius, length) = (self.length("radius"), self.length("length"));
                let (rings, along) = (self.cells("rings", 6), self.cells("along", 4));
                Box::new(CapsuleSolid {
                    radius: radius?,
                    length: length?,
                    rings: rings?,
                    along: along?,
                })
            }
            "cylinder" => {
                known(f, kind, &["type", "radius", "length", "rings", "along"]);
                let (radius, length) = (self.length("radius"), self.length("length"));
                let (rings, along) = (self.cells("rings", 6), self.cells("along", 4));
                Box::new(CylinderSolid {
                    radius: radius?,
                    length: length?,
                    rings: rings?,
                    along: along?,
                })
            }
            "torus" => {
                known(f, kind, &["type", "major", "minor", "around", "rings"]);
                let (major, minor) = (self.length("major"), self.length("minor"));
                let (around, rings) = (self.cells("around", 48), self.cells("rings", 3));
                Box::new(TorusSolid {
                    major: major?,
                    minor: minor?,
                    around: around?,
                    rings: rings?,
                })
            }
            _ => {
                known(
                    f,
                    kind,
                    &["type", "radius", "depth", "thickness", "rings", "layers"],
                );
                let (radius, depth, thickness) = (
                    self.length("radius"),
                    self.length("depth"),
                    self.length("thickness"),
                );
                let (rings, layers) = (self.cells("rings", 12), self.cells("layers", 1));
                Box::new(BowlSolid {
                    radius: radius?,
                    depth: depth?,
                    thickness: thickness?,
                    rings: rings?,
                    layers: layers?,
                })
            }
        })
    }
}
