//! From plans to a model, its first state and what is measured on it.

mod finite;
mod geometry;
mod nodes;
mod probe;

use std::{collections::BTreeMap, sync::Arc};

use stiction_bodies::{
    Model, State,
    adapt::MeshChange,
    builder::{Anchor, BodySpec, BuildError, Builder},
    obstacle::{Obstacle, ObstacleShape},
};
use stiction_geometry::{EmbeddingConfig, EmbeddingError, LevelSet, Selection, TetMesh, TriMesh};
use stiction_math::Vec3;
use stiction_meshio::VertexGroup;
use stiction_sim::{adapt::RefineAt, probe::Probe};

use crate::{
    SceneLimits,
    canonical::Fingerprint,
    error::{ProblemKind, Reporter},
    extension::Extension,
    files::Files,
    read::{
        Document, Gravity,
        adapt::AdaptPlan,
        body::{BodyMaterial, BodyPlan, copies},
        obstacle::{ObstacleForm, ObstacleGeometry, ObstaclePlan},
        pin::{AttachmentPlan, Filter, PinPlan},
        volume::VolumePlan,
    },
    settings::OverlapPolicy,
    source::{At, SourceSpan},
};
use geometry::{Budget, Mesh};
use nodes::{Nodes, patches};

/// Result of building a scene.
pub(crate) struct Built {
    pub model: Model,
    pub state: State,
    pub probes: Vec<Probe>,
    pub adaptations: Vec<RefineAt>,
}

/// An empty world with the scene's gravity and air.
fn builder(document: &Document) -> Builder {
    match &document.gravity {
        Gravity::Constant(gravity) => Builder::new(*gravity, document.air),
        Gravity::Changing(schedule) => {
            let mut builder = Builder::new(Vec3::zeros(), document.air);
            builder.gravity_over_time(schedule.clone());
            builder
        }
    }
}

/// Builds everything. `None` only if something was reported.
pub(crate) fn build(
    reporter: &Reporter,
    document: &Document,
    files: &Files<'_>,
    limits: &SceneLimits,
    extensions: &[Extension],
    fingerprint: &mut Fingerprint,
) -> Option<Built> {
    finite::check(reporter, document);
    let mut budget = Budget::new(limits);
    budget.shapes(reporter, document)?;
    let mut scene = Assembly {
        reporter,
        builder: builder(document),
        groups: Vec::new(),
        pinned: BTreeMap::new(),
        reach: document.contact.thickness + largest_particle(document),
    };
    scene.builder.contact(document.contact.enabled);
    for plan in &document.bodies {
        fingerprint.table(&plan.material_table, &|_| false);
        scene.body(plan, files, &mut budget, fingerprint);
    }
    for plan in &document.obstacles {
        scene.obstacle(plan, files, &mut budget, fingerprint);
    }
    // Pins, springs and probes need the bodies they name.
    if !reporter.clean() {
        return None;
    }
    for plan in &document.pins {
        scene.pin(plan);
    }
    for plan in &document.attachments {
        scene.attach(plan);
    }
    for plan in &document.volumes {
        scene.volume(plan);
    }
    // After the springs of the scene, which probes refer to by their numbers.
    let mut first = 0;
    for plan in &document.bodies {
        scene.root(first, plan);
        first += plan.repeat.map_or(1, |r| r.count as usize);
    }
    let drafts: Vec<_> = document
        .probes
        .iter()
        .filter_map(|p| scene.draft_probe(p))
        .collect();
    if !reporter.clean() {
        return None;
    }
    let mut builder = scene.builder;
    for extension in extensions {
        if let Err(error) = extension.apply(&mut builder) {
            let place = place_of(document, body_of(&error).unwrap_or_default());
            return reporter.fail(ProblemKind::Build, place, error.to_string(), None);
        }
    }
    let (model, mut state) = match builder.finish() {
        Ok(built) => built,
        Err(error) => {
            let place = place_of(document, body_of(&error).unwrap_or_default());
            return reporter.fail(ProblemKind::Build, place, error.to_string(), None);
        }
    };
    // Sizes and densities near the ends of the number range pass every single check.
    for body in &model.bodies {
        if !body.total_mass().is_finite() || state.first_non_finite().is_some() {
            let message = format!("body `{}`: its mass or a position is not finite", body.name);
            return reporter.fail(
                ProblemKind::Build,
                place_of(document, &body.name),
                message,
                None,
            );
        }
    }
    let refined = |plan| refinements(reporter, plan, &model, &mut budget);
    let adaptations: Vec<RefineAt> = document.adaptations.iter().filter_map(refined).collect();
    if !reporter.clean() {
        return None;
    }
    // Before probes store initial positions.
    if document.contact.enabled && document.contact.overlap == OverlapPolicy::Resolve {
        crate::load::resolve_overlap(reporter, document, &model, &mut state);
    }
    let probes = drafts
        .into_iter()
        .map(|d| d.finish(&model, &state))
        .collect();
    Some(Built {
        model,
        state,
        probes,
        adaptations,
    })
}

