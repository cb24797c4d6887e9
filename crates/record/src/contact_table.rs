//! Contacts of a frame as a VTU point cloud and as rows of `contacts.csv`.

use crate::RecordError;
use crate::csv::{Table, Value};
use crate::frame::{Cells, Data, Frame};
use crate::vtu::{Encoding, write_vtu};
use std::path::Path;
use stiction_math::Vec3;

/// What a contact does according to Coulomb's law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactState {
    /// No force.
    Open,
    /// The force is inside the friction cone and nothing slides.
    Stick,
    /// The force is on the cone's surface, against the sliding.
    Slide,
}

impl ContactState {
    /// The word used in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Stick => "stick",
            Self::Slide => "slide",
        }
    }

    /// The number used in VTU files: 0 open, 1 stick, 2 slide.
    pub fn code(self) -> i64 {
        match self {
            Self::Open => 0,
            Self::Stick => 1,
            Self::Slide => 2,
        }
    }
}

/// One contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactRow {
    /// The two bodies, as indices into the list of names.
    pub bodies: [u32; 2],
    /// Where they touch [m].
    pub point: Vec3,
    /// Unit normal, from the second body to the first.
    pub normal: Vec3,
    /// Signed distance along the normal [m]; negative when they overlap.
    pub gap: f64,
    /// Force along the normal on the first body [N].
    pub normal_force: f64,
    /// Friction force on the first body [N], world frame.
    pub tangential_force: Vec3,
    /// Tangential velocity of the first body relative to the second [m/s], world frame.
    pub slip: Vec3,
    /// What the contact does.
    pub state: ContactState,
}

const COLUMNS: [&str; 17] = [
    "body_a",
    "body_b",
    "x",
    "y",
    "z",
    "normal_x",
    "normal_y",
    "normal_z",
    "gap",
    "normal_force",
    "tangential_x",
    "tangential_y",
    "tangential_z",
    "slip_x",
    "slip_y",
    "slip_z",
    "state",
];

/// `contacts.csv`, open for appending.
#[derive(Debug)]
pub struct ContactTable {
    table: Table,
}

impl ContactTable {
    /// Starts the table, replacing what was at `path`.
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        let table = Table::create(path, &COLUMNS)?;
        Ok(Self { table })
    }

    /// Continues the table after the rows of `step`; see [`Table::resume`].
    pub fn resume(path: &Path, step: u64) -> Result<Self, RecordError> {
        let table = Table::resume(path, &COLUMNS, step)?;
        Ok(Self { table })
    }

    /// Appends all contacts of `step` at `time` [s]. A body without a name is shown by its index.
    pub fn append(
        &mut self,
        step: u64,
        time: f64,
        names: &[&str],
        contacts: &[ContactRow],
    ) -> Result<(), RecordError> {
        let name = |body: u32| match names.get(body as usize) {
            Some(name) => Value::Text(name),
            None => Value::Int(i64::from(body)),
        };
        let rows = contacts.iter().map(|contact| {
            let mut row = [Value::Int(0); COLUMNS.len()];
            row[0] = name(contact.bodies[0]);
            row[1] = name(contact.bodies[1]);
            let vectors = [
                (2, contact.point),
                (5, contact.normal),
                (10, contact.tangential_force),
                (13, contact.slip),
            ];
            for (at, vector) in vectors {
                for axis in 0..3 {
                    row[at + axis] = Value::Number(vector[axis]);
                }
            }
            row[8] = Value::Number(contact.gap);
            row[9] = Value::Number(contact.normal_force);
            row[16] = Value::Text(contact.state.name());
            row
        });
        self.table.rows(step, time, rows)
    }

    /// Waits until all rows are on the disk itself.
    pub fn sync(&mut self) -> Result<(), RecordError> {
        self.table.sync()
    }
}

