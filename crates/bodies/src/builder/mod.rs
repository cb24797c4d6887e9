//! Construction of a model and its initial state from meshes and materials.

pub(crate) mod draft;
mod error;
mod frames;
mod granular;
mod nearest;
mod pins;
mod rods;
mod root;
pub(crate) mod shells;
mod spec;

use std::{collections::HashSet, sync::Arc};

use stiction_geometry::{Embedding, MassProperties, TetMesh, TriMesh};
use stiction_math::{Quat, Vec3};

use crate::{
    attachment::{Attachment, Closing},
    drag::Air,
    elements::{ElementError, Elements},
    mass::Mass,
    material::{Damping, MassKind, MaterialError, ShellMaterial, SolidLaw, SolidMaterial},
    model::{Body, BodyKind, Deformable, Model, ShellSource},
    motion::Motion,
    obstacle::Obstacle,
    rigid::Rigid,
    schedule::Schedule,
    solid::{Corotated, FixedCorotated, Lame, NeoHookean, StableNeoHookean, Stvk, Tets},
    state::State,
    stencil::Stencil,
    surface::{Skin, Surface},
    term,
    volume::{Region, Volume, VolumeLaw},
};

use draft::{Draft, Spread, joined};
use nearest::nearest_point;
use shells::shell_draft;

pub use error::BuildError;
pub use granular::GranularSpec;
pub use root::Rooting;
pub use spec::{Anchor, BodySpec};

/// Collects bodies, pins, attachments and obstacles, and builds the model and its initial state.
#[derive(Default)]
pub struct Builder {
    model: Model,
    state: State,
    drafts: Vec<Draft>,
    /// Used for lookups only, never iterated, so that its order does not matter.
    names: HashSet<String>,
}

impl Builder {
    /// An empty world with the given uniform acceleration [m/s²] and air.
    pub fn new(gravity: Vec3, air: Option<Air>) -> Self {
        Self {
            model: Model {
                gravity,
                air,
                ..Model::default()
            },
            ..Self::default()
        }
    }

    /// Prescribes the uniform acceleration of all bodies [m/s²] over time.
    pub fn gravity_over_time(&mut self, schedule: impl Into<Schedule<Vec3>>) {
        let schedule = schedule.into();
        self.model.gravity = schedule.at(0.0);
        self.model.gravity_track = Some(schedule);
    }

    /// The model so far. Elastic terms are added by `finish`.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The initial state so far.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Enables or disables contact.
    pub fn contact(&mut self, contact: bool) {
        self.model.contact = contact;
    }

    /// Adds a shell whose rest shape is `mesh`; returns its index.
    pub fn shell(
        &mut self,
        spec: BodySpec,
        mesh: TriMesh,
        material: &ShellMaterial,
    ) -> Result<usize, BuildError> {
        let all = vec![0; mesh.triangles.len()];
        self.patched_shell(spec, mesh, std::slice::from_ref(material), &all)
    }

    /// Adds a shell of several materials: `of` has the material index of every triangle. Damping
    /// and rest angles are those of the first. Returns its index.
    pub fn patched_shell(
        &mut self,
        spec: BodySpec,
        mesh: TriMesh,
        materials: &[ShellMaterial],
        of: &[u32],
    ) -> Result<usize, BuildError> {
        let source = ShellSource {
            materials: materials.into(),
            patch: of.to_vec(),
            warp: spec.warp,
            mass: spec.mass,
            pattern: spec.pattern.clone(),
        };
        let draft = shell_draft(&spec.name, &source, &mesh.positions, &mesh.triangles)?;
        let damping = materials
            .first()
            .map_or_else(Damping::default, |m| m.damping);
        let first = self.model.blocks() as u32;
        let surface = Surface {
            segments: Vec::new(),
            skin: Skin::Nodes((first..first + mesh.positions.len() as u32).collect()),
            triangles: mesh.triangles,
        };
        let body = self.deformable(spec, draft, surface, Vec::new(), damping)?;
        if let BodyKind::Deformable(soft) = &mut self.model.bodies[body].kind {
            soft.source = Some(Arc::new(source));
        }
        Ok(body)
    }

