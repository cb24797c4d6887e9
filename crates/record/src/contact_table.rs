//! Contacts of a frame as a VTU point cloud and as rows of `contacts.csv`.

use crate::RecordError;
use crate::csv::{Table, TableMark, TableValue};
use crate::frame::{Cells, Data, Frame};
use crate::vtu::{Encoding, write_vtu};
use std::collections::BTreeMap;
use std::path::Path;
use stiction_contact::{ContactOutcome, ContactState};
use stiction_math::Vec3;

/// The name of the point cloud of contacts in a time series.
pub const CONTACTS: &str = "contacts.";

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

const PAIR_COLUMNS: [&str; 14] = [
    "body_a",
    "body_b",
    "contacts",
    "sticking",
    "sliding",
    "force_x",
    "force_y",
    "force_z",
    "torque_x",
    "torque_y",
    "torque_z",
    "friction_x",
    "friction_y",
    "friction_z",
];

/// Declares tables with their columns, open for appending.
macro_rules! tables {
    ($($(#[$doc:meta])* $table:ident $columns:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $table {
            table: Table,
        }

        impl $table {
            /// Starts the table, replacing the file at `path`.
            pub fn create(path: &Path) -> Result<Self, RecordError> {
                let table = Table::create(path, &$columns)?;
                Ok(Self { table })
            }

            /// Continues the table after the rows of `step`; see [`Table::resume`].
            pub fn resume(path: &Path, step: u64) -> Result<Self, RecordError> {
                let table = Table::resume(path, &$columns, step)?;
                Ok(Self { table })
            }

            /// Continues the table after a checkpointed length; see [`Table::resume_at`].
            pub fn resume_at(path: &Path, step: u64, mark: &TableMark) -> Result<Self, RecordError> {
                let table = Table::resume_at(path, &$columns, step, mark)?;
                Ok(Self { table })
            }

            /// The current extent of the table, for a checkpoint.
            pub fn mark(&self) -> TableMark {
                self.table.mark()
            }

            /// Waits until all rows are on the disk.
            pub fn sync(&mut self) -> Result<(), RecordError> {
                self.table.sync()
            }
        }
    )*};
}
tables! {
    /// `contacts.csv`.
    ContactTable COLUMNS;
    /// `pairs.csv`: for every contact pair, the number of contacts that bear a force, the numbers that stick
    /// and slide, and the force on the first [N], its torque about the origin [N·m] and its friction [N].
    PairTable PAIR_COLUMNS;
}

impl ContactTable {
    /// Appends all contacts of `step` at `time` [s]. A body without a name is shown by its index.
    pub fn append(
        &mut self,
        step: u64,
        time: f64,
        names: &[&str],
        contacts: &[ContactOutcome],
    ) -> Result<(), RecordError> {
        let rows = contacts.iter().map(|contact| {
            let mut row = [TableValue::Int(0); COLUMNS.len()];
            row[0] = name(names, contact.pair[0]);
            row[1] = name(names, contact.pair[1]);
            let vectors = [
                (2, contact.point),
                (5, contact.normal),
                (10, contact.tangential_force),
                (13, contact.slip),
            ];
            for (at, vector) in vectors {
                for axis in 0..3 {
                    row[at + axis] = TableValue::Number(vector[axis]);
                }
            }
            row[8] = TableValue::Number(contact.gap);
            row[9] = TableValue::Number(contact.normal_force);
            row[16] = TableValue::Text(contact.state.name());
            row
        });
        self.table.rows(step, time, rows)
    }
}

impl PairTable {
    /// Appends the sums over the contacts of `step` at `time` [s], pairs in ascending order.
    pub fn append(
        &mut self,
        step: u64,
        time: f64,
        names: &[&str],
        contacts: &[ContactOutcome],
    ) -> Result<(), RecordError> {
        let mut sums: BTreeMap<[u32; 2], (u32, u32, [Vec3; 3])> = BTreeMap::new();
        for c in contacts.iter().filter(|c| c.state != ContactState::Open) {
            // A pair may come in either order; the force is that on the body named first.
            let sign = if c.pair[0] <= c.pair[1] { 1.0 } else { -1.0 };
            let pair = [c.pair[0].min(c.pair[1]), c.pair[0].max(c.pair[1])];
            let (stick, slide, sum) = sums.entry(pair).or_default();
            match c.state {
                ContactState::Slide => *slide += 1,
                _ => *stick += 1,
            }
            let force = c.force() * sign;
            sum[0] += force;
            sum[1] += c.point.cross(&force);
            sum[2] += c.tangential_force * sign;
        }
        let rows = sums.iter().map(|(pair, (stick, slide, sum))| {
            let mut row = [TableValue::Int(0); PAIR_COLUMNS.len()];
            for (at, body) in pair.iter().enumerate() {
                row[at] = name(names, *body);
            }
            for (at, count) in [stick + slide, *stick, *slide].into_iter().enumerate() {
                row[2 + at] = TableValue::Int(i64::from(count));
            }
            for (at, x) in sum.iter().flat_map(|v| v.iter()).enumerate() {
                row[5 + at] = TableValue::Number(*x);
            }
            row
        });
        self.table.rows(step, time, rows)
    }
}

fn name<'a>(names: &[&'a str], body: u32) -> TableValue<'a> {
    match names.get(body as usize) {
        Some(name) => TableValue::Text(name),
        None => TableValue::Int(i64::from(body)),
    }
}

/// Writes the contacts at `time` [s] as a VTU point cloud with the arrays `body_a`, `body_b`
/// (indices), `normal`, `gap`, `normal_force`, `tangential_force`, `force` (the sum of both),
/// `slip` and `state` ([`ContactState::code`]).
pub fn write_contacts_vtu(
    path: &Path,
    time: f64,
    contacts: &[ContactOutcome],
) -> Result<(), RecordError> {
    fn column<T>(contacts: &[ContactOutcome], of: impl Fn(&ContactOutcome) -> T) -> Vec<T> {
        contacts.iter().map(of).collect()
    }
    let points = column(contacts, |c| c.point);
    let body_a = column(contacts, |c| i64::from(c.pair[0]));
    let body_b = column(contacts, |c| i64::from(c.pair[1]));
    let normal = column(contacts, |c| c.normal);
    let gap = column(contacts, |c| c.gap);
    let normal_force = column(contacts, |c| c.normal_force);
    let tangential = column(contacts, |c| c.tangential_force);
    let force = column(contacts, |c| c.force());
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

    fn contacts() -> [ContactOutcome; 2] {
        let sliding = ContactOutcome {
            pair: [0, 1],
            point: Vec3::new(0.1, 0.2, 0.3),
            normal: Vec3::z(),
            gap: -1e-6,
            normal_force: 10.0,
            tangential_force: Vec3::new(-5.0, 0.0, 0.0),
            slip: Vec3::new(0.5, 0.0, 0.0),
            state: ContactState::Slide,
        };
        let sticking = ContactOutcome {
            pair: [2, 1],
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
