//! Loading a scene, from its source to a simulation that can start.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use stiction_bodies::{Body, Model, State};
use stiction_contact::detect::DetectError;
use stiction_meshio::{MeshFile, MeshLimits};
use stiction_sim::{
    Failsafe, MethodConfig, Registry, Simulation, Unsupported,
    adapt::Adaptations,
    check::Check,
    colliders::ContactRules,
    friction::FrictionTable,
    needs::needs,
    overlap::{Overlap as Overlapping, overlaps},
    probe::Probe,
    resolve::{self, ResolveError},
};
use toml_edit::DocumentMut;

use crate::{
    build::{self, Built},
    builtin, continuation,
    extension::Extension,
    files::Files,
    format::{
        At, ProblemKind, Reporter, SceneError, SourceOrigin, SourceSpan, Sources, TreeTable,
        suggest, tree,
    },
    kept::{Kept, MeshSource},
    library, read,
    settings::{ContactSettings, FailsafePolicy, OutputSettings, OverlapPolicy, TimeSettings},
    variant::{self, Variants},
};

/// Source of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SceneSource {
    /// A file.
    File(PathBuf),
    /// A built-in scene, by its name.
    Builtin(String),
    /// Text, with a name for messages.
    Text {
        /// Its name.
        name: String,
        /// The scene.
        text: String,
    },
}

/// Options of loading a scene.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// The folder that mesh files in the scene are relative to and may not leave. By default the
    /// folder of the scene's file; text and built-in scenes have none.
    pub base_dir: Option<PathBuf>,
    /// Further folders that mesh files in the scene may lie in; paths to them may be absolute or begin
    /// with `..`.
    pub allowed: Vec<PathBuf>,
    /// The folder that mesh files in overrides are relative to; by default the current one.
    pub cwd: Option<PathBuf>,
    /// Limits on the size of a scene.
    pub limits: SceneLimits,
    /// The scene's variant to load; the scene as it is by default.
    pub variant: Option<String>,
    /// Changes, each `KEY=VALUE`, applied in order, after the variant.
    pub overrides: Vec<String>,
    /// A method to use instead of the scene's.
    pub method: Option<String>,
    /// The methods that a scene can name; the built-in ones by default.
    pub methods: Registry,
    /// Policy for initial overlap that replaces the scene's.
    pub overlap: Option<OverlapPolicy>,
    /// Meshes in memory, by the path that the scene names them by (`mesh = "memory:NAME"`).
    pub meshes: Vec<(String, MeshFile)>,
    /// Changes of the model that a scene cannot express.
    pub extensions: Vec<Extension>,
}

/// Limits on the size of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SceneLimits {
    /// Most nodes of all bodies together.
    pub max_nodes: u64,
    /// Most bytes of a mesh file.
    pub max_mesh_bytes: u64,
}

impl Default for SceneLimits {
    /// Twenty million nodes fill a large workstation.
    fn default() -> Self {
        Self {
            max_nodes: 20_000_000,
            max_mesh_bytes: MeshLimits::default().max_bytes,
        }
    }
}

/// A loaded scene.
#[derive(Debug)]
pub struct Scene {
    /// The constant model.
    pub model: Model,
    /// The first state.
    pub state: State,
    /// All the rest.
    pub plan: RunPlan,
}

/// Settings of a scene other than the model and its initial state.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// The scene's name: given, or from the file's.
    pub name: String,
    /// A sentence about it; may be empty.
    pub description: String,
    /// The variant that was loaded, if one was.
    pub variant: Option<String>,
    /// The scene as one canonical text with all changes of the command line. It is itself a scene,
    /// which gives the same run in a folder that has the mesh files at their kept paths.
    pub text: String,
    /// The mesh files of the scene.
    pub meshes: Vec<MeshSource>,
    /// The method and its parameters.
    pub method: Box<dyn MethodConfig>,
    /// Steps and frames.
    pub time: TimeSettings,
    /// Settings of contact detection.
    pub contact: ContactSettings,
    /// Friction between every two materials.
    pub friction: FrictionTable,
    /// Rules by which the meshes of shells change.
    pub adaptations: Adaptations,
    /// Recorded quantities.
    pub probes: Vec<Probe>,
    /// Conditions that must hold.
    pub checks: Vec<Check>,
    /// Output settings.
    pub output: OutputSettings,
    /// A fingerprint of all that decides the motion, meshes and materials included. Name,
    /// description, duration, frames and output are left out, so that a run may be continued.
    pub hash: u64,
}