    /// Adds a solid whose rest shape is `mesh`; returns its index.
    pub fn solid(
        &mut self,
        spec: BodySpec,
        mesh: TetMesh,
        material: &SolidMaterial,
    ) -> Result<usize, BuildError> {
        let first = self.model.blocks() as u32;
        let (skin, map) = mesh.surface();
        let surface = Surface {
            segments: Vec::new(),
            triangles: skin.triangles,
            skin: Skin::Nodes(map.into_iter().map(|i| first + i).collect()),
        };
        let weights = vec![1.0; mesh.tets.len()];
        self.tetrahedra(spec, mesh, &weights, surface, material)
    }

    /// Adds a solid that carries a closed surface embedded in a lattice [daviet2020, Sect. 7.2];
    /// returns its index.
    pub fn embedded(
        &mut self,
        spec: BodySpec,
        surface: &TriMesh,
        embedding: Embedding,
        material: &SolidMaterial,
    ) -> Result<usize, BuildError> {
        let first = self.model.blocks() as u32;
        let carried = embedding
            .vertices
            .iter()
            .map(|v| {
                (
                    embedding.lattice.tets[v.tet as usize].map(|i| first + i),
                    v.weights,
                )
            })
            .collect();
        let surface = Surface {
            segments: Vec::new(),
            triangles: surface.triangles.clone(),
            skin: Skin::Embedded(carried),
        };
        self.tetrahedra(
            spec,
            embedding.lattice,
            &embedding.fractions,
            surface,
            material,
        )
    }

    fn tetrahedra(
        &mut self,
        spec: BodySpec,
        mesh: TetMesh,
        weights: &[f64],
        surface: Surface,
        material: &SolidMaterial,
    ) -> Result<usize, BuildError> {
        material.validate().map_err(|source| BuildError::Material {
            body: spec.name.clone(),
            source,
        })?;
        let element = |source| BuildError::Element {
            body: spec.name.clone(),
            source,
        };
        let lame = Lame::new(material.young, material.poisson).map_err(element)?;
        let (p, t, w) = (&mesh.positions, &mesh.tets, Some(weights));
        let recipe = match material.law {
            SolidLaw::Corotated => Tets::new(Corotated { lame }, p, t, w).map(term::recipe),
            SolidLaw::FixedCorotated => {
                Tets::new(FixedCorotated { lame }, p, t, w).map(term::recipe)
            }
            SolidLaw::NeoHookean => Tets::new(NeoHookean { lame }, p, t, w).map(term::recipe),
            SolidLaw::StableNeoHookean => {
                Tets::new(StableNeoHookean::new(lame), p, t, w).map(term::recipe)
            }
            SolidLaw::StVk => Tets::new(Stvk { lame }, p, t, w).map(term::recipe),
        };
        let recipe = recipe.map_err(element)?;
        let masses = (0..mesh.tets.len())
            .map(|e| mesh.tet_volume(e) * weights[e] * material.density)
            .collect();
        let draft = Draft {
            recipes: vec![recipe],
            mass: Some(Spread::Tets(mesh.tets.clone(), masses)),
            kind: spec.mass,
            rest: mesh.positions,
        };
        self.deformable(spec, draft, surface, mesh.tets, material.damping)
    }

