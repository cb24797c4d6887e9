//! From plans to a model, its first state and what is measured on it.

mod finite;
mod garment;
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
use stiction_format::fingerprint::Fingerprint;
use stiction_geometry::{
    EmbeddingConfig, EmbeddingError, LevelSet, Selection, TriMesh, fill_candidates,
    remesh::{FieldConfig, RemeshConfig, SizeLimits},
};
use stiction_math::{Quat, Vec2, Vec3};
use stiction_meshio::VertexGroup;
use stiction_sim::{
    adapt::{Adaptations, RefineAt, RemeshRule},
    probe::Probe,
};

use crate::{
    LoadOptions,
    files::Files,
    format::{At, NOWHERE, ProblemKind, Reporter, SourceSpan},
    read::{
        Document,
        adapt::Adapt,
        body::{Balls, BodyMaterial, BodyPlan},
        motion::OverTime,
        obstacle::{ObstacleGeometry, ObstaclePlan},
        pin::{Attachment, Filter, Filters, Pin},
        shape::Mesh,
    },
    settings::OverlapPolicy,
};
use geometry::Budget;
use nodes::Nodes;

/// Result of building a scene.
pub(crate) struct Built {
    pub model: Model,
    pub state: State,
    pub probes: Vec<Probe>,
    pub adaptations: Adaptations,
}

/// An empty world with the scene's gravity and air.
fn builder(document: &Document) -> Builder {
    let root = &document.root;
    let mut builder = match &root.gravity {
        None => Builder::new(Vec3::new(0.0, 0.0, -9.81), root.air),
        Some(OverTime::Constant(gravity)) => Builder::new(*gravity, root.air),
        Some(OverTime::Changing(schedule)) => {
            let mut builder = Builder::new(Vec3::zeros(), root.air);
            builder.gravity_over_time(schedule.clone());
            builder
        }
    };
    builder.contact(document.contact.enabled);
    builder
}

/// Builds everything. `None` only if something was reported.
pub(crate) fn build(
    reporter: &Reporter,
    document: &Document,
    files: &Files<'_>,
    options: &LoadOptions,
    fingerprint: &mut Fingerprint,
) -> Option<Built> {
    finite::check(reporter, document);
    let mut scene = Assembly {
        reporter,
        files,
        fingerprint,
        budget: Budget::new(&options.limits),
        builder: builder(document),
        groups: Vec::new(),
        texture: None,
        pinned: BTreeMap::new(),
        reach: document.contact.thickness + largest_particle(document),
    };
    let root = &document.root;
    scene.count_shapes(&root.bodies)?;
    for plan in &root.bodies {
        scene.fingerprint.table(&plan.material.table, &|_| false);
        scene.body(plan);
    }
    for plan in &root.obstacles {
        scene.obstacle(plan);
    }
    // Pins, springs and probes need the bodies they name.
    if !reporter.clean() {
        return None;
    }
    // First, as probes refer to attachments by their numbers.
    for plan in &root.attachments {
        scene.attach(plan);
    }
    for plan in &root.pins {
        scene.pin(plan);
    }
    for plan in &root.seams {
        scene.sew(plan);
    }
    for At { value: plan, place } in &root.volumes {
        let name = &plan.name.value;
        let builder = &mut scene.builder;
        let made = builder.volume(name, plan.body, plan.region, plan.law, plan.inflation);
        reporter.ok(ProblemKind::Build, *place, made);
    }
    // After the springs of the scene, which probes refer to by their numbers.
    let mut first = 0;
    for plan in &root.bodies {
        if let Some((ground, rooting)) = &plan.rooted {
            let rooted = scene.builder.root(first, ground.value.0, rooting);
            reporter.ok(ProblemKind::Build, ground.place, rooted);
        }
        first += plan.copies() as usize;
    }
    let mut probes: Vec<_> = root.probes.iter().filter_map(|p| scene.probe(p)).collect();
    if !reporter.clean() {
        return None;
    }
    let Assembly {
        mut builder,
        mut budget,
        ..
    } = scene;
    let mut extensions = options.extensions.iter();
    let extended = extensions.try_for_each(|extension| extension.apply(&mut builder));
    let (model, mut state) = match extended.and_then(|()| builder.finish()) {
        Ok(built) => built,
        Err(error) => {
            let place = error.body().and_then(|body| document.place_of(body));
            let place = place.unwrap_or(NOWHERE);
            return reporter.fail(ProblemKind::Build, place, error.to_string(), None);
        }
    };
    // Sizes and densities near the ends of the number range pass every single check.
    for body in &model.bodies {
        if !body.total_mass().is_finite() || state.first_non_finite().is_some() {
            let message = format!("body `{}`: its mass or a position is not finite", body.name);
            let place = document.place_of(&body.name).unwrap_or(NOWHERE);
            return reporter.fail(ProblemKind::Build, place, message, None);
        }
    }
    let mut adaptations = Adaptations::default();
    for plan in &root.adaptations {
        adaptation(reporter, plan, &model, &mut budget, &mut adaptations);
    }
    if !reporter.clean() {
        return None;
    }
    // Before probes store initial positions.
    if document.contact.enabled && document.contact.overlap == OverlapPolicy::Resolve {
        crate::load::resolve_overlap(reporter, document, &model, &mut state);
    }
    probes.iter_mut().for_each(|p| p.begin(&model, &state));
    Some(Built {
        probes,
        model,
        state,
        adaptations,
    })
}

