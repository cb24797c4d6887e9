#![allow(clippy::unwrap_used)]
use super::*;
use crate::shapes::*;
use FindingKind as Kind;
use stiction_math::{Quat, Vec3};

fn sheet() -> TriMesh {
    Sheet {
        size: [1.0, 1.0],
        cells: [2, 2],
        pattern: SheetPattern::Regular,
    }
    .build()
    .unwrap()
}

fn cube() -> TriMesh {
    BoxSurface {
        size: [1.0; 3],
        cells: [1; 3],
    }
    .build()
    .unwrap()
}

fn block() -> TetMesh {
    BoxSolid {
        size: [1.0; 3],
        cells: [1; 3],
        pattern: TetPattern::Kuhn,
    }
    .build()
    .unwrap()
}

fn kinds(findings: &[Finding]) -> Vec<Kind> {
    findings.iter().map(|f| f.kind).collect()
}

/// Asserts that the mesh shows exactly these kinds, and returns the finding of the first.
fn expect(findings: Vec<Finding>, expected: &[Kind]) -> Finding {
    let mut found = kinds(&findings);
    let mut sorted = expected.to_vec();
    found.sort();
    sorted.sort();
    assert_eq!(found, sorted, "{findings:#?}");
    let first = findings.into_iter().find(|f| f.kind == expected[0]);
    first.unwrap()
}

fn moved(mut mesh: TriMesh, scale: f64, x: f64) -> TriMesh {
    let scale = Vec3::new(scale, scale, scale);
    mesh.transform(&Quat::identity(), &scale, &Vec3::new(x, 0.0, 0.0));
    mesh
}

#[test]
fn sound_meshes_have_no_findings_beyond_notes() {
    expect(sheet().diagnose(), &[Kind::OpenBoundary]);
    assert!(cube().diagnose().is_empty());
    assert!(block().diagnose().is_empty());
    let ball = BallSolid {
        radius: 0.1,
        layers: 4,
    };
    assert!(ball.build().unwrap().diagnose().is_empty());
}

#[test]
fn empty() {
    let finding = expect(TriMesh::default().diagnose(), &[Kind::Empty]);
    assert_eq!(finding.severity, Severity::Error);
    expect(TetMesh::default().diagnose(), &[Kind::Empty]);
}

#[test]
fn non_finite_vertex() {
    let mut m = sheet();
    m.positions[4].z = f64::NAN;
    m.positions[8].x = f64::INFINITY;
    let f = m.diagnose().remove(0);
    assert_eq!(f.kind, Kind::NonFiniteVertex);
    assert_eq!(f.elements, FindingElements::Vertices(vec![4, 8]));
    assert!(f.message.contains("vertices 4, 8"));
    let mut solid = block();
    solid.positions[0].y = f64::NAN;
    assert_eq!(solid.diagnose()[0].kind, Kind::NonFiniteVertex);
}

#[test]
fn index_out_of_range() {
    let mut m = cube();
    m.triangles.push([0, 1, 8]);
    let f = expect(m.diagnose(), &[Kind::IndexOutOfRange]);
    assert_eq!(f.elements, FindingElements::Triangles(vec![12]));
    let mut solid = block();
    solid.tets.push([0, 1, 2, 99]);
    let f = expect(solid.diagnose(), &[Kind::IndexOutOfRange]);
    assert_eq!(
        f.message,
        "tetrahedron 6 refers to a vertex that does not exist"
    );
}

#[test]
fn isolated_vertex() {
    let mut m = cube();
    m.positions.push(Vec3::zeros());
    let f = expect(m.diagnose(), &[Kind::IsolatedVertex]);
    assert_eq!(f.elements, FindingElements::Vertices(vec![8]));
    assert_eq!(f.severity, Severity::Error);
}

#[test]
fn duplicate_and_nearby_vertices() {
    // Two cubes that touch along a face without sharing vertices.
    let mut m = cube();
    m.append(&moved(cube(), 1.0, 1.0)).unwrap();
    let f = expect(
        m.diagnose(),
        &[Kind::DuplicateVertices, Kind::SeveralComponents],
    );
    assert_eq!(f.elements, FindingElements::Vertices(vec![8, 10, 12, 14]));
    let mut m = cube();
    m.append(&moved(cube(), 1.0, 1.0 + 1e-7)).unwrap();
    let f = expect(
        m.diagnose(),
        &[Kind::NearbyVertices, Kind::SeveralComponents],
    );
    assert_eq!(f.elements, FindingElements::Vertices(vec![8, 10, 12, 14]));
    let mut m = cube();
    m.append(&moved(cube(), 1.0, 1.0 + 1e-5)).unwrap();
    expect(m.diagnose(), &[Kind::SeveralComponents]);
}

