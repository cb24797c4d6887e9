//! The section `topology` of a checkpoint: meshes that have changed since the scene was built, and
//! the data that refer to them.

use stiction_bodies::{
    Pin, Stencil,
    adapt::{ShellMesh, Topology},
};

use crate::{
    CheckpointError,
    checkpoint::CheckpointFile,
    codec::{DecodeError, Decoder, Encoder},
};

/// Name of the section.
pub(crate) const SECTION: &str = "topology";
/// The newest supported version.
pub(crate) const VERSION: u32 = 1;

const WORLD: u64 = 0;
const NODES: u64 = 1;
const RIGID: u64 = 2;

/// Writes a topology and the memory of the adapter that made it.
pub(crate) fn encode(topology: &Topology, memory: &[u64], out: &mut Encoder) {
    out.u64(topology.generation);
    out.u64s(memory);
    out.u64(topology.shells.len() as u64);
    for mesh in &topology.shells {
        out.u64(mesh.body as u64);
        out.vec3s(&mesh.rest);
        out.u32s(mesh.triangles.as_flattened());
        out.u32s(&mesh.patch);
    }
    out.u64(topology.pins.len() as u64);
    for pin in &topology.pins {
        out.u64(pin.block as u64);
        // Zero fixes the block at its initial position.
        out.u64(pin.motion.map_or(0, |m| m as u64 + 1));
        out.vec3(&pin.start);
    }
    out.u64(topology.attachments.len() as u64);
    for end in topology.attachments.iter().flatten() {
        encode_stencil(end, out);
    }
    out.u64(topology.points.len() as u64);
    for point in &topology.points {
        encode_stencil(point, out);
    }
}

/// Reads the stored topology and memory; none if the meshes are those of the scene.
pub(crate) fn decode(
    checkpoint: &CheckpointFile,
) -> Result<Option<(Topology, Vec<u64>)>, CheckpointError> {
    if !checkpoint.has(SECTION) {
        return Ok(None);
    }
    let (_, mut input) = checkpoint.versioned(SECTION, VERSION)?;
    let generation = input.u64()?;
    let memory = input.u64s()?;
    // Counts are untrusted: nothing is reserved for them.
    let mut shells = Vec::new();
    for _ in 0..input.usize()? {
        let (body, rest) = (input.usize()?, input.vec3s()?);
        let corners = input.u32s()?;
        let (triangles, []) = corners.as_chunks::<3>() else {
            return Err(input.error("a triangle is cut short").into());
        };
        shells.push(ShellMesh {
            body,
            rest,
            triangles: triangles.to_vec(),
            patch: input.u32s()?,
        });
    }
    let mut pins = Vec::new();
    for _ in 0..input.usize()? {
        pins.push(Pin {
            block: input.usize()?,
            motion: input.usize()?.checked_sub(1),
            start: input.vec3()?,
            spin: None,
            clamp: None,
        });
    }
    let mut attachments = Vec::new();
    for _ in 0..input.usize()? {
        attachments.push([decode_stencil(&mut input)?, decode_stencil(&mut input)?]);
    }
    let mut points = Vec::new();
    for _ in 0..input.usize()? {
        points.push(decode_stencil(&mut input)?);
    }
    input.finish()?;
    let topology = Topology {
        generation,
        shells,
        pins,
        attachments,
        points,
    };
    Ok(Some((topology, memory)))
}

fn encode_stencil(stencil: &Stencil, out: &mut Encoder) {
    match stencil {
        Stencil::World(p) => {
            out.u64(WORLD);
            out.vec3(p);
        }
        Stencil::Nodes(entries) => {
            out.u64(NODES);
            out.u64(entries.len() as u64);
            for (block, weight) in entries {
                out.u64(u64::from(*block));
                out.f64(*weight);
            }
        }
        Stencil::Rigid {
            block,
            rigid,
            local,
        } => {
            out.u64(RIGID);
            out.u64(u64::from(*block));
            out.u64(u64::from(*rigid));
            out.vec3(local);
        }
    }
}

fn decode_stencil(input: &mut Decoder<'_>) -> Result<Stencil, DecodeError> {
    let number = |input: &mut Decoder<'_>| {
        let value = input.u64()?;
        u32::try_from(value).map_err(|_| input.error(format!("there is no block {value}")))
    };
    Ok(match input.u64()? {
        WORLD => Stencil::World(input.vec3()?),
        NODES => {
            let mut entries = Vec::new();
            for _ in 0..input.usize()? {
                entries.push((number(input)?, input.f64()?));
            }
            Stencil::Nodes(entries)
        }
        RIGID => Stencil::Rigid {
            block: number(input)?,
            rigid: number(input)?,
            local: input.vec3()?,
        },
        other => return Err(input.error(format!("there is no kind {other} of points"))),
    })
}
