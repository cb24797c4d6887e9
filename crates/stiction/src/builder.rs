//! Scenes made in code.
//!
//! Every type here is a table of the scene format with setters for the keys that most scenes use, and `set`
//! for all others.

use stiction_bodies::builder::{BuildError, Builder};
use stiction_geometry::{TetMesh, TriMesh};
use stiction_scene::{Extension, LoadOptions, SceneSource, mesh_files::MeshFile};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value};

use crate::{Error, World};

/// A scene in the making.
///
/// Mistakes (unknown keys, names and materials, numbers out of range) are reported by
/// [`SceneBuilder::build`], several at once, with the line of [`SceneBuilder::text`] they stand in.
#[derive(Clone, Debug, Default)]
pub struct SceneBuilder {
    document: DocumentMut,
    options: LoadOptions,
}

impl SceneBuilder {
    /// An empty scene: steps of 10 ms, gravity 9.81 m/s² along −z, the default method and its settings.
    pub fn new() -> Self {
        Self::default().step(0.01).duration(1.0)
    }

    /// Length of a step [s].
    pub fn step(self, step: f64) -> Self {
        self.set("time.step", step)
    }

    /// Length of a run of the scene [s], 1 s by default: checks need it, and `stiction run`. A [`World`]
    /// goes on as long as it is asked to.
    pub fn duration(self, duration: f64) -> Self {
        self.set("time.duration", duration)
    }

    /// Uniform acceleration of everything [m/s²].
    pub fn gravity(self, gravity: [f64; 3]) -> Self {
        self.set("gravity", vector(gravity))
    }

    /// Friction coefficient of pairs that have none of their own.
    pub fn friction(self, mu: f64) -> Self {
        self.set("friction.default", mu)
    }

    /// Static friction coefficient between two materials.
    pub fn friction_between(mut self, materials: [&str; 2], mu: f64) -> Self {
        let mut pair = Table::new();
        pair.insert("materials", Value::from_iter(materials).into());
        pair.insert("static", mu.into());
        within(&mut self.document, "friction", |friction| {
            push(friction, "pair", pair);
        });
        self
    }

    /// Distance at which surfaces touch [m].
    pub fn thickness(self, thickness: f64) -> Self {
        self.set("contact.thickness", thickness)
    }

    /// The method, by its name.
    pub fn method(self, name: &str) -> Self {
        self.set("method.name", name)
    }

    /// Sets any key of the scene that is not in a list, by its path: `set("method.residual", 1e-6)`.
    pub fn set(mut self, path: &str, value: impl Into<Value>) -> Self {
        put(&mut self.document, path, value.into());
        self
    }

    /// Adds a material.
    pub fn material(mut self, material: Material) -> Self {
        within(&mut self.document, "material", |materials| {
            materials.set_implicit(true);
            materials.insert(&material.name, Item::Table(material.table));
        });
        self
    }

    /// Adds a body.
    pub fn body(mut self, mut body: Body) -> Self {
        self.keep_mesh(&mut body.table, body.mesh);
        push(&mut self.document, "body", body.table);
        self
    }

    /// Adds an obstacle.
    pub fn obstacle(mut self, mut obstacle: Obstacle) -> Self {
        self.keep_mesh(&mut obstacle.table, obstacle.mesh);
        push(&mut self.document, "obstacle", obstacle.table);
        self
    }

    /// Pins a part of a body, or all of it.
    pub fn pin(mut self, pin: Pin) -> Self {
        push(&mut self.document, "pin", pin.table);
        self
    }

    /// Adds a probe.
    pub fn probe(mut self, probe: Probe) -> Self {
        push(&mut self.document, "probe", probe.table);
        self
    }

    /// Adds an entry to any list of the scene (`attachment`, `volume`, `probe`, `check`, …), as TOML: the
    /// inside of an inline table, such as `name = "a", type = "speed", body = "box"`.
    ///
    /// # Errors
    /// If the text is not TOML.
    pub fn entry_toml(mut self, list: &str, text: &str) -> Result<Self, toml_edit::TomlError> {
        // One value and nothing behind it.
        let entry: Value = format!("{{ {text} }}").parse()?;
        let entry = entry.as_inline_table().cloned().unwrap_or_default();
        push(&mut self.document, list, entry.into_table());
        Ok(self)
    }

