//! Procedural shapes of bodies.

use std::collections::BTreeSet;

use stiction_geometry::{
    Plant, Strands, TetMesh, TriMesh,
    shapes::{Groom, ShapeError},
};

use crate::{
    format::{
        Fields, KeySpec, Reporter, Section, SourceSpan, TableKeys, Type, Union, keys, suggest,
        words,
    },
    read::{Context, obstacle, plant, rod, shapes},
};

/// A shape that can say how large its mesh is before it is built.
pub(crate) struct ShapePlan {
    pub place: SourceSpan,
    pub source: Generator,
    /// Places of the shape's keys, for errors about them.
    keys: Vec<(String, SourceSpan)>,
}

/// Generator of the mesh.
pub(crate) enum Generator {
    Mesh(Box<dyn Generate>),
    /// Hair on the surface of the body that it is rooted in.
    Grown(Groom),
}

/// A procedural mesh.
pub(crate) trait Generate {
    fn count(&self) -> Result<u64, ShapeError>;
    fn mesh(&self) -> Result<Mesh, ShapeError>;
}

/// The mesh of a body.
#[derive(Clone)]
pub(crate) enum Mesh {
    Surface(TriMesh),
    Solid(TetMesh),
    Strands(Strands),
    Plant(Plant),
}

impl Mesh {
    /// Number of vertices or points; none of a plant, whose nodes are frames.
    pub fn node_count(&self) -> usize {
        match self {
            Self::Surface(mesh) => mesh.positions.len(),
            Self::Solid(mesh) => mesh.positions.len(),
            Self::Strands(strands) => strands.points.len(),
            Self::Plant(_) => 0,
        }
    }
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
    /// A closed surface that is filled with material points.
    Granular,
    /// Polylines.
    Rods,
    /// Spines with cross-sections.
    Frames,
}
words! { Purpose: "shell" => Shell, "solid" => Solid, "embedded" => Embedded, "rigid" => Rigid, "particles" => Particles, "granular" => Granular, "rods" => Rods, "frames" => Frames }

/// A shape for some purposes: the same word may have other keys for other purposes.
pub(crate) struct ShapeKind {
    /// The word after `type`.
    pub word: &'static str,
    /// Possible uses of its mesh.
    pub purposes: &'static [Purpose],
    /// Its keys in addition to `type`.
    pub section: &'static Section,
    /// The meaning, for the documentation.
    pub doc: &'static str,
    read: fn(&Fields<'_>) -> Option<Generator>,
}

/// The keys of a shape, which make a generator.
pub(crate) trait Shape: TableKeys<Context> {
    fn generator(self, f: &Fields<'_>) -> Option<Generator>;
}

impl<T: TableKeys<Context> + Generate + 'static> Shape for T {
    fn generator(self, _: &Fields<'_>) -> Option<Generator> {
        Some(Generator::mesh(self))
    }
}

/// Declares shapes: the word after `type`, the purposes, the type of the keys (`new` where it is declared here) and
/// the meaning, of one or more that have the same keys.
macro_rules! shape_kinds {
    ($($([$($new:ident)? $word:literal $purposes:ident $t:ident $doc:literal])+ => $keys:tt)*) => {
        $($($crate::read::shape::shape_kinds!(@ $($new)? $word $t $keys);)+)*
        pub(super) const KINDS: &[$crate::read::shape::ShapeKind] = &[
            $($($crate::read::shape::ShapeKind::of::<$t>($word, $purposes, $doc)),+),*
        ];
    };
    (@ $word:literal $t:ident $keys:tt) => { $crate::format::section! { for $t $word $keys } };
    (@ new $word:literal $t:ident $keys:tt) => { $crate::format::section! { struct $t $word $keys } };
}

/// Makes shapes generators of meshes.
macro_rules! generators {
    ($($mesh:ident: $($shape:ty),*;)*) => {$($(
        impl $crate::read::shape::Generate for $shape {
            fn count(&self) -> Result<u64, stiction_geometry::shapes::ShapeError> {
                self.node_count()
            }
            fn mesh(&self) -> Result<$crate::read::shape::Mesh, stiction_geometry::shapes::ShapeError> {
                self.build().map($crate::read::shape::Mesh::$mesh)
            }
        }
    )*)*};
}
pub(super) use {generators, shape_kinds};

pub(crate) const TYPE: &[KeySpec] = keys! { shape as "type": Text, Required, "the shape"; };

pub(crate) const SHAPES: Union = Union {
    name: "shape",
    common: TYPE,
    members: || {
        let all = kinds().map(|k| (k.word, k.doc.to_owned(), k.section));
        all.collect()
    },
};

/// All shapes of bodies.
pub(crate) fn kinds() -> impl Iterator<Item = &'static ShapeKind> {
    let tables = [shapes::KINDS, plant::KINDS, rod::KINDS];
    tables.into_iter().flatten()
}

