//! Texture coordinates as columns of frames.
//!
//! Those of a vertex with the same coordinates at all of its corners are point data, `texture_u` and
//! `texture_v`. Where a surface has a seam, on which vertices have several, those of all corners are
//! cell data: `texture_u_0` to `texture_v_2`.

use std::collections::BTreeMap;

use stiction_math::Vec2;

use crate::{Cells, Data, Frame};

/// Names of the columns of a point.
const POINT: [&str; 2] = ["texture_u", "texture_v"];

/// Names of the columns of a cell, two for each corner.
const CELL: [&str; 6] = [
    "texture_u_0",
    "texture_v_0",
    "texture_u_1",
    "texture_v_1",
    "texture_u_2",
    "texture_v_2",
];

/// Texture coordinates as columns, of points or of cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextureColumns {
    point: Vec<Vec<f64>>,
    cell: Vec<Vec<f64>>,
}

impl TextureColumns {
    /// The columns of a surface with `points` vertices and the coordinates `uv` of corners; none
    /// without coordinates.
    pub fn new(triangles: &[[u32; 3]], uv: &[[Vec2; 3]], points: usize) -> Self {
        if uv.is_empty() || uv.len() != triangles.len() {
            return Self::default();
        }
        let mut of: Vec<Option<Vec2>> = vec![None; points];
        let mut corners = triangles.iter().flatten().zip(uv.iter().flatten());
        let seamless = corners.all(|(v, uv)| match of.get_mut(*v as usize) {
            Some(known) => *known.get_or_insert(*uv) == *uv,
            None => false,
        });
        let number = |k: usize| move |uv: &Option<Vec2>| uv.map_or(0.0, |uv| uv[k]);
        match seamless {
            true => Self {
                point: (0..2).map(|k| of.iter().map(number(k)).collect()).collect(),
                cell: Vec::new(),
            },
            false => Self {
                point: Vec::new(),
                cell: (0..6)
                    .map(|k| uv.iter().map(|t| t[k / 2][k % 2]).collect())
                    .collect(),
            },
        }
    }

    /// Columns with one entry per point.
    pub fn point_data(&self) -> impl Iterator<Item = (&'static str, Data<'_>)> {
        let columns = POINT.into_iter().zip(&self.point);
        columns.map(|(name, column)| (name, Data::Scalars(column)))
    }

    /// Columns with one entry per cell.
    pub fn cell_data(&self) -> impl Iterator<Item = (&'static str, Data<'_>)> {
        let columns = CELL.into_iter().zip(&self.cell);
        columns.map(|(name, column)| (name, Data::Scalars(column)))
    }
}

/// The texture coordinates of all corners of `triangles`, from columns of points or of cells by their
/// names; none if there are no such columns.
pub fn corner_textures<'a>(
    triangles: &[[u32; 3]],
    point: impl Fn(&str) -> Option<&'a [f64]>,
    cell: impl Fn(&str) -> Option<&'a [f64]>,
) -> Option<Vec<[Vec2; 3]>> {
    if let [Some(u), Some(v)] = POINT.map(point) {
        let corner = |i: u32| {
            let i = i as usize;
            Some(Vec2::new(*u.get(i)?, *v.get(i)?))
        };
        let triangle = |t: &[u32; 3]| Some([corner(t[0])?, corner(t[1])?, corner(t[2])?]);
        return triangles.iter().map(triangle).collect();
    }
    let columns: Option<Vec<&[f64]>> = CELL.into_iter().map(cell).collect();
    let columns = columns?;
    let triangle = |t: usize| {
        let at = |k: usize| columns[k].get(t).copied();
        let corner = |k: usize| Some(Vec2::new(at(2 * k)?, at(2 * k + 1)?));
        Some([corner(0)?, corner(1)?, corner(2)?])
    };
    (0..triangles.len()).map(triangle).collect()
}

/// The texture coordinates of the corners of a frame's triangles.
pub(crate) fn of_frame(frame: &Frame) -> Option<Vec<[Vec2; 3]>> {
    let Cells::Triangles(triangles) = frame.cells else {
        return None;
    };
    fn column<'a>(data: &[(&'a str, Data<'a>)], name: &str) -> Option<&'a [f64]> {
        data.iter().find_map(|(n, data)| match data {
            Data::Scalars(values) if *n == name => Some(*values),
            _ => None,
        })
    }
    corner_textures(
        triangles,
        |name| column(frame.point_data, name),
        |name| column(frame.cell_data, name),
    )
}

/// Texture coordinates, each once, in the order of their first corner, and their number at every
/// corner.
pub(crate) fn distinct(uv: &[[Vec2; 3]]) -> (Vec<Vec2>, Vec<[usize; 3]>) {
    let mut known = BTreeMap::new();
    let mut list = Vec::new();
    let mut number = |uv: &Vec2| {
        *known
            .entry([uv.x.to_bits(), uv.y.to_bits()])
            .or_insert_with(|| {
                list.push(*uv);
                list.len() - 1
            })
    };
    let corners = uv
        .iter()
        .map(|t| [number(&t[0]), number(&t[1]), number(&t[2])]);
    let corners = corners.collect();
    (list, corners)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn returned(triangles: &[[u32; 3]], uv: &[[Vec2; 3]]) -> (TextureColumns, Vec<[Vec2; 3]>) {
        let columns = TextureColumns::new(triangles, uv, 4);
        let point: Vec<_> = columns.point_data().collect();
        let cell: Vec<_> = columns.cell_data().collect();
        let frame = Frame {
            name: "sheet",
            time: 0.0,
            positions: &[],
            cells: Cells::Triangles(triangles),
            point_data: &point,
            cell_data: &cell,
            field_data: &[],
        };
        let back = of_frame(&frame).unwrap();
        (columns.clone(), back)
    }

    #[test]
    fn coordinates_come_back_from_points_and_across_a_seam_from_cells() {
        let triangles = [[0, 1, 2], [0, 2, 3]];
        let p = |x: f64, y: f64| Vec2::new(x, y / 3.0);
        let whole = [
            [p(0.0, 0.0), p(1.0, 0.0), p(1.0, 1.0)],
            [p(0.0, 0.0), p(1.0, 1.0), p(0.0, 1.0)],
        ];
        let (columns, back) = returned(&triangles, &whole);
        assert_eq!(back, whole);
        assert_eq!((columns.point.len(), columns.cell.len()), (2, 0));
        let mut cut = whole;
        cut[1][0].x = 5.0;
        let (columns, back) = returned(&triangles, &cut);
        assert_eq!(back, cut);
        assert_eq!((columns.point.len(), columns.cell.len()), (0, 6));
        let (list, corners) = distinct(&cut);
        assert_eq!((list.len(), corners), (5, vec![[0, 1, 2], [3, 2, 4]]));
    }
}