/// When a body is refined. All its meshes must be within the limits.
fn refinements(
    reporter: &Reporter,
    plan: &AdaptPlan,
    model: &Model,
    budget: &mut Budget,
) -> Option<RefineAt> {
    let body = plan.body.value;
    if let Err(error) = MeshChange::refine(model, body) {
        return plan
            .body
            .fail(reporter, ProblemKind::Build, error.to_string(), None);
    }
    let own = &model.bodies[body];
    let mesh = TriMesh {
        positions: own.rest().to_vec(),
        triangles: own.surface.triangles.clone(),
    };
    let (mut edges, mut triangles) = (mesh.edges().len() as u128, mesh.triangles.len() as u128);
    for _ in &plan.times.value {
        budget.refined(reporter, edges, &own.name, plan.times.place)?;
        edges = edges
            .saturating_mul(2)
            .saturating_add(triangles.saturating_mul(3));
        triangles = triangles.saturating_mul(4);
    }
    Some(RefineAt {
        body,
        times: plan.times.value.clone(),
    })
}

/// The largest radius of particles and rods [m]: the distance field of obstacles must reach that far.
fn largest_particle(document: &Document) -> f64 {
    let radius = |b: &BodyPlan| match b.material_model {
        BodyMaterial::Particles { radius, .. } => radius,
        BodyMaterial::Rods(material, _) => material.radii[0].max(material.radii[1]),
        _ => 0.0,
    };
    document.bodies.iter().map(radius).fold(0.0, f64::max)
}

/// Span of the name of the body called `name`, or of the body it is a copy of.
fn place_of(document: &Document, name: &str) -> SourceSpan {
    let own = |b: &&BodyPlan| {
        copies(&b.name.value, b.repeat.map(|r| r.count))
            .iter()
            .any(|n| n == name)
    };
    document
        .bodies
        .iter()
        .find(own)
        .map_or(SourceSpan::new(0, 0..0), |b| b.place)
}

/// The scene while it is put together.
struct Assembly<'a> {
    reporter: &'a Reporter,
    builder: Builder,
    /// Named vertex sets of each body.
    groups: Vec<Vec<VertexGroup>>,
    /// Which pin holds a node of a body.
    pinned: BTreeMap<(usize, u32), SourceSpan>,
    /// Distance to which the field of an obstacle must reach [m].
    reach: f64,
}

