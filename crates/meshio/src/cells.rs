//! VTK cell types, shared by the legacy and the XML reader.

use super::error::{FileLocation, MeshFileError, MeshFileProblem};
use super::soup::Soup;

/// Adds the VTK cell of type `kind` whose corners are in range. Points and lines make no element
/// of a mesh and are passed over.
pub(super) fn push(
    soup: &mut Soup,
    kind: i64,
    corners: &[u32],
    number: u64,
    place: FileLocation,
) -> Result<(), MeshFileError> {
    let at_cell = |error: MeshFileError| error.at("cell", number);
    let has = |count: usize| {
        if corners.len() == count {
            return Ok(());
        }
        let what = format!(
            "cell type {kind} has {count} corners, found {}",
            corners.len()
        );
        let remedy = "export the mesh again";
        Err(at_cell(MeshFileError::new(
            place,
            MeshFileProblem::Inconsistent { what, remedy },
        )))
    };
    match kind {
        0..=4 => Ok(()),
        5 => {
            has(3)?;
            soup.push_polygon(corners, place).map_err(at_cell)
        }
        6 => soup.push_strip(corners, place).map_err(at_cell),
        7 => soup.push_polygon(corners, place).map_err(at_cell),
        8 => {
            has(4)?;
            let ring = [corners[0], corners[1], corners[3], corners[2]];
            soup.push_polygon(&ring, place).map_err(at_cell)
        }
        9 => {
            has(4)?;
            soup.push_polygon(corners, place).map_err(at_cell)
        }
        10 => {
            has(4)?;
            let tet = [corners[0], corners[1], corners[2], corners[3]];
            soup.push_tet(tet, place).map_err(at_cell)
        }
        _ => {
            let (what, remedy) = match kind {
                11 => ("a voxel", SPLIT),
                12 => ("a hexahedron", SPLIT),
                13 => ("a wedge", SPLIT),
                14 => ("a pyramid", SPLIT),
                21..=37 | 60..=81 => ("a higher-order cell", "export a mesh of first order"),
                _ => ("a cell", SPLIT),
            };
            let what = format!("{what} (VTK cell type {kind})");
            Err(at_cell(MeshFileError::new(
                place,
                MeshFileProblem::Unsupported { what, remedy },
            )))
        }
    }
}

const SPLIT: &str = "split the cells into triangles or tetrahedra (in ParaView: Tetrahedralize)";