#[test]
fn nearby_vertices_agree_with_brute_force() {
    let mut random = crate::SplitMix::new(9);
    let mut positions = vec![Vec3::zeros(), Vec3::new(1.0, 1.0, 1.0)];
    // Clusters a little wider than the distance that counts.
    for _ in 0..60 {
        let centre = Vec3::from_fn(|_, _| random.uniform());
        for _ in 0..3 {
            let offset = Vec3::from_fn(|_, _| 3e-6 * random.uniform());
            positions.push(centre + offset);
        }
    }
    let reach = 1e-6 * 3.0_f64.sqrt();
    let near = |v: &u32| {
        let p = positions[*v as usize];
        let earlier = &positions[..*v as usize];
        earlier.iter().any(|q| (q - p).norm() <= reach)
    };
    let slow: Vec<u32> = (0..positions.len() as u32).filter(near).collect();
    assert!(slow.len() > 20 && slow.len() < 120);
    let m = TriMesh {
        positions: positions.clone(),
        triangles: vec![[0, 1, 2]],
    };
    let all = m.diagnose();
    let found = all.iter().find(|f| f.kind == Kind::NearbyVertices).unwrap();
    assert_eq!(found.count, slow.len());
    let first = FindingElements::Vertices(slow[..MAX_LISTED.min(slow.len())].to_vec());
    assert_eq!(found.elements, first);
}

#[test]
fn degenerate_and_poor_elements() {
    let mut m = sheet();
    m.positions.push(Vec3::new(2.0, 0.0, 0.0));
    m.triangles.push([4, 5, 9]);
    let f = expect(
        m.diagnose(),
        &[
            Kind::DegenerateElement,
            Kind::OpenBoundary,
            Kind::NonManifoldEdge,
        ],
    );
    assert_eq!(f.elements, FindingElements::Triangles(vec![8]));
    let needle = |height: f64| TriMesh {
        positions: vec![
            Vec3::zeros(),
            Vec3::new(1.0, 0.0, 0.0),
            Vec3::new(0.5, height, 0.0),
        ],
        triangles: vec![[0, 1, 2]],
    };
    expect(
        needle(1e-3).diagnose(),
        &[Kind::PoorElement, Kind::OpenBoundary],
    );
    expect(
        needle(1e-9).diagnose(),
        &[Kind::DegenerateElement, Kind::OpenBoundary],
    );
    let mut repeated = needle(1.0);
    repeated.triangles.push([0, 1, 1]);
    let found = kinds(&repeated.diagnose());
    assert!(found.contains(&Kind::DegenerateElement));

    let flat = |height: f64| TetMesh {
        positions: vec![
            Vec3::zeros(),
            Vec3::new(1.0, 0.0, 0.0),
            Vec3::new(0.0, 1.0, 0.0),
            Vec3::new(0.3, 0.3, height),
        ],
        tets: vec![[0, 1, 2, 3]],
    };
    expect(flat(0.0).diagnose(), &[Kind::DegenerateElement]);
    expect(flat(1e-3).diagnose(), &[Kind::PoorElement]);
}

#[test]
fn inverted_tet() {
    let mut m = block();
    m.tets[4].swap(0, 1);
    let f = expect(m.diagnose(), &[Kind::InvertedTet]);
    assert_eq!(f.elements, FindingElements::Tets(vec![4]));
    assert_eq!(f.severity, Severity::Error);
}

#[test]
fn duplicate_element() {
    let mut m = block();
    m.tets
        .push([m.tets[2][1], m.tets[2][2], m.tets[2][0], m.tets[2][3]]);
    let f = m.diagnose();
    let f = f.iter().find(|f| f.kind == Kind::DuplicateElement).unwrap();
    assert_eq!(f.elements, FindingElements::Tets(vec![6]));
    let mut m = cube();
    m.triangles.push(m.triangles[0]);
    let f = m.diagnose();
    let f = f.iter().find(|f| f.kind == Kind::DuplicateElement).unwrap();
    assert_eq!(f.elements, FindingElements::Triangles(vec![12]));
}

#[test]
fn non_manifold_edge() {
    let mut m = sheet();
    // A fin on the inner edge from vertex 4 to vertex 5.
    m.positions.push(Vec3::new(0.2, 0.0, 0.5));
    m.triangles.push([4, 5, 9]);
    let f = expect(m.diagnose(), &[Kind::NonManifoldEdge, Kind::OpenBoundary]);
    assert_eq!(f.elements, FindingElements::Edges(vec![[4, 5]]));
    assert!(f.message.starts_with("edge (4, 5) has more than two"));
}

#[test]
fn non_manifold_face() {
    let mut m = TetMesh {
        positions: vec![
            Vec3::zeros(),
            Vec3::new(1.0, 0.0, 0.0),
            Vec3::new(0.0, 1.0, 0.0),
            Vec3::new(0.0, 0.0, 1.0),
            Vec3::new(0.3, 0.3, 0.8),
            Vec3::new(0.3, 0.3, -0.8),
        ],
        tets: vec![[0, 1, 2, 3], [0, 2, 1, 5]],
    };
    assert!(
        m.clone()
            .diagnose()
            .iter()
            .all(|f| f.kind == Kind::IsolatedVertex)
    );
    m.tets.push([0, 1, 2, 4]);
    let f = m.diagnose();
    let f = f.iter().find(|f| f.kind == Kind::NonManifoldFace).unwrap();
    assert_eq!(f.elements, FindingElements::Faces(vec![[0, 1, 2]]));
}