/// Reads the plan of one body. All its meshes must be within the limits.
fn adaptation(
    reporter: &Reporter,
    plan: &Adapt,
    model: &Model,
    budget: &mut Budget,
    all: &mut Adaptations,
) -> Option<()> {
    let body = plan.body.value.0;
    let own = &model.bodies[body];
    let allowed = match &plan.remesh {
        Some(_) => MeshChange::remeshable(model, body),
        None => MeshChange::refine(model, body).map(|_| ()),
    };
    reporter.ok(ProblemKind::Build, plan.body.place, allowed)?;
    let mut spend =
        |nodes, place| budget.spend(reporter, nodes, geometry::SHELL_BYTES, &own.name, place);
    if let Some(keys) = &plan.remesh {
        let At {
            value: most,
            place: limit,
        } = keys.most_nodes;
        spend(
            u128::from(most).saturating_sub(own.node_count() as u128),
            limit,
        )?;
        all.remeshed.push(RemeshRule {
            body,
            every: keys.every,
            field: FieldConfig {
                limits: SizeLimits {
                    smallest: keys.edges[0],
                    largest: keys.edges[1],
                    aspect: keys.aspect,
                },
                angle: keys.angle.to_radians(),
                velocity: keys.velocity,
                wave: keys.wave,
                gradation: keys.gradation,
            },
            config: RemeshConfig {
                most_vertices: most as usize,
                ..RemeshConfig::default()
            },
            proximity: keys.proximity,
        });
        return Some(());
    }
    let times = plan.times.as_ref()?;
    let mesh = TriMesh {
        positions: own.rest().to_vec(),
        triangles: own.surface.triangles.clone(),
    };
    let (mut edges, mut triangles) = (mesh.edges().len() as u128, mesh.triangles.len() as u128);
    for _ in &times.value {
        // A node on every edge.
        spend(edges, times.place)?;
        edges = edges
            .saturating_mul(2)
            .saturating_add(triangles.saturating_mul(3));
        triangles = triangles.saturating_mul(4);
    }
    all.refined.push(RefineAt {
        body,
        times: times.value.clone(),
    });
    Some(())
}

/// The largest radius of particles and rods [m]: the distance field of obstacles must reach that far.
fn largest_particle(document: &Document) -> f64 {
    let radius = |b: &BodyPlan| match b.material_model {
        BodyMaterial::Particles(Balls { radius, .. }) => radius,
        BodyMaterial::Granular(granular, _) => granular.cell,
        BodyMaterial::Rods(material, _) => material.radii[0].max(material.radii[1]),
        _ => 0.0,
    };
    document.root.bodies.iter().map(radius).fold(0.0, f64::max)
}

