//! The sections `state` and `method` of a checkpoint.

use stiction_bodies::{Columns, RodFrames, State};
use stiction_math::{Quat, Vec3, nalgebra::Quaternion};
use stiction_sim::{Memory, Simulation};

use crate::{CheckpointError, CheckpointFile, Decoder, Encoder, topology};

/// Restores a stored state, with its meshes and the memory of the method, into a simulation of the
/// scene. After an error the simulation must not be used.
pub(crate) fn put(
    checkpoint: &CheckpointFile,
    state: State,
    sim: &mut Simulation,
) -> Result<(), CheckpointError> {
    let memory = decode_memory(checkpoint)?;
    if let Some((topology, adapter)) = topology::decode(checkpoint)? {
        sim.restore_topology(topology, &adapter)
            .map_err(|source| CheckpointError::Topology {
                path: checkpoint.path().to_owned(),
                source: Box::new(source),
            })?;
    }
    let n = sim.model().blocks();
    if state.x.len() != n || state.v.len() != n {
        let (_, input) = checkpoint.versioned("state", STATE_VERSION)?;
        return Err(input
            .error("the stored state has another number of nodes than the scene")
            .into());
    }
    sim.restore(state, memory);
    Ok(())
}

/// The newest version of the section `state`. Version 1 had no counts of rod data and omitted them
/// if there were none.
pub(crate) const STATE_VERSION: u32 = 2;

pub(crate) fn encode_state(state: &State, out: &mut Encoder) {
    out.u64(state.step);
    out.f64(state.time);
    out.vec3s(&state.x);
    out.vec3s(&state.v);
    out.u64(state.rotations.len() as u64);
    for q in &state.rotations {
        q.coords.iter().for_each(|c| out.f64(*c));
    }
    out.vec3s(&state.frames.director);
    out.f64s(&state.frames.twist);
    out.f64s(&state.frames.angle);
    let held: Vec<u64> = state.frames.held.iter().map(|h| u64::from(*h)).collect();
    out.u64s(&held);
    out.u64(state.columns.len() as u64);
    for columns in &state.columns {
        out.u64(columns.iter().len() as u64);
        for column in columns.iter() {
            out.str(&column.name);
            out.f64s(&column.values);
        }
    }
}

/// Reads the stored state, which must have the rigid bodies and rods of `like`.
pub(crate) fn decode_state(
    checkpoint: &CheckpointFile,
    like: &State,
) -> Result<State, CheckpointError> {
    let (version, mut input) = checkpoint.versioned("state", STATE_VERSION)?;
    let (step, time) = (input.u64()?, input.f64()?);
    let (x, v) = (input.vec3s()?, input.vec3s()?);
    let count = input.usize()?;
    if count != like.rotations.len() {
        return Err(input
            .error("the stored state has another number of rigid bodies than the scene")
            .into());
    }
    let mut rotations = Vec::with_capacity(count);
    for _ in 0..count {
        let c = [input.f64()?, input.f64()?, input.f64()?, input.f64()?];
        // Stored as x, y, z, w, without normalisation, which could change a bit.
        rotations.push(Quat::new_unchecked(Quaternion::new(c[3], c[0], c[1], c[2])));
    }
    let frames = match version {
        1 => decode_frames_1(&mut input, &like.frames)?,
        _ => RodFrames {
            director: input.vec3s()?,
            twist: input.f64s()?,
            angle: input.f64s()?,
            held: input.u64s()?.iter().map(|h| *h != 0).collect(),
        },
    };
    let lengths = |f: &RodFrames| [f.director.len(), f.twist.len(), f.angle.len(), f.held.len()];
    if lengths(&frames) != lengths(&like.frames) {
        return Err(input
            .error("the stored state has another number of edges of rods than the scene")
            .into());
    }
    let count = match version {
        1 => 0,
        _ => input.usize()?,
    };
    if count != like.columns.len() {
        return Err(input
            .error("the stored state has another number of bodies with columns of their own")
            .into());
    }
    let mut columns = Vec::with_capacity(count);
    for _ in 0..count {
        let mut own = Columns::default();
        for _ in 0..input.usize()? {
            let name = input.str()?.to_owned();
            *own.get_mut(&name) = input.f64s()?;
        }
        columns.push(own);
    }
    let finite = |list: &[Vec3]| list.iter().all(|v| v.iter().all(|c| c.is_finite()));
    let turned = |q: &Quat| q.coords.iter().all(|c| c.is_finite());
    let known = finite(&x) && finite(&v) && finite(&frames.director);
    if !(known && time.is_finite() && rotations.iter().all(turned)) {
        return Err(input
            .error("the stored state has a number that is not finite")
            .into());
    }
    input.finish()?;
    Ok(State {
        columns,
        frames,
        time,
        step,
        x,
        v,
        rotations,
    })
}

