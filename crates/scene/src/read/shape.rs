//! Procedural shapes of bodies.

use stiction_geometry::{
    Plant, Strands, TetMesh, TriMesh,
    shapes::{Groom, ShapeError},
};

use crate::{
    error::{Kind, Reporter},
    fields::Fields,
    read::{obstacle, plant, rod, shapes},
    source::Place,
    suggest,
    tree::{Entry, Node},
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

/// A shape for some purposes: the same name may have other keys for other purposes.
pub(crate) struct ShapeKind {
    /// The word after `type`.
    pub name: &'static str,
    /// What its mesh can be for.
    pub purposes: &'static [Purpose],
    /// Its keys beside `type`.
    pub keys: &'static [&'static str],
    /// Reads them.
    pub read: fn(&Reader<'_, '_>) -> Option<Generator>,
}

/// All shapes of bodies.
pub(crate) fn kinds() -> impl Iterator<Item = &'static ShapeKind> {
    let tables = [shapes::KINDS, plant::KINDS, rod::KINDS];
    tables.into_iter().flatten()
}

/// The names of the shapes of bodies and obstacles, each once.
pub(crate) fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    let obstacles = obstacle::KINDS.iter().map(|k| k.name);
    for name in kinds().map(|k| k.name).chain(obstacles) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

impl Purpose {
    /// A body of this purpose, in messages.
    fn body(self) -> &'static str {
        match self {
            Self::Shell => "a shell",
            Self::Solid => "a solid",
            Self::Embedded => "an embedded solid",
            Self::Rigid => "a rigid body",
            Self::Particles => "a body of particles",
            Self::Rods => "a body of rods",
            Self::Frames => "a body of frames",
        }
    }
}

impl ShapePlan {
    pub fn new(f: &Fields<'_>, source: Generator) -> Self {
        let place = |e: &Entry| (e.key.clone(), e.node.place);
        Self {
            place: f.place,
            source,
            keys: f.table.entries.iter().map(place).collect(),
        }
    }

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
    let (f, name) = open(reporter, node, &format!("body `{body}`"))?;
    let mut fitting = kinds().filter(|k| k.purposes.contains(&purpose));
    if let Some(kind) = fitting.find(|k| k.name == name) {
        allow(&f, kind.keys);
        let source = (kind.read)(&Reader { f: &f, purpose })?;
        return Some(ShapePlan::new(&f, source));
    }
    if name == "tube" && matches!(purpose, Purpose::Rigid | Purpose::Embedded) {
        let message = format!("{} is an open tube; a closed one is a `cylinder`", f.what);
        let help = Some("use `type = \"cylinder\"`".to_owned());
        return f.fail(Kind::Value, "type", message, help);
    }
    let what = purpose.body();
    let known = kinds().filter(|k| k.purposes.contains(&purpose));
    let help = suggest::help(name, &format!("shapes of {what}"), known.map(|k| k.name));
    let message = format!("body `{body}` is {what}, which cannot have the shape `{name}`");
    f.fail(Kind::Value, "type", message, Some(help))
}

/// The shape table and its type; a type that no shape has is reported.
pub(super) fn open<'a>(
    reporter: &'a Reporter,
    node: &'a Node,
    owner: &str,
) -> Option<(Fields<'a>, &'a str)> {
    let f = Fields::open(reporter, node, format!("the shape of {owner}"))?;
    let name = f.need_string("type")?;
    let names = names();
    if !names.contains(&name.value) {
        let help = suggest::help(name.value, "shapes", names);
        let message = format!("there is no shape `{}`", name.value);
        return name.fail(reporter, Kind::UnknownName, message, Some(help));
    }
    Some((f, name.value))
}

/// Reports keys that are neither `type` nor among `keys`.
pub(super) fn allow(f: &Fields<'_>, keys: &[&str]) {
    f.allow(&[&["type"], keys].concat());
}

/// Reads the keys of a shape.
pub(crate) struct Reader<'f, 'a> {
    pub f: &'f Fields<'a>,
    pub purpose: Purpose,
}

impl Reader<'_, '_> {
    pub fn length(&self, key: &str) -> Option<f64> {
        self.f.need_positive(key)
    }

    /// A resolution. A shape that only needs to look right has a default; one that deforms does not.
    fn cells(&self, key: &str, default: u32) -> Option<u32> {
        if !self.f.has(key) && matches!(self.purpose, Purpose::Rigid | Purpose::Embedded) {
            return Some(default);
        }
        self.f.need_count(key, 1)
    }

    /// Lengths and resolutions with their defaults. All that is wrong with them is reported.
    pub fn sizes<const N: usize, const M: usize>(
        &self,
        lengths: [&str; N],
        cells: [(&str, u32); M],
    ) -> Option<([f64; N], [u32; M])> {
        let lengths = lengths.map(|key| self.length(key));
        let cells = cells.map(|(key, default)| self.cells(key, default));
        if lengths.contains(&None) || cells.contains(&None) {
            return None;
        }
        Some((
            lengths.map(Option::unwrap_or_default),
            cells.map(Option::unwrap_or_default),
        ))
    }

    pub fn lengths<const N: usize>(&self, key: &str) -> Option<[f64; N]> {
        let all = self.f.need_numbers(key)?;
        match all.iter().find(|x| **x <= 0.0) {
            Some(x) => self.f.out_of_range(key, *x, "positive"),
            None => Some(all),
        }
    }

    /// A number that is zero or positive, with a default.
    pub fn amount(&self, key: &str, default: f64) -> Option<f64> {
        match self.f.has(key) {
            true => self.f.not_negative(key),
            false => Some(default),
        }
    }

    /// The seed of random numbers, 0 by default.
    pub fn seed(&self) -> Option<u64> {
        match self.f.has("seed") {
            true => self.f.count("seed", 0).map(u64::from),
            false => Some(0),
        }
    }
}
