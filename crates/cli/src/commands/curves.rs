//! Curves of recorded runs: probes and certificates over time, of one run or of several together.

use std::path::Path;

use stiction_contact::Certificate;
use stiction_record::{
    RecordError, StoredTable, Summary,
    plot::{Figure, Plot, Scale, Series},
    read_table,
};

/// Columns of the certificate that are shown by default.
const USUAL: [&str; 7] = [
    "residual",
    "creep",
    "dynamics",
    "penetration",
    "kinetic",
    "elastic",
    "potential",
];

/// More points than a picture has pixels are thinned out.
const MOST_POINTS: usize = 2000;

/// The size of one plot [pixels].
const SIZE: (u32, u32) = (720, 440);

/// A run as its folder keeps it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Name in legends.
    pub label: String,
    /// Its summary.
    pub summary: Summary,
    probes: StoredTable,
    certificate: StoredTable,
}

/// A number that was followed.
#[derive(Clone, Debug, PartialEq)]
struct Column {
    certificate: bool,
    name: String,
    unit: String,
}

impl Recorded {
    /// Reads a run's folder.
    pub fn read(dir: &Path, label: &str) -> Result<Self, RecordError> {
        Ok(Self {
            label: label.to_owned(),
            summary: Summary::read(&dir.join("summary.json"))?,
            probes: read_table(&dir.join("probes.csv"))?,
            certificate: read_table(&dir.join("certificate.csv"))?,
        })
    }

    /// A column of the certificate, one number per step.
    pub fn certificate(&self, field: &str) -> Vec<f64> {
        self.certificate.numbers(field).unwrap_or_default()
    }

    fn columns(&self) -> Vec<Column> {
        let probes = self.summary.probes.0.iter().map(|(name, probe)| Column {
            certificate: false,
            name: name.clone(),
            unit: probe.unit.clone(),
        });
        let fields = Certificate::FIELDS.iter().zip(Certificate::UNITS);
        let certificate = fields.map(|(name, unit)| Column {
            certificate: true,
            name: (*name).to_owned(),
            unit: unit.to_owned(),
        });
        probes.chain(certificate).collect()
    }

    fn series(&self, column: &Column, name: String) -> Series {
        let table = match column.certificate {
            true => &self.certificate,
            false => &self.probes,
        };
        let times = table.numbers("time").unwrap_or_default();
        let values = table.numbers(&column.name).unwrap_or_default();
        let points = times.into_iter().zip(values).collect();
        Series { name, points }.thinned(MOST_POINTS)
    }
}

impl Column {
    /// Errors span many powers of ten; probes and energies do not.
    fn scale(&self) -> Scale {
        match self.certificate && self.unit != "J" {
            true => Scale::Logarithmic,
            false => Scale::Linear,
        }
    }

    fn called(&self, name: &str) -> bool {
        match name.strip_prefix("certificate.") {
            Some(field) => self.certificate && self.name == field,
            None => !self.certificate && self.name == name,
        }
    }

    fn shares_axis(&self, other: &Self) -> bool {
        self.certificate == other.certificate && self.unit == other.unit
    }

    fn label(&self, name: &str) -> String {
        match self.unit.as_str() {
            "" => name.to_owned(),
            unit => format!("{name} [{unit}]"),
        }
    }
}

/// Plots of the named columns: probes by their name, the certificate's as `certificate.NAME`; all
/// probes and the usual part of the certificate if none are named. Of one run, what has the same
/// unit shares its axes; of several runs, each column has a plot with all of them.
pub fn figure(runs: &[Recorded], named: &[String]) -> Result<Figure, String> {
    let Some(first) = runs.first() else {
        return Err("there is no run to show".to_owned());
    };
    let all = first.columns();
    let mut chosen = Vec::new();
    for name in named {
        match all.iter().find(|c| c.called(name)) {
            Some(column) => chosen.push(column.clone()),
            None => {
                let known: Vec<String> = all
                    .iter()
                    .map(|c| match c.certificate {
                        true => format!("certificate.{}", c.name),
                        false => c.name.clone(),
                    })
                    .collect();
                return Err(format!(
                    "no column `{name}`; there are {}",
                    known.join(", ")
                ));
            }
        }
    }
    if named.is_empty() {
        let usual = |c: &&Column| !c.certificate || USUAL.contains(&c.name.as_str());
        chosen = all.iter().filter(usual).cloned().collect();
    }
    let plots: Vec<Plot> = match runs {
        [run] => {
            let mut groups: Vec<Vec<Column>> = Vec::new();
            for column in chosen {
                match groups.iter_mut().find(|g| g[0].shares_axis(&column)) {
                    Some(group) => group.push(column),
                    None => groups.push(vec![column]),
                }
            }
            groups.iter().map(|g| of_one(run, g)).collect()
        }
        several => chosen.iter().map(|c| of_several(several, c)).collect(),
    };
    let columns = if plots.len() == 1 { 1 } else { 2 };
    Ok(Figure { plots, columns })
}

fn of_one(run: &Recorded, group: &[Column]) -> Plot {
    let Summary { scene, method, .. } = &run.summary;
    let what = match (group[0].certificate, group) {
        (true, _) => "certificate",
        (false, [one]) => &one.name,
        (false, _) => "probes",
    };
    let series: Vec<Series> = group
        .iter()
        .map(|c| run.series(c, c.name.clone()))
        .collect();
    let label = match group {
        [one] => one.label(&one.name),
        _ => group[0].label(what),
    };
    plot(
        format!("{scene}, {method}: {what}"),
        label,
        group[0].scale(),
        series,
    )
}

fn of_several(runs: &[Recorded], column: &Column) -> Plot {
    let title = match column.certificate {
        true => format!("{}: certificate, {}", runs[0].summary.scene, column.name),
        false => format!("{}: {}", runs[0].summary.scene, column.name),
    };
    let series = runs.iter().map(|r| r.series(column, r.label.clone()));
    let series = series.filter(|s| !s.points.is_empty()).collect();
    plot(title, column.label(&column.name), column.scale(), series)
}

fn plot(title: String, y_label: String, y_scale: Scale, series: Vec<Series>) -> Plot {
    let shown = |y: f64| y_scale == Scale::Linear || y > 0.0;
    let empty = !series.iter().flat_map(|s| &s.points).any(|p| shown(p.1));
    Plot {
        // A logarithmic axis has no place for zero.
        title: match empty {
            true => format!("{title} (zero throughout)"),
            false => title,
        },
        x_label: "time [s]".to_owned(),
        y_label,
        y_scale,
        series,
        size: SIZE,
        ..Plot::default()
    }
}