/// Writes the contacts at `time` [s] as a VTU cloud of points with the arrays `body_a`, `body_b`
/// (indices), `normal`, `gap`, `normal_force`, `tangential_force`, `force` (the sum of both),
/// `slip` and `state` ([`ContactState::code`]).
pub fn write_contacts_vtu(
    path: &Path,
    time: f64,
    contacts: &[ContactRow],
) -> Result<(), RecordError> {
    fn column<T>(contacts: &[ContactRow], of: impl Fn(&ContactRow) -> T) -> Vec<T> {
        contacts.iter().map(of).collect()
    }
    let points = column(contacts, |c| c.point);
    let body_a = column(contacts, |c| i64::from(c.bodies[0]));
    let body_b = column(contacts, |c| i64::from(c.bodies[1]));
    let normal = column(contacts, |c| c.normal);
    let gap = column(contacts, |c| c.gap);
    let normal_force = column(contacts, |c| c.normal_force);
    let tangential = column(contacts, |c| c.tangential_force);
    let force = column(contacts, |c| c.normal * c.normal_force + c.tangential_force);
    let slip = column(contacts, |c| c.slip);
    let state = column(contacts, |c| c.state.code());
    let frame = Frame {
        name: "contacts",
        time,
        positions: &points,
        cells: Cells::Points,
        point_data: &[
            ("body_a", Data::Ints(&body_a)),
            ("body_b", Data::Ints(&body_b)),
            ("normal", Data::Vectors(&normal)),
            ("gap", Data::Scalars(&gap)),
            ("normal_force", Data::Scalars(&normal_force)),
            ("tangential_force", Data::Vectors(&tangential)),
            ("force", Data::Vectors(&force)),
            ("slip", Data::Vectors(&slip)),
            ("state", Data::Ints(&state)),
        ],
        cell_data: &[],
        field_data: &[],
    };
    write_vtu(path, &frame, Encoding::Raw)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::{
        read_table,
        vtu_read::{StoredData, read_vtu},
    };

    fn contacts() -> [ContactRow; 2] {
        let sliding = ContactRow {
            bodies: [0, 1],
            point: Vec3::new(0.1, 0.2, 0.3),
            normal: Vec3::z(),
            gap: -1e-6,
            normal_force: 10.0,
            tangential_force: Vec3::new(-5.0, 0.0, 0.0),
            slip: Vec3::new(0.5, 0.0, 0.0),
            state: ContactState::Slide,
        };
        let sticking = ContactRow {
            bodies: [2, 1],
            state: ContactState::Stick,
            slip: Vec3::zeros(),
            ..sliding
        };
        [sliding, sticking]
    }

    #[test]
    fn the_table_names_columns_bodies_and_states() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("contacts.csv");
        let mut table = ContactTable::create(&path).unwrap();
        table
            .append(4, 0.4, &["cloth", "ground"], &contacts())
            .unwrap();
        table.append(5, 0.5, &["cloth", "ground"], &[]).unwrap();
        table
            .append(6, 0.6, &["cloth", "ground"], &contacts())
            .unwrap();
        table.sync().unwrap();
        let mut table = ContactTable::resume(&path, 5).unwrap();
        table
            .append(7, 0.7, &["cloth", "ground"], &contacts()[1..])
            .unwrap();
        let back = read_table(&path).unwrap();
        assert_eq!(back.rows.len(), 3);
        assert_eq!(back.numbers("step").unwrap(), [4.0, 4.0, 7.0]);
        assert_eq!(back.numbers("z").unwrap()[0], 0.3);
        assert_eq!(back.numbers("normal_z").unwrap()[0], 1.0);
        assert_eq!(back.numbers("gap").unwrap()[0], -1e-6);
        assert_eq!(back.numbers("normal_force").unwrap()[0], 10.0);
        assert_eq!(back.numbers("tangential_x").unwrap()[0], -5.0);
        assert_eq!(back.numbers("slip_x").unwrap()[..2], [0.5, 0.0]);
        assert_eq!(back.rows[0][2..4], ["cloth", "ground"]);
        assert_eq!(back.rows[1][2], "2");
        assert_eq!(back.rows[2].last().unwrap(), "stick");
    }

    #[test]
    fn the_cloud_carries_every_array() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("contacts.vtu");
        write_contacts_vtu(&path, 0.5, &contacts()).unwrap();
        let back = read_vtu(&path).unwrap();
        let find = |name: &str| &back.point_data.iter().find(|(n, _)| n == name).unwrap().1;
        assert_eq!(find("state"), &StoredData::Ints(vec![2, 1]));
        assert_eq!(find("body_a"), &StoredData::Ints(vec![0, 2]));
        let total = Vec3::new(-5.0, 0.0, 10.0);
        assert_eq!(find("force"), &StoredData::Vectors(vec![total, total]));
        write_contacts_vtu(&path, 0.5, &[]).unwrap();
        assert!(read_vtu(&path).unwrap().positions.is_empty());
    }
}