impl Scene {
    /// Initial overlaps: crossings first, then pairs closer than the contact thickness. Empty if
    /// bodies do not collide.
    pub fn overlaps(&self) -> Result<Vec<Overlapping>, DetectError> {
        let rules = self.contact_rules();
        rules.map_or_else(
            || Ok(Vec::new()),
            |r| overlaps(&self.model, &self.state, &r),
        )
    }

    /// Contact rules; none if bodies do not collide.
    pub fn contact_rules(&self) -> Option<ContactRules> {
        let RunPlan {
            contact, friction, ..
        } = &self.plan;
        contact
            .enabled
            .then(|| friction.rules(&self.model, contact.thickness))
    }

    /// The failsafe, if the scene has one.
    fn failsafe(&self) -> Option<Failsafe> {
        let rules = self.contact_rules()?;
        match self.plan.contact.failsafe {
            FailsafePolicy::None => None,
            FailsafePolicy::Contours => Some(Failsafe::new(rules)),
            FailsafePolicy::ImpactZones => Some(Failsafe {
                impact_zones: true,
                ..Failsafe::new(rules)
            }),
        }
    }

    /// Puts the simulation together.
    pub fn simulation(self) -> Result<(Simulation, RunPlan), SceneError> {
        let failsafe = self.failsafe();
        let Self { model, state, plan } = self;
        let thickness = plan.contact.thickness;
        let method = plan.method.build(plan.friction.rules(&model, thickness));
        let simulation = Simulation::new(model, state, method, plan.time.step);
        let mut simulation = simulation.map_err(|refused| {
            SceneError::new(
                ProblemKind::Unsupported,
                refused.to_string(),
                refused.remedy(),
            )
        })?;
        let adapter = plan
            .adaptations
            .adapter(plan.contact.enabled.then_some(thickness));
        if let Some(failsafe) = failsafe {
            simulation.separate_by(failsafe);
        }
        if let Some(adapter) = adapter {
            simulation.adapt_by(adapter);
        }
        Ok((simulation, plan))
    }
}

impl SceneSource {
    /// The scene that the argument of a command names: a file, or a built-in scene. Anything
    /// with a separator or an extension is a file.
    pub fn from_argument(argument: &str) -> Self {
        let path = Path::new(argument);
        let word = path.extension().is_none() && path.components().count() == 1;
        let is_name = (word || builtin::get(argument).is_some()) && !path.is_file();
        if is_name {
            Self::Builtin(argument.to_owned())
        } else {
            Self::File(path.to_path_buf())
        }
    }
}

/// More text than anyone writes by hand.
const MOST_BYTES: u64 = 16 << 20;