    /// Makes a change to the model that a scene cannot express, before it is complete: force models of
    /// one's own, say.
    pub fn extend(
        mut self,
        change: impl Fn(&mut Builder) -> Result<(), BuildError> + Send + Sync + 'static,
    ) -> Self {
        self.options.extensions.push(Extension::new(change));
        self
    }

    /// Changes how the scene is loaded: further methods, limits, overrides.
    pub fn options(mut self, change: impl FnOnce(&mut LoadOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// Keeps the mesh of an entry under a path that no other entry has.
    fn keep_mesh(&mut self, entry: &mut Table, mesh: Option<(String, MeshFile)>) {
        let Some((path, mesh)) = mesh else {
            return;
        };
        let taken = |path: &str| self.options.meshes.iter().any(|m| m.0 == path);
        let numbered = (2u32..).map(|n| format!("{path}:{n}"));
        let mut free = std::iter::once(path.clone()).chain(numbered);
        let unique = free.find(|p| !taken(p)).unwrap_or_else(|| path.clone());
        // The entry may name another mesh by now.
        if entry.get("mesh").and_then(Item::as_str) == Some(path.as_str()) {
            entry.insert("mesh", unique.as_str().into());
        }
        self.options.meshes.push((unique, mesh));
    }

    /// The scene as a file would hold it.
    pub fn text(&self) -> String {
        self.document.to_string()
    }

    /// Builds the world.
    pub fn build(&self) -> Result<World, Error> {
        let source = SceneSource::Text {
            name: "scene made in code".to_owned(),
            text: self.text(),
        };
        World::load(&source, &self.options)
    }
}

/// A material.
#[derive(Clone, Debug)]
pub struct Material {
    name: String,
    table: Table,
}

impl Material {
    /// A rigid material with its density [kg/m³].
    pub fn rigid(name: &str, density: f64) -> Self {
        Self::of("rigid", name).set("density", density)
    }

    /// An elastic solid with its density [kg/m³], Young's modulus [Pa] and Poisson's ratio.
    pub fn solid(name: &str, density: f64, young: f64, poisson: f64) -> Self {
        Self::of("solid", name)
            .set("density", density)
            .set("young", young)
            .set("poisson", poisson)
    }

    /// Cloth with its mass per area [kg/m²], thickness [m], Young's modulus [Pa], Poisson's ratio and
    /// bending stiffness [N·m].
    pub fn shell(
        name: &str,
        area_density: f64,
        thickness: f64,
        young: f64,
        poisson: f64,
        bending: f64,
    ) -> Self {
        Self::of("shell", name)
            .set("area_density", area_density)
            .set("thickness", thickness)
            .set("young", young)
            .set("poisson", poisson)
            .set("bending", bending)
    }

    /// A material that starts from another one of the scene or of the library.
    pub fn based_on(name: &str, other: &str) -> Self {
        let (name, table) = (name.to_owned(), Table::new());
        Self { name, table }.set("based_on", other)
    }

    /// Sets any key of the material, by its path.
    pub fn set(mut self, path: &str, value: impl Into<Value>) -> Self {
        put(&mut self.table, path, value.into());
        self
    }

    fn of(kind: &str, name: &str) -> Self {
        let (name, table) = (name.to_owned(), Table::new());
        Self { name, table }.set("kind", kind)
    }
}

/// A body.
#[derive(Clone, Debug)]
pub struct Body {
    table: Table,
    mesh: Option<(String, MeshFile)>,
}

impl Body {
    /// A body of a kind of the scene format (`shell`, `solid`, `rigid`, `rods`, …), with nothing else set.
    pub fn new(kind: &str, name: &str) -> Self {
        let (table, mesh) = (Table::new(), None);
        Self { table, mesh }.set("name", name).set("kind", kind)
    }

    /// A rigid box with its sizes [m] and density [kg/m³], centred at the origin.
    pub fn rigid_box(name: &str, size: [f64; 3], density: f64) -> Self {
        Self::new("rigid", name)
            .shape("box", &[("size", vector(size))])
            .set("material.kind", "rigid")
            .set("material.density", density)
    }

    /// An elastic box with its sizes [m] and cells, centred at the origin.
    pub fn solid_box(name: &str, size: [f64; 3], cells: [u32; 3], material: &str) -> Self {
        let cells = Value::from_iter(cells.map(i64::from));
        Self::new("solid", name)
            .shape("box", &[("size", vector(size)), ("cells", cells)])
            .set("material", material)
    }

    /// A flat sheet of cloth in the plane z = 0 with its sizes [m] and cells, centred at the origin.
    pub fn sheet(name: &str, size: [f64; 2], cells: [u32; 2], material: &str) -> Self {
        let cells = Value::from_iter(cells.map(i64::from));
        let size = Value::from_iter(size);
        Self::new("shell", name)
            .shape("sheet", &[("size", size), ("cells", cells)])
            .set("material", material)
    }

    /// A procedural shape, by its type and keys.
    pub fn shape(self, kind: &str, keys: &[(&str, Value)]) -> Self {
        self.set("shape", shape(kind, keys))
    }

    /// A triangle mesh in memory.
    pub fn triangles(self, mesh: TriMesh) -> Self {
        self.in_memory(MeshFile {
            surface: Some(mesh),
            ..MeshFile::default()
        })
    }

    /// A tetrahedral mesh in memory.
    pub fn tetrahedra(self, mesh: TetMesh) -> Self {
        self.in_memory(MeshFile {
            tets: Some(mesh),
            ..MeshFile::default()
        })
    }

    /// The material, by its name.
    pub fn material(self, name: &str) -> Self {
        self.set("material", name)
    }

    /// Moves the body [m], after it is turned.
    pub fn translate(self, by: [f64; 3]) -> Self {
        self.set("translate", vector(by))
    }

    /// Turns the body about an axis through the origin by an angle [°].
    pub fn rotate(self, axis: [f64; 3], angle: f64) -> Self {
        self.set("rotate.axis", vector(axis))
            .set("rotate.angle", angle)
    }

    /// Velocity at the start [m/s].
    pub fn velocity(self, velocity: [f64; 3]) -> Self {
        self.set("velocity", vector(velocity))
    }

    /// Sets any key of the body, by its path.
    pub fn set(mut self, path: &str, value: impl Into<Value>) -> Self {
        put(&mut self.table, path, value.into());
        self
    }

    fn in_memory(mut self, mesh: MeshFile) -> Self {
        let path = memory_path("body", &self.table);
        self.mesh = Some((path.clone(), mesh));
        self.set("mesh", path)
    }
}

/// A kinematic obstacle.
#[derive(Clone, Debug)]
pub struct Obstacle {
    table: Table,
    mesh: Option<(String, MeshFile)>,
}

impl Obstacle {
    /// An obstacle of a shape of the scene format, by its type and keys.
    pub fn new(name: &str, kind: &str, keys: &[(&str, Value)]) -> Self {
        let (table, mesh) = (Table::new(), None);
        let named = Self { table, mesh }.set("name", name);
        named.set("shape", shape(kind, keys))
    }

    /// The half-space below the plane through the origin with an outward normal.
    pub fn plane(name: &str, normal: [f64; 3]) -> Self {
        Self::new(name, "plane", &[("normal", vector(normal))])
    }

    /// A box with its sizes [m], centred at the origin.
    pub fn cuboid(name: &str, size: [f64; 3]) -> Self {
        Self::new(name, "box", &[("size", vector(size))])
    }

    /// A ball with its radius [m], centred at the origin.
    pub fn sphere(name: &str, radius: f64) -> Self {
        Self::new(name, "sphere", &[("radius", radius.into())])
    }

    /// A triangle mesh in memory.
    pub fn triangles(name: &str, mesh: TriMesh) -> Self {
        let mut own = Self {
            table: Table::new(),
            mesh: None,
        }
        .set("name", name);
        let path = memory_path("obstacle", &own.table);
        let mesh = MeshFile {
            surface: Some(mesh),
            ..MeshFile::default()
        };
        own.mesh = Some((path.clone(), mesh));
        own.set("mesh", path)
    }

    /// The material, by its name in the friction table; the obstacle's own name by default.
    pub fn material(self, name: &str) -> Self {
        self.set("material", name)
    }

    /// Moves the obstacle [m], after it is turned.
    pub fn translate(self, by: [f64; 3]) -> Self {
        self.set("translate", vector(by))
    }

    /// Turns the obstacle about an axis through the origin by an angle [°].
    pub fn rotate(self, axis: [f64; 3], angle: f64) -> Self {
        self.set("rotate.axis", vector(axis))
            .set("rotate.angle", angle)
    }

    /// Sets any key of the obstacle, by its path.
    pub fn set(mut self, path: &str, value: impl Into<Value>) -> Self {
        put(&mut self.table, path, value.into());
        self
    }
}

/// Nodes of a body, or a whole rigid body, whose motion is prescribed.
#[derive(Clone, Debug)]
pub struct Pin {
    table: Table,
}

impl Pin {
    /// All of a body.
    pub fn all(body: &str) -> Self {
        let table = Table::new();
        Self { table }.set("body", body)
    }

    /// The nodes of a body beyond a plane: those with n · x ≥ offset [m] at the start.
    pub fn beyond(body: &str, normal: [f64; 3], offset: f64) -> Self {
        Self::all(body)
            .set("select.half_space.normal", vector(normal))
            .set("select.half_space.offset", offset)
    }

    /// Sets any key of the pin, by its path.
    pub fn set(mut self, path: &str, value: impl Into<Value>) -> Self {
        put(&mut self.table, path, value.into());
        self
    }
}

/// A named number that is followed over time.
#[derive(Clone, Debug)]
pub struct Probe {
    table: Table,
}

impl Probe {
    /// A probe of a type of the scene format (`centroid`, `speed`, `contact-force`, …).
    pub fn new(name: &str, kind: &str) -> Self {
        let table = Table::new();
        Self { table }.set("name", name).set("type", kind)
    }

    /// The body that is measured.
    pub fn body(self, name: &str) -> Self {
        self.set("body", name)
    }

    /// The axis along which it is measured: "x", "y" or "z".
    pub fn axis(self, axis: &str) -> Self {
        self.set("axis", axis)
    }

    /// Sets any key of the probe, by its path.
    pub fn set(mut self, path: &str, value: impl Into<Value>) -> Self {
        put(&mut self.table, path, value.into());
        self
    }
}

fn memory_path(list: &str, table: &Table) -> String {
    let name = table.get("name").and_then(Item::as_str).unwrap_or_default();
    format!("memory:{list}:{name}")
}

fn vector(values: [f64; 3]) -> Value {
    Value::Array(Array::from_iter(values))
}

fn shape(kind: &str, keys: &[(&str, Value)]) -> Value {
    let mut shape = InlineTable::new();
    shape.insert("type", kind.into());
    for (key, value) in keys {
        shape.insert(*key, value.clone());
    }
    Value::InlineTable(shape)
}

/// Deepest path of keys. The format has none that is half as deep; what is deeper is a single key, which is
/// refused with the scene.
const DEEPEST: usize = 32;

/// Sets the value at a path of keys separated by dots; missing tables are created, and replace what is no
/// table.
fn put(root: &mut Table, path: &str, value: Value) {
    let parts = match path.split('.').nth(DEEPEST) {
        None => path.split_once('.'),
        Some(_) => None,
    };
    match parts {
        None => {
            root.insert(path, Item::Value(value));
        }
        Some((first, rest)) => within(root, first, |table| put(table, rest, value)),
    }
}

/// Changes the table at a key, which is made if there is none, and replaces what is no table.
fn within(root: &mut Table, key: &str, change: impl FnOnce(&mut Table)) {
    let mut table = match root.remove(key) {
        Some(Item::Table(table)) => table,
        Some(Item::Value(Value::InlineTable(inline))) => inline.into_table(),
        _ => Table::new(),
    };
    change(&mut table);
    root.insert(key, Item::Table(table));
}

/// Adds an entry to the list at a key, which is made if there is none. What is no list of tables stays, and
/// is refused with the scene.
fn push(root: &mut Table, key: &str, entry: Table) {
    let item = root
        .entry(key)
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    // A list that was set as a value.
    if let Item::Value(Value::Array(values)) = item {
        let inline = values.iter().map(|v| v.as_inline_table().cloned());
        let tables: Option<Vec<Table>> = inline.map(|t| Some(t?.into_table())).collect();
        if let Some(tables) = tables {
            *item = Item::ArrayOfTables(tables.into_iter().collect());
        }
    }
    if let Item::ArrayOfTables(list) = item {
        list.push(entry);
    }
}