    /// Adds particles: balls of `radius` [m] and `density` [kg/m³] around the points `positions`
    /// [m], which do not rotate and have no internal forces. Returns the body's index.
    pub fn particles(
        &mut self,
        spec: BodySpec,
        positions: Vec<Vec3>,
        radius: f64,
        density: f64,
        damping: Damping,
    ) -> Result<usize, BuildError> {
        let material = |source| BuildError::Material {
            body: spec.name.clone(),
            source,
        };
        damping.validate().map_err(material)?;
        for (parameter, value) in [("radius", radius), ("density", density)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(material(MaterialError {
                    parameter,
                    value,
                    rule: "it must be positive",
                }));
            }
        }
        if positions.is_empty() {
            return Err(BuildError::Empty { body: spec.name });
        }
        let first = self.model.blocks() as u32;
        let surface = Surface {
            segments: Vec::new(),
            triangles: Vec::new(),
            skin: Skin::Nodes((first..first + positions.len() as u32).collect()),
        };
        let mass = 4.0 / 3.0 * std::f64::consts::PI * radius.powi(3) * density;
        let draft = Draft {
            recipes: Vec::new(),
            mass: Some(Spread::Points(vec![mass; positions.len()])),
            kind: MassKind::Lumped,
            rest: positions,
        };
        let body = self.nodes(spec, draft, surface, Vec::new(), damping)?;
        self.model.bodies[body].radius = radius;
        Ok(body)
    }

    fn deformable(
        &mut self,
        spec: BodySpec,
        draft: Draft,
        surface: Surface,
        tets: Vec<[u32; 4]>,
        damping: Damping,
    ) -> Result<usize, BuildError> {
        if surface.triangles.is_empty() {
            return Err(BuildError::Empty { body: spec.name });
        }
        self.nodes(spec, draft, surface, tets, damping)
    }

    fn nodes(
        &mut self,
        spec: BodySpec,
        draft: Draft,
        surface: Surface,
        tets: Vec<[u32; 4]>,
        damping: Damping,
    ) -> Result<usize, BuildError> {
        let first = self.model.blocks();
        let kind = BodyKind::Deformable(Deformable {
            terms: Vec::new(),
            mass: Mass::Lumped(Vec::new()),
            pattern: Arc::default(),
            rest: draft.rest.clone(),
            source: None,
        });
        let blocks = first..first + draft.rest.len();
        let lumped = draft.lumped();
        if let Some(node) = lumped.iter().position(|m| *m <= 0.0) {
            return Err(BuildError::Massless {
                body: spec.name,
                node,
            });
        }
        let total: f64 = lumped.iter().sum();
        let centre = draft
            .rest
            .iter()
            .zip(&lumped)
            .map(|(x, m)| x * *m)
            .sum::<Vec3>()
            / total;
        let start = |x: &Vec3| centre + spec.start_scale.component_mul(&(x - centre));
        match spec.start_scale == Vec3::repeat(1.0) {
            true => self.state.x.extend_from_slice(&draft.rest),
            false => self.state.x.extend(draft.rest.iter().map(start)),
        }
        self.state.v.extend(
            draft
                .rest
                .iter()
                .map(|x| spec.velocity + spec.angular_velocity.cross(&(x - centre))),
        );
        self.push(spec, blocks, kind, surface, tets, damping, draft)
    }

    /// Adds a rigid body of uniform `density` [kg/m³] inside the closed surface `mesh`; returns its
    /// index.
    pub fn rigid(
        &mut self,
        spec: BodySpec,
        mesh: &TriMesh,
        density: f64,
        damping: Damping,
    ) -> Result<usize, BuildError> {
        let material = |source| BuildError::Material {
            body: spec.name.clone(),
            source,
        };
        damping.validate().map_err(material)?;
        if !(density.is_finite() && density > 0.0) {
            return Err(material(MaterialError {
                parameter: "density",
                value: density,
                rule: "it must be positive",
            }));
        }
        let properties = MassProperties::of_closed_surface(mesh, density).map_err(|source| {
            BuildError::Mass {
                body: spec.name.clone(),
                source,
            }
        })?;
        let first = self.model.blocks();
        let index = self.state.rotations.len();
        let surface = Surface {
            segments: Vec::new(),
            triangles: mesh.triangles.clone(),
            skin: Skin::Rigid {
                block: first as u32,
                rigid: index as u32,
                local: mesh
                    .positions
                    .iter()
                    .map(|p| p - properties.centre)
                    .collect(),
            },
        };
        let kind = BodyKind::Rigid(Rigid {
            index,
            mass: properties.mass,
            inertia: properties.inertia,
        });
        self.state.x.extend([properties.centre, Vec3::zeros()]);
        self.state.v.extend([spec.velocity, spec.angular_velocity]);
        self.state.rotations.push(Quat::identity());
        self.push(
            spec,
            first..first + 2,
            kind,
            surface,
            Vec::new(),
            damping,
            Draft::default(),
        )
    }

    fn push(
        &mut self,
        spec: BodySpec,
        blocks: std::ops::Range<usize>,
        kind: BodyKind,
        surface: Surface,
        tets: Vec<[u32; 4]>,
        damping: Damping,
        draft: Draft,
    ) -> Result<usize, BuildError> {
        if self.model.has_per_step() && !matches!(kind, BodyKind::Open(_)) {
            return Err(BuildError::AfterPoints { body: spec.name });
        }
        if !self.names.insert(spec.name.clone()) {
            return Err(BuildError::Duplicate { name: spec.name });
        }
        self.model.bodies.push(Body {
            texture: spec
                .texture
                .filter(|uv| uv.len() == surface.triangles.len()),
            name: spec.name,
            material: spec.material,
            blocks,
            kind,
            surface,
            radius: 0.0,
            padding: spec.padding,
            rooted: None,
            tets,
            damping,
            drag: spec.drag,
            acceleration: spec.acceleration,
            load: spec.load,
        });
        self.drafts.push(draft);
        Ok(self.model.bodies.len() - 1)
    }

    /// Fills a `region` of a body with a medium that resists volume changes; `inflation` is its
    /// pressure above that of the surroundings at rest [Pa].
    pub fn volume(
        &mut self,
        name: &str,
        body: usize,
        region: Region,
        law: VolumeLaw,
        inflation: f64,
    ) -> Result<(), BuildError> {
        let body = &self.model.bodies[body];
        let volume = Volume::new(name.to_owned(), body, region, law, inflation);
        self.model
            .volumes
            .push(volume.map_err(|source| BuildError::Volume {
                volume: name.to_owned(),
                body: body.name.clone(),
                source,
            })?);
        Ok(())
    }

    /// Adds a user-defined force model to a shell, solid or particle body: elements over its nodes,
    /// in addition to those of its material.
    pub fn elements<const K: usize, E>(
        &mut self,
        body: usize,
        elements: E,
    ) -> Result<(), BuildError>
    where
        E: Elements<K> + std::fmt::Debug + Send + 'static,
    {
        let own = &self.model.bodies[body];
        if own.kind.as_deformable().is_none() {
            return Err(BuildError::NoElements {
                body: own.name.clone(),
            });
        }
        let count = own.node_count();
        let nodes = elements.nodes().iter().enumerate();
        for (element, node) in nodes.flat_map(|(e, nodes)| nodes.iter().map(move |n| (e, *n))) {
            if node as usize >= count {
                return Err(BuildError::Element {
                    body: own.name.clone(),
                    source: ElementError::NodeOutOfRange {
                        element,
                        node,
                        count,
                    },
                });
            }
        }
        self.drafts[body].recipes.push(term::recipe(elements));
        Ok(())
    }

    /// Joins two points by a spring; returns its index.
    pub fn attach(
        &mut self,
        a: &Anchor,
        b: &Anchor,
        stiffness: f64,
        length: f64,
        damping: f64,
    ) -> Result<usize, BuildError> {
        for (what, value) in [
            ("stiffness", stiffness),
            ("length", length),
            ("damping", damping),
        ] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(BuildError::Number {
                    what: format!("an attachment's {what}"),
                    value,
                });
            }
        }
        let (a, b) = (self.anchor(a)?, self.anchor(b)?);
        self.model.attachments.push(Attachment {
            a,
            b,
            stiffness,
            length,
            damping,
            motion: None,
            closing: None,
        });
        Ok(self.model.attachments.len() - 1)
    }

    /// Joins two points as they lie, by a spring of the length between them, or by a stitch of a seam
    /// that is drawn in between the times `closing` [s]; returns the index. Features of surfaces that
    /// stitched vertices join are no contact pairs.
    pub fn attach_points(
        &mut self,
        a: Stencil,
        b: Stencil,
        stiffness: f64,
        damping: f64,
        closing: Option<[f64; 2]>,
    ) -> usize {
        let length = (a.position(&self.state) - b.position(&self.state)).norm();
        self.model.attachments.push(Attachment {
            a,
            b,
            stiffness,
            length: if closing.is_some() { 0.0 } else { length },
            damping,
            motion: None,
            closing: closing.map(|times| Closing { times, length }),
        });
        self.model.attachments.len() - 1
    }

    /// Prescribes the motion of the end of an attachment that is a point of the world.
    pub fn move_attachment(&mut self, attachment: usize, motion: Motion) {
        if let Some(spring) = self.model.attachments.get_mut(attachment) {
            spring.motion = Some(Arc::new(motion));
        }
    }

    /// Tracks a point, also when the mesh of its body changes; returns its index in
    /// [`Model::points`].
    pub fn track(&mut self, point: Stencil) -> usize {
        self.model.points.push(point);
        self.model.points.len() - 1
    }

    /// Adds an obstacle; returns its index.
    pub fn obstacle(&mut self, obstacle: Obstacle) -> usize {
        self.model.obstacles.push(obstacle);
        self.model.obstacles.len() - 1
    }

    /// The stencil of a point.
    pub fn anchor(&self, anchor: &Anchor) -> Result<Stencil, BuildError> {
        match anchor {
            Anchor::World(p) => Ok(Stencil::World(*p)),
            Anchor::Node { body, node } => {
                let body = &self.model.bodies[*body];
                match body.node_block(*node) {
                    Some(block) => Ok(Stencil::node(block as u32)),
                    None => Err(BuildError::Node {
                        body: body.name.clone(),
                        node: *node,
                        count: body.node_count(),
                    }),
                }
            }
            Anchor::Body { body, near } => {
                let body = &self.model.bodies[*body];
                if body.kind.per_step().is_some() {
                    return Err(BuildError::Node {
                        body: body.name.clone(),
                        node: 0,
                        count: 0,
                    });
                }
                Ok(match body.kind.as_rigid() {
                    Some(r) => Stencil::Rigid {
                        block: body.blocks.start as u32,
                        rigid: r.index as u32,
                        local: self.state.rotations[r.index].inverse()
                            * (near - self.state.x[body.blocks.start]),
                    },
                    None => nearest_point(body, &self.state, near),
                })
            }
        }
    }

    /// Builds patterns, terms and masses, and returns the model and its initial state.
    pub fn finish(mut self) -> Result<(Model, State), BuildError> {
        self.model.pins.sort_by_key(|p| p.block);
        if let Some(pair) = self
            .model
            .pins
            .windows(2)
            .find(|w| w[0].block == w[1].block)
        {
            let block = pair[0].block;
            let body = self.model.body_of(block);
            let (body, first) =
                body.map_or((String::new(), 0), |b| (b.name.clone(), b.blocks.start));
            return Err(BuildError::PinnedTwice {
                body,
                node: block - first,
            });
        }
        for (b, draft) in self.drafts.into_iter().enumerate() {
            let joined = joined(&self.model.attachments, &self.model.bodies[b].blocks);
            let body = &mut self.model.bodies[b];
            let BodyKind::Deformable(soft) = &mut body.kind else {
                continue;
            };
            let bound = draft.bind(&body.name, &joined)?;
            (soft.terms, soft.mass, soft.pattern) = (bound.terms, bound.mass, bound.pattern);
        }
        Ok((self.model, self.state))
    }
}