/// Loads a scene.
pub fn load(source: &SceneSource, options: &LoadOptions) -> Result<Scene, SceneError> {
    let text = Text::read(source)?;
    let mut sources = Sources::default();
    sources.add(SourceOrigin::Document, &text.shown, &text.text);
    let library_source = sources.add(SourceOrigin::Library, "materials library", library::TEXT);
    let first = library_source + 1;
    for text in &options.overrides {
        sources.add(SourceOrigin::Argument, "--set", text);
    }
    let mut argument = |option: &str, name| {
        let number = sources.add(SourceOrigin::Argument, option, name);
        At::new(name, SourceSpan::new(number, 0..name.len()))
    };
    let method = options
        .method
        .as_deref()
        .map(|name| argument("--method", name));
    let variant = options
        .variant
        .as_deref()
        .map(|name| argument("--variant", name));
    let reporter = Reporter::new(sources);

    let parsed = tree::parse(&text.text, 0, &reporter);
    let library = tree::parse(library::TEXT, library_source, &reporter);
    let (mut root, library) = reporter.given(parsed.zip(library))?;
    // The two parsers are of one make and should agree on what TOML is.
    let document: Option<DocumentMut> = match text.text.parse() {
        Ok(document) => Some(document),
        Err(error) => tree::syntax_at(error.span(), error.message(), &text.text, 0, &reporter),
    };
    let document = reporter.given(document)?;
    let variants = Variants::take(&mut root, &reporter);
    let unchanged = root.clone();
    if let Some(name) = variant {
        let _ = variants.apply(name, &mut root, &document, &reporter);
    }
    for (i, text) in options.overrides.iter().enumerate() {
        variant::change(text, first + i as u32, &mut root, &reporter);
    }
    reporter.verdict()?;

    let read = read::document(&reporter, &root, &library, method, &options.methods);
    let mut read = reporter.given(read)?;
    check_variants(
        &variants, &unchanged, &document, &library, options, &reporter,
    );
    reporter.verdict()?;
    if let Some(overlap) = options.overlap {
        read.contact.overlap = overlap;
    }

    let files = Files::new(options, text.folder.as_deref());
    let method = options.method.as_deref();
    let default = options.methods.default_for(read.contact.enabled);
    let kept = Kept::new(&root, method, default, &reporter.sources);
    let mut fingerprint = continuation::document(&kept.root);
    fingerprint.text(read.method.value.name());
    let built = build::build(&reporter, &read, &files, options, &mut fingerprint);
    let built = reporter.given(built)?;

    let Built { model, state, .. } = &built;
    if let Err(refused) = supported(&read, model, &options.methods) {
        let (message, help) = (refused.to_string(), Some(refused.remedy()));
        reporter.fail::<()>(ProblemKind::Unsupported, culprit(&read), message, help);
    }
    let per_step = |b: &Body| b.kind.per_step().is_some();
    if read.contact.failsafe != FailsafePolicy::None && model.bodies.iter().any(per_step) {
        let message = "`contact.failsafe` does not support granular bodies";
        let help = "remove it: points do not cross surfaces";
        reporter.fail::<()>(ProblemKind::Unsupported, culprit(&read), message, help);
    }
    if read.contact.enabled && read.contact.overlap == OverlapPolicy::Refuse {
        refuse_overlap(&reporter, &read, model, state);
    }
    reporter.verdict()?;
    let meshes = files.sources(&kept);
    let name = read.root.name.unwrap_or(text.stem);
    let plan = RunPlan {
        text: kept.text(&name),
        name,
        description: read.root.description.unwrap_or_default(),
        meshes,
        variant: options.variant.clone(),
        method: read.method.value,
        time: read.root.time,
        contact: read.contact,
        friction: read.friction,
        adaptations: built.adaptations,
        probes: built.probes,
        checks: read.checks,
        output: read.root.output.unwrap_or_default(),
        hash: fingerprint.finish(),
    };
    Ok(Scene {
        model: built.model,
        state: built.state,
        plan,
    })
}

/// Whether the scene's method can run it. A refusal names the methods that can.
fn supported(read: &read::Document, model: &Model, methods: &Registry) -> Result<(), Unsupported> {
    let rules = read.rules(model);
    let method = read.method.value.build(rules.clone());
    method.needs(model).map_err(|refused| {
        let able = methods.able(&needs(model, Some(&rules)));
        refused.or_choose(&able)
    })
}

/// A variant of a scene.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantInfo {
    /// Its name, as `--variant` takes it.
    pub name: String,
    /// Its `description`; empty if it has none of its own.
    pub description: String,
}

/// The variants of a scene, in the order of the file.
pub fn variants(source: &SceneSource) -> Result<Vec<VariantInfo>, SceneError> {
    let text = Text::read(source)?;
    let mut sources = Sources::default();
    sources.add(SourceOrigin::Document, &text.shown, &text.text);
    let reporter = Reporter::new(sources);
    let mut root = reporter.given(tree::parse(&text.text, 0, &reporter))?;
    let variants = Variants::take(&mut root, &reporter);
    reporter.verdict()?;
    Ok(variants.infos().collect())
}

/// Reads every variant of a scene, so that a mistake in one is reported whichever is loaded. A
/// scene that needs overrides to be read at all says nothing about its variants.
fn check_variants(
    variants: &Variants,
    unchanged: &TreeTable,
    document: &DocumentMut,
    library: &TreeTable,
    options: &LoadOptions,
    reporter: &Reporter,
) {
    let scratch = Reporter::new(reporter.sources.clone());
    read::document(&scratch, unchanged, library, None, &options.methods);
    if !scratch.clean() {
        return;
    }
    for name in variants.names() {
        let scratch = Reporter::new(reporter.sources.clone());
        let mut root = unchanged.clone();
        let at = At::new(name, SourceSpan::new(0, 0..0));
        let _ = variants.apply(at, &mut root, document, &scratch);
        if scratch.clean() {
            read::document(&scratch, &root, library, None, &options.methods);
        }
        reporter.adopt(scratch, &format!("in variant `{name}`: "));
    }
}