impl ShapeKind {
    pub(super) const fn of<T: Shape>(
        word: &'static str,
        purposes: &'static [Purpose],
        doc: &'static str,
    ) -> Self {
        Self {
            word,
            purposes,
            section: T::SECTION,
            doc,
            read: |f| T::keys(f)?.generator(f),
        }
    }
}

impl Purpose {
    /// A body of this purpose, in messages.
    pub fn body(self) -> &'static str {
        match self {
            Self::Shell => "a shell",
            Self::Solid => "a solid",
            Self::Embedded => "an embedded solid",
            Self::Rigid => "a rigid body",
            Self::Granular => "a granular body",
            Self::Particles => "a body of particles",
            Self::Rods => "a body of rods",
            Self::Frames => "a body of frames",
        }
    }
}

impl Generator {
    pub fn mesh(shape: impl Generate + 'static) -> Self {
        Self::Mesh(Box::new(shape))
    }
}

impl ShapePlan {
    /// Whether it is hair on the surface of the body that it is rooted in.
    pub fn grows(&self) -> bool {
        matches!(self.source, Generator::Grown(_))
    }

    pub fn new(f: &Fields<'_>, source: Generator) -> Self {
        let entries = f.table.entries.iter();
        Self {
            place: f.place,
            source,
            keys: entries.map(|e| (e.key.clone(), e.node.place)).collect(),
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
        reporter.refuse(place, error.to_string(), None)
    }

    /// The number of nodes, which may be more than anyone can build.
    pub fn count(&self, reporter: &Reporter) -> Option<u128> {
        let count = match &self.source {
            Generator::Mesh(shape) => shape.count(),
            Generator::Grown(groom) => groom.node_count(),
        };
        match count {
            Ok(n) => Some(u128::from(n)),
            Err(ShapeError::TooLarge { nodes, .. }) => Some(nodes),
            Err(error) => self.fail(reporter, &error),
        }
    }
}

/// The shape of a body that is used for `purpose`.
pub(crate) fn shape(body: &Fields<'_>, purpose: Purpose) -> Option<ShapePlan> {
    let (f, word) = open(body)?;
    let fitting = || kinds().filter(|k| k.purposes.contains(&purpose));
    let closed = matches!(
        purpose,
        Purpose::Rigid | Purpose::Embedded | Purpose::Granular
    );
    if let Some(kind) = fitting().find(|k| k.word == word) {
        let f = of_shape(f, kind.section, closed);
        let source = (kind.read)(&f)?;
        return Some(ShapePlan::new(&f, source));
    }
    if word == "tube" && closed {
        let message = format!("{} is an open tube; a closed one is a `cylinder`", f.what);
        return f.refuse("type", message, "use `type = \"cylinder\"`");
    }
    let (owner, what) = (&body.what, purpose.body());
    let (kinds, known) = (format!("shapes of {what}"), fitting().map(|k| k.word));
    let help = suggest::help(&word, &kinds, known);
    let message = format!("{owner} is {what}, which cannot have the shape `{word}`");
    f.refuse("type", message, help)
}

/// The shape of `owner` and its type; a type that no shape has is reported.
pub(super) fn open<'a>(owner: &Fields<'a>) -> Option<(Fields<'a>, String)> {
    let node = owner.get("shape")?;
    let f = owner.open(node, format!("the shape of {}", owner.what))?;
    if !f.has("type") {
        return f.missing("type");
    }
    let word: String = f.checked("type", Type::Text)?;
    let of_obstacles = obstacle::KINDS.iter().map(|k| k.word);
    let mut names: Vec<&str> = kinds().map(|k| k.word).chain(of_obstacles).collect();
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(*name));
    if names.contains(&word.as_str()) {
        return Some((f, word));
    }
    let message = format!("there is no shape `{word}`");
    f.unknown("type", message, &word, "shapes", names)
}

/// Checks the table of a shape, which has a `type`; `lenient` if resolutions have defaults.
pub(super) fn of_shape<'a>(
    mut f: Fields<'a>,
    section: &'static Section,
    lenient: bool,
) -> Fields<'a> {
    f.lenient = lenient;
    let f = f.with_keys(TYPE, section.keys, true);
    f.rules(section.rules, |key| f.word(key));
    f
}