/// The scene while it is put together.
struct Assembly<'a> {
    reporter: &'a Reporter,
    files: &'a Files<'a>,
    fingerprint: &'a mut Fingerprint,
    budget: Budget,
    builder: Builder,
    /// Named vertex sets of each body.
    groups: Vec<Vec<VertexGroup>>,
    /// Texture coordinates of the mesh that was read last.
    texture: Option<Vec<[Vec2; 3]>>,
    /// Which pin holds a node of a body.
    pinned: BTreeMap<(usize, u32), SourceSpan>,
    /// Distance to which the field of an obstacle must reach [m].
    reach: f64,
}

impl Assembly<'_> {
    fn body(&mut self, plan: &BodyPlan) -> Option<()> {
        let (mesh, groups, place) = self.mesh(plan)?;
        let (texture, pattern) = self.cut(plan, place)?;
        let step = plan.repeat.as_ref().map_or(Vec3::zeros(), |r| r.step);
        for (i, name) in plan.names().into_iter().enumerate() {
            let mut placement = plan.placement;
            placement.pose.translation += step * i as f64;
            let mesh = geometry::placed(&mesh, &placement);
            let mesh = mesh.map_err(|error| format!("body `{}`: {error}", plan.name.value));
            let mesh = self.reporter.ok(ProblemKind::Value, place, mesh)?;
            let spec = BodySpec {
                name,
                material: plan.material.name.clone(),
                texture: texture.clone(),
                pattern: pattern.clone(),
                ..plan.spec.clone()
            };
            if let Err(error) = self.add(plan, spec, mesh, &groups, place)? {
                let at = match error {
                    BuildError::Duplicate { .. } => plan.name.place,
                    _ => place,
                };
                let help = error.remedy().unwrap_or_default();
                let message = error.to_string();
                return self.reporter.fail(ProblemKind::Build, at, message, help);
            }
            self.groups.push(groups.clone());
        }
        Some(())
    }

    fn add(
        &mut self,
        plan: &BodyPlan,
        spec: BodySpec,
        mesh: Mesh,
        groups: &[VertexGroup],
        place: SourceSpan,
    ) -> Option<Result<usize, BuildError>> {
        let builder = &mut self.builder;
        Some(match (&plan.material_model, mesh) {
            (BodyMaterial::Shell(material), Mesh::Surface(mesh)) => {
                let (materials, of) = nodes::patches(self.reporter, plan, material, &mesh, groups)?;
                builder.patched_shell(spec, mesh, &materials, &of)
            }
            (BodyMaterial::Solid(material), Mesh::Solid(mesh)) => {
                builder.solid(spec, mesh, material)
            }
            (BodyMaterial::Rigid(density, damping), Mesh::Surface(mesh)) => {
                builder.rigid(spec, &mesh, *density, *damping)
            }
            (BodyMaterial::Embedded(material, cell), Mesh::Surface(mesh)) => {
                let (config, name) = (EmbeddingConfig::new(cell.value), &plan.name.value);
                let checked = |error: EmbeddingError| {
                    let at = match error {
                        EmbeddingError::CellSize(_) | EmbeddingError::TooLarge { .. } => cell.place,
                        _ => place,
                    };
                    let message = format!("body `{name}`: {error}");
                    self.reporter
                        .fail::<()>(ProblemKind::Build, at, message, None);
                };
                let nodes = config.node_count_estimate(&mesh).map_err(checked).ok()?;
                let (nodes, bytes) = (u128::from(nodes), geometry::SOLID_BYTES);
                self.budget
                    .spend(self.reporter, nodes, bytes, name, cell.place)?;
                let embedding = config.build(&mesh).map_err(checked).ok()?;
                builder.embedded(spec, &mesh, embedding, material)
            }
            (BodyMaterial::Particles(balls), Mesh::Surface(mesh)) => builder.particles(
                spec,
                mesh.positions,
                balls.radius,
                balls.density,
                balls.damping,
            ),
            (BodyMaterial::Granular(granular, cell), Mesh::Surface(mesh)) => {
                let density = f64::from(granular.per_cell) / granular.cell.powi(3);
                let points = fill_candidates(&mesh, density).min(1e18) as u128;
                let (bytes, name) = (geometry::POINT_BYTES, &plan.name.value);
                self.budget
                    .spend(self.reporter, points, bytes, name, *cell)?;
                builder.granular(spec, &mesh, granular)
            }
            (BodyMaterial::Frames(material), Mesh::Plant(plant)) => {
                builder.frames(spec, &plant, material)
            }
            (BodyMaterial::Rods(material, director), Mesh::Strands(strands)) => {
                builder.rods(spec, strands, material, director)
            }
            // A body's mesh is of its own kind.
            _ => Err(BuildError::Empty { body: spec.name }),
        })
    }

    fn obstacle(&mut self, plan: &ObstaclePlan) -> Option<()> {
        let shape = self.obstacle_shape(plan)?;
        self.builder.obstacle(Obstacle {
            name: plan.name.value.clone(),
            material: plan.material.value.clone(),
            shape,
            placement: plan.placement.pose,
            motion: plan.motion.clone(),
        });
        Some(())
    }

    fn obstacle_shape(&mut self, plan: &ObstaclePlan) -> Option<ObstacleShape> {
        let name = &plan.name.value;
        let what = format!("obstacle `{name}`");
        let mesh = match (&plan.shape, &plan.animation) {
            (ObstacleGeometry::Exact(shape), _) => return Some(ObstacleShape::Solid(*shape)),
            (ObstacleGeometry::File(path), Some(animation)) => {
                return self.animated(plan, animation, path);
            }
            (ObstacleGeometry::File(path), None) => {
                let (mut mesh, _) = self.surface_of_file(path, name, &what)?;
                mesh.transform(&Quat::identity(), &plan.placement.scale, &Vec3::zeros());
                let checked = mesh.check().map_err(|error| format!("{what}: {error}"));
                self.reporter.ok(ProblemKind::Value, path.place, checked)?;
                mesh
            }
            (ObstacleGeometry::Mesh(shape), _) => {
                let Mesh::Surface(mesh) = geometry::generated(self.reporter, shape, None)? else {
                    return None;
                };
                mesh
            }
        };
        let Some(cell) = &plan.cell else {
            return Some(ObstacleShape::Mesh(mesh));
        };
        // Fine within the reach of contact.
        let band = (3.0 * cell.value).max(2.0 * self.reach + cell.value);
        let set = LevelSet::new(&mesh, cell.value, band);
        let set = set.map_err(|error| format!("{what}: {error}"));
        let set = self.reporter.ok(ProblemKind::Mesh, cell.place, set)?;
        Some(ObstacleShape::LevelSet(mesh, Arc::new(set)))
    }

    fn pin(&mut self, plan: &At<Pin>) -> Option<()> {
        let At { value: plan, place } = plan;
        let index = plan.body.0;
        let body = &self.builder.model().bodies[index];
        let name = body.name.clone();
        let rigid = body.kind.as_rigid().is_some();
        let place = plan.select.as_ref().map_or(*place, |s| s.place);
        self.has_nodes(index, place)?;
        let nodes = match &plan.select {
            None if rigid => vec![0],
            Some(select) if !rigid => self.selected(index, select)?,
            Some(At { value, .. }) => match value.0[..] {
                [Filter::Region(Selection::All)] => vec![0],
                _ => {
                    let message =
                        format!("body `{name}` is rigid and can only be pinned as a whole");
                    return self.reporter.refuse(place, message, "remove `select`");
                }
            },
            None => {
                let message = format!("the pin of body `{name}` needs the key `select`");
                let help = "say which nodes are held, or `select = { all = true }`";
                let kind = ProblemKind::MissingKey;
                return self.reporter.fail(kind, place, message, help);
            }
        };
        for node in &nodes {
            if self.pinned.insert((index, *node), place).is_some() {
                let message = format!("body `{name}`, node {node}: pinned twice");
                let help = "let the selections of the pins not overlap";
                return self.reporter.refuse(place, message, help);
            }
        }
        let bodies = self.builder.model().bodies.len();
        let (builder, motion) = (&mut self.builder, plan.motion.as_ref());
        let pinned = match &plan.to {
            None => builder.pin(index, &nodes, motion.cloned()),
            Some(to) if to.value.0 >= bodies => {
                builder.pin_to_obstacle(index, &nodes, to.value.0 - bodies, motion)
            }
            Some(to) => {
                let Some(stiffness) = plan.stiffness else {
                    let message = "a pin to a body that can move needs `stiffness`";
                    let kind = ProblemKind::MissingKey;
                    return to.fail(self.reporter, kind, message, None);
                };
                return self.tie([index, to.value.0], &nodes, stiffness, place);
            }
        };
        self.reporter.ok(ProblemKind::Build, place, pinned)
    }

    /// The nodes of a deformable body that fulfil all conditions.
    fn selected(&self, body: usize, filters: &At<Filters>) -> Option<Vec<u32>> {
        let bodies = &self.builder.model().bodies;
        let (body, groups) = (&bodies[body], &self.groups[body]);
        let blocks = (0..body.node_count()).filter_map(|i| body.node_block(i));
        let positions: Vec<Vec3> = blocks.map(|b| self.builder.state().x[b]).collect();
        let nodes = Nodes {
            body: &body.name,
            positions: &positions,
            groups,
            rods: body.kind.as_rods().map(|rods| rods.starts()),
            boundary: &|| body.boundary_nodes(),
        };
        nodes.selected(self.reporter, filters)
    }

    fn attach(&mut self, plan: &Attachment) -> Option<()> {
        let (a, b) = (&plan.a, &plan.b);
        self.stencil(&a.value.anchor, a.place)?;
        self.stencil(&b.value.anchor, b.place)?;
        let (k, length, damping) = (plan.stiffness, plan.length, plan.damping);
        let builder = &mut self.builder;
        let spring = builder.attach(&a.value.anchor, &b.value.anchor, k, length, damping);
        let spring = self.reporter.ok(ProblemKind::Build, a.place, spring)?;
        // One of its points is of the world at most.
        if let Some(motion) = a.value.motion.as_ref().or(b.value.motion.as_ref()) {
            self.builder.move_attachment(spring, motion.clone());
        }
        Some(())
    }

    /// Reports a body whose nodes are made anew for every step.
    fn has_nodes(&self, body: usize, place: SourceSpan) -> Option<()> {
        let body = &self.builder.model().bodies[body];
        if body.kind.per_step().is_none() {
            return Some(());
        }
        let message = format!("body `{}` is granular and has no nodes", body.name);
        let help = "material points are held by contact alone";
        self.reporter.refuse(place, message, help)
    }

    /// The stencil of a point, or a report at `place`.
    fn stencil(&self, anchor: &Anchor, place: SourceSpan) -> Option<stiction_bodies::Stencil> {
        if let Anchor::Node { body, .. } | Anchor::Body { body, .. } = anchor {
            self.has_nodes(*body, place)?;
        }
        if let Anchor::Node { body, .. } = anchor {
            let body = &self.builder.model().bodies[*body];
            if body.kind.as_rigid().is_some() {
                let message = format!("body `{}` is rigid and has no nodes", body.name);
                let help = "give a point: `near = [x, y, z]`";
                return self.reporter.refuse(place, message, help);
            }
        }
        let stencil = self.builder.anchor(anchor);
        self.reporter.ok(ProblemKind::Value, place, stencil)
    }
}