impl Assembly<'_> {
    fn body(
        &mut self,
        plan: &BodyPlan,
        files: &Files<'_>,
        budget: &mut Budget,
        fingerprint: &mut Fingerprint,
    ) -> Option<()> {
        let reporter = self.reporter;
        let (mesh, groups, place) = geometry::mesh(
            reporter,
            plan,
            || self.ground(plan),
            files,
            budget,
            fingerprint,
        )?;
        let names = copies(&plan.name.value, plan.repeat.map(|r| r.count));
        for (i, name) in names.into_iter().enumerate() {
            let mut placement = plan.placement;
            if let Some(repeat) = plan.repeat {
                placement.pose.translation += repeat.step * i as f64;
            }
            let mesh = mesh.placed(reporter, &placement, place, &plan.name.value)?;
            let spec = BodySpec {
                name,
                material: plan.material.clone(),
                ..plan.spec.clone()
            };
            let built = self.add(plan, spec, mesh, &groups, place, budget)?;
            if let Err(error) = built {
                let at = if matches!(error, BuildError::Duplicate { .. }) {
                    plan.place
                } else {
                    place
                };
                return reporter.fail(ProblemKind::Build, at, error.to_string(), remedy(&error));
            }
            self.groups.push(groups.clone());
        }
        Some(())
    }

    /// The surface that hair grows on, where it starts.
    fn ground(&self, plan: &BodyPlan) -> TriMesh {
        let bodies = &self.builder.model().bodies;
        let body = plan.rooted.as_ref().and_then(|r| bodies.get(r.0.value));
        let (mut positions, mut triangles) = (Vec::new(), Vec::new());
        if let Some(body) = body {
            let state = self.builder.state();
            body.surface
                .positions(&state.x, &state.rotations, &mut positions);
            triangles.clone_from(&body.surface.triangles);
        }
        TriMesh {
            positions,
            triangles,
        }
    }

    /// Ties rods to the bodies in which they are rooted.
    fn root(&mut self, body: usize, plan: &BodyPlan) -> Option<()> {
        let Some((ground, rooting)) = &plan.rooted else {
            return Some(());
        };
        match self.builder.root(body, ground.value, rooting) {
            Ok(()) => Some(()),
            Err(error) => {
                self.reporter
                    .fail(ProblemKind::Build, ground.place, error.to_string(), None)
            }
        }
    }

    fn add(
        &mut self,
        plan: &BodyPlan,
        spec: BodySpec,
        mesh: Mesh,
        groups: &[VertexGroup],
        place: SourceSpan,
        budget: &mut Budget,
    ) -> Option<Result<usize, BuildError>> {
        let builder = &mut self.builder;
        Some(match (&plan.material_model, mesh) {
            (BodyMaterial::Shell(material), Mesh::Surface(mesh)) => {
                let (materials, of) = patches(self.reporter, plan, material, &mesh, groups)?;
                builder.patched_shell(spec, mesh, &materials, &of)
            }
            (BodyMaterial::Solid(material), Mesh::Solid(mesh)) => {
                builder.solid(spec, mesh, material)
            }
            (BodyMaterial::Rigid(density, damping), Mesh::Surface(mesh)) => {
                builder.rigid(spec, &mesh, *density, *damping)
            }
            (BodyMaterial::Embedded(material, cell), Mesh::Surface(mesh)) => {
                let name = &plan.name.value;
                let config = EmbeddingConfig::new(cell.value);
                let refuse = |error: EmbeddingError| {
                    let at = if matches!(
                        error,
                        EmbeddingError::CellSize(_) | EmbeddingError::TooLarge { .. }
                    ) {
                        cell.place
                    } else {
                        place
                    };
                    self.reporter.fail(
                        ProblemKind::Build,
                        at,
                        format!("body `{name}`: {error}"),
                        None,
                    )
                };
                match config.node_count_estimate(&mesh) {
                    Ok(nodes) => {
                        budget.lattice(self.reporter, u128::from(nodes), name, cell.place)?
                    }
                    Err(error) => return refuse(error),
                }
                match config.build(&mesh) {
                    Ok(embedding) => builder.embedded(spec, &mesh, embedding, material),
                    Err(error) => return refuse(error),
                }
            }
            (
                BodyMaterial::Particles {
                    radius,
                    density,
                    damping,
                },
                Mesh::Surface(mesh),
            ) => builder.particles(spec, mesh.positions, *radius, *density, *damping),
            (BodyMaterial::Frames(material), Mesh::Plant(plant)) => {
                builder.frames(spec, &plant, material)
            }
            (BodyMaterial::Rods(material, director), Mesh::Strands(strands)) => {
                builder.rods(spec, strands, material, director)
            }
            // `geometry::mesh` gives each its own kind.
            _ => Err(BuildError::Empty { body: spec.name }),
        })
    }

    fn obstacle(
        &mut self,
        plan: &ObstaclePlan,
        files: &Files<'_>,
        budget: &mut Budget,
        fingerprint: &mut Fingerprint,
    ) -> Option<()> {
        let shape = match &plan.shape {
            ObstacleGeometry::Shape(ObstacleForm::Exact(shape)) => ObstacleShape::Solid(*shape),
            ObstacleGeometry::Shape(ObstacleForm::Mesh(shape)) => {
                ObstacleShape::Mesh(geometry::obstacle_shape(self.reporter, shape)?)
            }
            ObstacleGeometry::File(path) => {
                let what = format!("obstacle `{}`", plan.name.value);
                let (surface, _) = geometry::surface_of_file(
                    self.reporter,
                    path,
                    files,
                    &what,
                    budget,
                    fingerprint,
                )?;
                let scaled = geometry::scaled(
                    self.reporter,
                    surface,
                    &plan.placement.scale,
                    path.place,
                    &what,
                )?;
                ObstacleShape::Mesh(scaled)
            }
        };
        let shape = match (shape, &plan.cell) {
            (ObstacleShape::Mesh(mesh), Some(cell)) => self.level_set(plan, mesh, cell)?,
            (shape, _) => shape,
        };
        self.builder.obstacle(Obstacle {
            name: plan.name.value.clone(),
            material: plan.material.clone(),
            shape,
            placement: plan.placement.pose,
            motion: plan.motion.clone(),
        });
        Some(())
    }

    /// Level set of a mesh; fine within the reach of contact.
    fn level_set(
        &self,
        plan: &ObstaclePlan,
        mesh: TriMesh,
        cell: &At<f64>,
    ) -> Option<ObstacleShape> {
        let band = (3.0 * cell.value).max(2.0 * self.reach + cell.value);
        match LevelSet::new(&mesh, cell.value, band) {
            Ok(set) => Some(ObstacleShape::LevelSet(mesh, Arc::new(set))),
            Err(error) => {
                let message = format!("obstacle `{}`: {error}", plan.name.value);
                self.reporter
                    .fail(ProblemKind::Mesh, cell.place, message, None)
            }
        }
    }

    fn pin(&mut self, plan: &PinPlan) -> Option<()> {
        let body = &self.builder.model().bodies[plan.body];
        let name = body.name.clone();
        let rigid = body.kind.as_rigid().is_some();
        let nodes = match &plan.select {
            None if rigid => vec![0],
            Some(select) if rigid => {
                if !matches!(select.value[..], [Filter::Region(Selection::All)]) {
                    let message =
                        format!("body `{name}` is rigid and can only be pinned as a whole");
                    return select.fail(
                        self.reporter,
                        ProblemKind::Value,
                        message,
                        Some("remove `select`".to_owned()),
                    );
                }
                vec![0]
            }
            None => {
                let message = format!("the pin of body `{name}` needs the key `select`");
                let help = "say which nodes are held, or `select = { all = true }`";
                return self.reporter.fail(
                    ProblemKind::MissingKey,
                    plan.place,
                    message,
                    Some(help.to_owned()),
                );
            }
            Some(select) => self.selected(plan.body, select)?,
        };
        let place = plan.select.as_ref().map_or(plan.place, |s| s.place);
        for node in &nodes {
            if self.pinned.insert((plan.body, *node), place).is_some() {
                let message = format!("body `{name}`, node {node}: pinned twice");
                let help = "let the selections of the pins not overlap";
                return self.reporter.fail(
                    ProblemKind::Value,
                    place,
                    message,
                    Some(help.to_owned()),
                );
            }
        }
        match self.builder.pin(plan.body, &nodes, plan.motion.clone()) {
            Ok(()) => Some(()),
            Err(error) => self
                .reporter
                .fail(ProblemKind::Build, place, error.to_string(), None),
        }
    }

    /// The nodes of a deformable body that fulfil all conditions.
    fn selected(&self, body: usize, filters: &At<Vec<Filter>>) -> Option<Vec<u32>> {
        let bodies = &self.builder.model().bodies;
        let (body, groups) = (&bodies[body], &self.groups[body]);
        let blocks = (0..body.node_count()).filter_map(|i| body.node_block(i));
        let positions: Vec<Vec3> = blocks.map(|b| self.builder.state().x[b]).collect();
        let nodes = Nodes {
            body: &body.name,
            positions: &positions,
            groups,
            rods: body.kind.as_rods().map(|rods| rods.starts()),
            boundary: &|| boundary(body, &positions),
        };
        nodes.selected(self.reporter, filters)
    }

    fn attach(&mut self, plan: &AttachmentPlan) -> Option<()> {
        self.stencil(&plan.a.value, plan.a.place)?;
        self.stencil(&plan.b.value, plan.b.place)?;
        match self.builder.attach(
            &plan.a.value,
            &plan.b.value,
            plan.stiffness,
            plan.length,
            plan.damping,
        ) {
            Ok(spring) => {
                if let Some(motion) = &plan.motion {
                    self.builder.move_attachment(spring, motion.clone());
                }
                Some(())
            }
            Err(error) => {
                self.reporter
                    .fail(ProblemKind::Build, plan.a.place, error.to_string(), None)
            }
        }
    }

    fn volume(&mut self, plan: &VolumePlan) -> Option<()> {
        let name = &plan.name.value;
        let made = self
            .builder
            .volume(name, plan.body, plan.region, plan.law, plan.inflation);
        match made {
            Ok(()) => Some(()),
            Err(error) => {
                self.reporter
                    .fail(ProblemKind::Build, plan.place, error.to_string(), None)
            }
        }
    }

    /// The stencil of a point, or a report at `place`.
    fn stencil(&self, anchor: &Anchor, place: SourceSpan) -> Option<stiction_bodies::Stencil> {
        if let Anchor::Node { body, .. } = anchor {
            let body = &self.builder.model().bodies[*body];
            if body.kind.as_rigid().is_some() {
                let message = format!("body `{}` is rigid and has no nodes", body.name);
                return self.reporter.fail(
                    ProblemKind::Value,
                    place,
                    message,
                    Some("give a point: `near = [x, y, z]`".to_owned()),
                );
            }
        }
        match self.builder.anchor(anchor) {
            Ok(stencil) => Some(stencil),
            Err(error) => self
                .reporter
                .fail(ProblemKind::Value, place, error.to_string(), None),
        }
    }
}