/// Reports what overlaps at the start, at the first body concerned.
fn refuse_overlap(reporter: &Reporter, read: &read::Document, model: &Model, state: &State) {
    let found = overlaps(model, state, &read.rules(model));
    let found = found.map_err(|error| format!("contact cannot be searched for: {error}"));
    let Some(found) = reporter.ok(ProblemKind::Build, culprit(read), found) else {
        return;
    };
    // What is merely close is held apart by contact.
    let crossing: Vec<_> = found.iter().filter(|o| o.overlaps).collect();
    let Some(first) = crossing.first() else {
        return;
    };
    let place = read.place_of(&first.first.name);
    let place = place.unwrap_or_else(|| culprit(read));
    let more = match crossing.len() {
        1 => String::new(),
        n => format!(", and {} more pairs overlap", n - 1),
    };
    let message = format!("{first} at the start{more}");
    let help = "move them apart, let `contact.overlap = \"resolve\"` do it, or set it to \"ignore\" to start all the same";
    reporter.fail::<()>(ProblemKind::Overlap, place, message, help);
}

/// Moves what overlaps at the start apart.
pub(crate) fn resolve_overlap(
    reporter: &Reporter,
    read: &read::Document,
    model: &Model,
    state: &mut State,
) {
    let config = resolve::Config {
        h: read.root.time.step,
        ..resolve::Config::default()
    };
    if let Err(error) = resolve::resolve(model, state, &read.rules(model), &config) {
        let place = match &error {
            ResolveError::Held(o)
            | ResolveError::Stuck { first: o, .. }
            | ResolveError::Points(o) => read.place_of(&o.first.name),
            _ => None,
        };
        let place = place.unwrap_or_else(|| culprit(read));
        let help = "move them apart in the scene; `stiction doctor` lists all overlaps";
        let message = error.to_string();
        reporter.fail::<()>(ProblemKind::Overlap, place, message, help);
    }
}

/// Span to underline if the method does not support the scene: its name if it was given, or else the
/// first contact pair.
fn culprit(read: &read::Document) -> SourceSpan {
    let own = read.method.place;
    match read.root.obstacles.first() {
        Some(first) if own.end <= own.start => first.name.place,
        _ => own,
    }
}

/// A scene's text and what it is called.
struct Text {
    text: String,
    /// In messages.
    shown: String,
    stem: String,
    folder: Option<PathBuf>,
}

impl Text {
    fn read(source: &SceneSource) -> Result<Self, SceneError> {
        match source {
            SceneSource::Text { name, text } => Ok(Self {
                text: text.clone(),
                shown: name.clone(),
                stem: name.clone(),
                folder: None,
            }),
            SceneSource::Builtin(name) => {
                let scene = builtin::get(name).ok_or_else(|| {
                    let names = builtin::list().iter().map(|s| s.name);
                    let help = suggest::help(name, "built-in scenes", names);
                    let message =
                        format!("there is no built-in scene `{name}`, and no file of that name");
                    SceneError::new(ProblemKind::UnknownName, message, help)
                })?;
                Ok(Self {
                    text: scene.text.to_owned(),
                    shown: format!("built-in scene {name}"),
                    // Of `validation/wedge`, the run is called `wedge`.
                    stem: name.rsplit('/').next().unwrap_or(name).to_owned(),
                    folder: None,
                })
            }
            SceneSource::File(path) => Self::file(path),
        }
    }

    fn file(path: &Path) -> Result<Self, SceneError> {
        let refuse = |why: String| {
            let message = format!("the scene `{}` cannot be read: {why}", path.display());
            let help = "check the path; `stiction scenes` lists the built-in scenes";
            SceneError::new(ProblemKind::Read, message, help)
        };
        let told = |error: std::io::Error| refuse(error.to_string());
        // Opening a pipe would wait for its writer.
        if !std::fs::metadata(path).map_err(told)?.is_file() {
            return Err(refuse("it is not a file".to_owned()));
        }
        let file = std::fs::File::open(path).map_err(told)?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(told)?;
        if bytes.len() as u64 > MOST_BYTES {
            let most = MOST_BYTES >> 20;
            return Err(refuse(format!("it is larger than {most} MiB")));
        }
        let text = String::from_utf8(bytes).map_err(|e| {
            let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
            let line = 1 + before.iter().filter(|b| **b == b'\n').count();
            refuse(format!("line {line} is not UTF-8 text"))
        })?;
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
        let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned());
        Ok(Self {
            text,
            shown: path.display().to_string(),
            stem: stem.unwrap_or_else(|| "scene".to_owned()),
            folder: Some(parent.unwrap_or(Path::new(".")).to_path_buf()),
        })
    }
}