#[test]
fn non_manifold_vertex() {
    let fan = |shift: f64| [Vec3::new(shift, 0.0, 0.0), Vec3::new(shift, 1.0, 0.0)];
    let [a, b] = fan(-1.0);
    let [c, d] = fan(1.0);
    let m = TriMesh {
        positions: vec![a, b, c, d, Vec3::zeros()],
        triangles: vec![[0, 4, 1], [4, 2, 3]],
    };
    let f = expect(m.diagnose(), &[Kind::NonManifoldVertex, Kind::OpenBoundary]);
    assert_eq!(f.elements, FindingElements::Vertices(vec![4]));

    // Two tetrahedra that share one vertex.
    let solid = TetMesh {
        positions: vec![
            Vec3::zeros(),
            Vec3::new(1.0, 0.0, 0.0),
            Vec3::new(0.0, 1.0, 0.0),
            Vec3::new(0.0, 0.0, 1.0),
            Vec3::new(-1.0, 0.0, 0.0),
            Vec3::new(0.0, -1.0, 0.0),
            Vec3::new(0.0, 0.0, -1.0),
        ],
        tets: vec![[0, 1, 2, 3], [0, 5, 4, 6]],
    };
    let f = expect(solid.diagnose(), &[Kind::NonManifoldVertex]);
    assert_eq!(f.elements, FindingElements::Vertices(vec![0]));
}

#[test]
fn inconsistent_orientation() {
    let mut m = sheet();
    m.triangles[0].swap(0, 1);
    let f = expect(
        m.diagnose(),
        &[Kind::InconsistentOrientation, Kind::OpenBoundary],
    );
    let FindingElements::Triangles(named) = &f.elements else {
        unreachable!("triangles are named");
    };
    assert!(named.contains(&0));
}

#[test]
fn inward_orientation_but_not_of_cavities() {
    let mut m = cube();
    m.flip();
    let f = expect(m.diagnose(), &[Kind::InwardOrientation]);
    assert_eq!(f.elements, FindingElements::Triangles(vec![0]));
    // The flipped cube as the cavity of a larger one is right, next to it wrong.
    let mut hollow = moved(cube(), 3.0, 0.0);
    hollow.append(&m).unwrap();
    expect(hollow.diagnose(), &[Kind::SeveralComponents]);
    let mut pair = moved(cube(), 1.0, 10.0);
    pair.append(&m).unwrap();
    let f = expect(
        pair.diagnose(),
        &[Kind::InwardOrientation, Kind::SeveralComponents],
    );
    assert_eq!(f.elements, FindingElements::Triangles(vec![12]));
}

#[test]
fn open_boundary_is_a_note_with_a_count() {
    let m = Sheet {
        size: [1.0, 1.0],
        cells: [10, 10],
        pattern: SheetPattern::Regular,
    };
    let f = expect(m.build().unwrap().diagnose(), &[Kind::OpenBoundary]);
    assert_eq!(f.severity, Severity::Note);
    assert_eq!(f.count, 40);
    let FindingElements::Edges(listed) = &f.elements else {
        unreachable!("edges are named");
    };
    assert_eq!(listed.len(), MAX_LISTED);
    assert!(f.message.contains("each of 40"));
}

#[test]
fn several_components() {
    let mut m = cube();
    m.append(&moved(cube(), 1.0, 5.0)).unwrap();
    let f = expect(m.diagnose(), &[Kind::SeveralComponents]);
    assert!(f.message.contains("2 parts"));
}

#[test]
fn suspicious_units() {
    let f = expect(
        moved(cube(), 300.0, 0.0).diagnose(),
        &[Kind::SuspiciousUnits],
    );
    assert!(f.remedy.contains("did you mean cm"));
    expect(
        moved(cube(), 1e-4, 0.0).diagnose(),
        &[Kind::SuspiciousUnits],
    );
    assert!(moved(cube(), 90.0, 0.0).diagnose().is_empty());
    assert!(moved(cube(), 2e-3, 0.0).diagnose().is_empty());
}

#[test]
fn errors_come_first_and_wild_meshes_do_no_harm() {
    let mut random = crate::SplitMix::new(17);
    for _ in 0..300 {
        let mut number = |n: u64| random.next_u64() % n;
        let odd = [
            0.0,
            1.0,
            -1.0,
            1e300,
            -1e300,
            1e-300,
            f64::NAN,
            f64::INFINITY,
        ];
        let mut point = || Vec3::from_fn(|_, _| odd[number(odd.len() as u64) as usize]);
        let positions: Vec<Vec3> = (0..8).map(|_| point()).collect();
        let mut index = || random.next_u64() as u32 % 9;
        let triangles = (0..12).map(|_| [index(), index(), index()]).collect();
        let surface = TriMesh {
            positions: positions.clone(),
            triangles,
        };
        let tets = (0..12)
            .map(|_| [index(), index(), index(), index()])
            .collect();
        let solid = TetMesh { positions, tets };
        for findings in [surface.diagnose(), solid.diagnose()] {
            assert!(findings.is_sorted_by_key(|f| f.severity));
            assert_eq!(findings[0].severity, Severity::Error);
        }
    }
}