/// Reads the frames of rods in version 1 of the section `state`.
fn decode_frames_1(
    input: &mut Decoder<'_>,
    like: &RodFrames,
) -> Result<RodFrames, CheckpointError> {
    let mut frames = RodFrames::default();
    let edges = like.director.len();
    if edges > 0 {
        frames.director = input.vec3s()?;
        if frames.director.len() != edges {
            return Err(input
                .error("the stored state has another number of edges of rods than the scene")
                .into());
        }
        for _ in 0..edges {
            frames.twist.push(input.f64()?);
        }
    }
    for _ in 0..like.angle.len() {
        frames.angle.push(input.f64()?);
        frames.held.push(input.u64()? != 0);
    }
    Ok(frames)
}

pub(crate) fn encode_memory(memory: &Memory, out: &mut Encoder) {
    out.u64(memory.columns.len() as u64);
    for (name, column) in &memory.columns {
        out.str(name);
        out.vec3s(column);
    }
    out.u64s(&memory.keys);
}

pub(crate) fn decode_memory(checkpoint: &CheckpointFile) -> Result<Memory, CheckpointError> {
    let mut input = checkpoint.section("method")?;
    let mut memory = Memory::default();
    for _ in 0..input.usize()? {
        let name = input.str()?.to_owned();
        memory.columns.push((name, input.vec3s()?));
    }
    memory.keys = input.u64s()?;
    input.finish()?;
    Ok(memory)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::write_checkpoint;

    fn state() -> State {
        State {
            columns: Vec::new(),
            time: 0.7,
            step: 70,
            x: (0..5).map(|i| Vec3::repeat(0.1 * f64::from(i))).collect(),
            v: vec![Vec3::new(0.0, -0.0, 1e-300); 5],
            rotations: vec![Quat::from_euler_angles(0.1, 0.2, 0.3)],
            frames: RodFrames {
                director: vec![Vec3::x(), Vec3::y()],
                twist: vec![0.1, -0.2],
                angle: vec![0.3, 0.4],
                held: vec![true, false],
            },
        }
    }

    /// Writes version 1 of the section `state`.
    fn encode_1(state: &State, out: &mut Encoder) {
        out.u64(state.step);
        out.f64(state.time);
        out.vec3s(&state.x);
        out.vec3s(&state.v);
        out.u64(state.rotations.len() as u64);
        for q in &state.rotations {
            q.coords.iter().for_each(|c| out.f64(*c));
        }
        if !state.frames.director.is_empty() {
            out.vec3s(&state.frames.director);
            state.frames.twist.iter().for_each(|t| out.f64(*t));
        }
        for (angle, held) in state.frames.angle.iter().zip(&state.frames.held) {
            out.f64(*angle);
            out.u64(u64::from(*held));
        }
    }

    #[test]
    fn both_versions_of_a_state_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("checkpoint.bin");
        let plain = State {
            frames: RodFrames::default(),
            rotations: Vec::new(),
            ..state()
        };
        for state in [state(), plain] {
            let old = |out: &mut Encoder| encode_1(&state, out);
            let new = |out: &mut Encoder| encode_state(&state, out);
            let both: [(u32, &dyn Fn(&mut Encoder)); 2] = [(1, &old), (STATE_VERSION, &new)];
            for (version, contents) in both {
                write_checkpoint(&path, &[("state", version, contents)]).unwrap();
                let checkpoint = CheckpointFile::read(&path).unwrap();
                assert_eq!(decode_state(&checkpoint, &state).unwrap(), state);
                let mut lost = state.clone();
                lost.v[2].y = f64::NAN;
                let lost = |out: &mut Encoder| encode_state(&lost, out);
                write_checkpoint(&path, &[("state", STATE_VERSION, &lost)]).unwrap();
                let lost = CheckpointFile::read(&path).unwrap();
                let error = decode_state(&lost, &state).unwrap_err().to_string();
                assert!(error.contains("not finite"), "{error}");
                // A different number of rods or rigid bodies is refused.
                let mut other = state.clone();
                other.frames.director.push(Vec3::z());
                other.frames.twist.push(0.0);
                assert!(decode_state(&checkpoint, &other).is_err());
                other = state.clone();
                other.rotations.push(Quat::identity());
                assert!(decode_state(&checkpoint, &other).is_err());
            }
        }
    }
}
