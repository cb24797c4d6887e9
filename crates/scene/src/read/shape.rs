//! Procedural shapes of bodies.

use stiction_geometry::{
    Plant, Strands, TetMesh, TriMesh,
    shapes::{Groom, ShapeError},
};

use crate::{
    error::{ProblemKind, Reporter},
    format::{Fields, Key, Type},
    read::{obstacle, plant, rod, shapes},
    source::SourceSpan,
    suggest,
    tree::{Node, TableEntry},
};

/// A shape that can say how large its mesh is before it is built.
pub(crate) struct ShapePlan {
    pub place: SourceSpan,
    pub source: Generator,
    /// Places of the shape's keys, for errors about them.
    pub keys: Vec<(String, SourceSpan)>,
}

/// Generator of the mesh.
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

/// Use of the mesh of a shape.
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
    /// Possible uses of its mesh.
    pub purposes: &'static [Purpose],
    /// Its keys in addition to `type`.
    pub keys: &'static [Key],
    /// The meaning, for the documentation.
    pub doc: &'static str,
    /// Reads the keys.
    pub read: fn(&Fields<'_>) -> Option<Generator>,
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
    pub fn body(self) -> &'static str {
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
        let place = |e: &TableEntry| (e.key.clone(), e.node.place);
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
        reporter.fail(ProblemKind::Value, place, error.to_string(), None)
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
        let lenient = matches!(purpose, Purpose::Rigid | Purpose::Embedded);
        let f = f.of_shape(kind.keys, lenient);
        let source = (kind.read)(&f)?;
        return Some(ShapePlan::new(&f, source));
    }
    if name == "tube" && matches!(purpose, Purpose::Rigid | Purpose::Embedded) {
        let message = format!("{} is an open tube; a closed one is a `cylinder`", f.what);
        return f.refuse("type", message, "use `type = \"cylinder\"`");
    }
    let what = purpose.body();
    let known = kinds().filter(|k| k.purposes.contains(&purpose));
    let help = suggest::help(name, &format!("shapes of {what}"), known.map(|k| k.name));
    let message = format!("body `{body}` is {what}, which cannot have the shape `{name}`");
    f.fail(ProblemKind::Value, "type", message, Some(help))
}

/// The shape table and its type; a type that no shape has is reported.
pub(super) fn open<'a>(
    reporter: &'a Reporter,
    node: &'a Node,
    owner: &str,
) -> Option<(Fields<'a>, &'a str)> {
    let f = Fields::open(reporter, node, format!("the shape of {owner}"))?;
    if !f.has("type") {
        return f.missing("type");
    }
    f.checked::<String>("type", Type::Text)?;
    let name = f.text("type")?;
    let names = names();
    if !names.contains(&name.value) {
        let help = suggest::help(name.value, "shapes", names);
        let message = format!("there is no shape `{}`", name.value);
        return name.fail(reporter, ProblemKind::UnknownName, message, Some(help));
    }
    Some((f, name.value))
}