/// The nodes on the rim of a shell or on the surface of a solid.
fn boundary(body: &stiction_bodies::Body, positions: &[Vec3]) -> Vec<u32> {
    if body.is_frames() {
        // Its nodes are not vertices of anything.
        return Vec::new();
    }
    let positions = positions.to_vec();
    if body.tets.is_empty() {
        TriMesh {
            positions,
            triangles: body.surface.triangles.clone(),
        }
        .boundary_vertices()
    } else {
        TetMesh {
            positions,
            tets: body.tets.clone(),
        }
        .surface()
        .1
    }
}

fn body_of(error: &BuildError) -> Option<&str> {
    match error {
        BuildError::Material { body, .. }
        | BuildError::Frames { body, .. }
        | BuildError::Element { body, .. }
        | BuildError::Mass { body, .. }
        | BuildError::Massless { body, .. }
        | BuildError::Empty { body }
        | BuildError::Node { body, .. }
        | BuildError::PinnedTwice { body, .. } => Some(body),
        BuildError::Duplicate { name } => Some(name),
        _ => None,
    }
}

fn remedy(error: &BuildError) -> Option<String> {
    match error {
        BuildError::Element { .. } | BuildError::Mass { .. } => {
            Some("`stiction doctor` examines a mesh and lists all such elements".to_owned())
        }
        _ => None,
    }
}
