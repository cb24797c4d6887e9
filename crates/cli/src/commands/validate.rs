//! `stiction validate`: the analytic friction suite, for every method.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use miette::miette;
use serde::Serialize;
use stiction_record::{
    atomic,
    report::{ReportPage, RowMark},
};
use stiction_sim::Registry;

use super::{Failure, known_methods, own_folder, with_threads};
use crate::validate::{self, CaseVerdict, Row, ValidationCase};

#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// Fewer and shorter runs.
    #[arg(long)]
    quick: bool,
    /// Methods; all that solve contact by default.
    #[arg(long, value_delimiter = ',')]
    method: Vec<String>,
    /// Cases; all by default.
    #[arg(long, value_delimiter = ',')]
    case: Vec<String>,
    /// List the cases and run nothing.
    #[arg(long)]
    list: bool,
    /// Folder of report.html and report.json; `out/validation` by default.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads to use; all cores by default.
    #[arg(long)]
    threads: Option<usize>,
    /// Print one JSON document, as in report.json.
    #[arg(long)]
    json: bool,
}

/// Contents of `report.json`.
#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    quick: bool,
    passed: usize,
    failed: usize,
    refused: usize,
    verdicts: &'a [CaseVerdict],
}

pub fn main(args: ValidateArgs) -> Result<ExitCode, Failure> {
    let known = validate::cases();
    if args.list {
        for case in &known {
            println!("{:18} {}", case.name, case.title);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut cases = Vec::new();
    for name in &args.case {
        let found = known.iter().find(|c| c.name == name);
        cases.push(*found.ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|c| c.name).collect();
            Failure::Input(miette!(
                help = format!("cases: {}", names.join(", ")),
                "there is no case `{name}`"
            ))
        })?);
    }
    if cases.is_empty() {
        cases.clone_from(&known);
    }
    known_methods(args.method.iter().map(String::as_str))?;
    // A method without contact runs only if it is named, and is refused in every case.
    let methods: Vec<String> = match args.method.is_empty() {
        true => {
            let registry = Registry::default();
            let validated = registry.entries().iter().filter(|m| m.validation.is_some());
            validated.map(|m| m.name.to_owned()).collect()
        }
        false => args.method.clone(),
    };
    let dir = own_folder(args.out.as_deref(), "validation")?;
    let verdicts = with_threads(args.threads, || {
        Ok(validate::run(&cases, &methods, args.quick, |v| {
            if !args.json {
                eprintln!("{} {} {} ({:.1} s)", v.status, v.case, v.method, v.seconds);
            }
        }))
    })?;
    let count = |status: &str| verdicts.iter().filter(|v| v.status == status).count();
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        quick: args.quick,
        passed: count("passed"),
        failed: count("failed"),
        refused: count("refused"),
        verdicts: &verdicts,
    };
    let json = serde_json::to_string_pretty(&report).map_err(Failure::run)?;
    atomic::write(&dir.join("report.json"), json.as_bytes()).map_err(Failure::run)?;
    let command = format!(
        "stiction validate{} --method {}",
        if args.quick { " --quick" } else { "" },
        methods.join(",")
    );
    write_page(&dir.join("report.html"), &cases, &report, &command)?;
    match args.json {
        true => println!("{json}"),
        false => print(&report, &dir),
    }
    Ok(ExitCode::from(u8::from(report.failed > 0)))
}

/// Numbers as people read them.
fn number(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 {
        "0".to_owned()
    } else if (1e-3..1e5).contains(&size) {
        format!("{x:.6}")
    } else {
        format!("{x:.3e}")
    }
}

fn with_unit(x: f64, unit: &str) -> String {
    match unit {
        "" => number(x),
        unit => format!("{} {unit}", number(x)),
    }
}

fn print(report: &Report<'_>, dir: &Path) {
    for v in report.verdicts {
        println!("{} {}, {}", v.status, v.case, v.method);
        if let Some(why) = &v.why {
            println!("    {why}");
        }
        for r in &v.rows {
            println!(
                "  {} {}: expected {}, measured {}, off {:.1e}, allowed {:.1e}",
                if r.passed { "ok  " } else { "FAIL" },
                r.quantity,
                with_unit(r.expected, r.unit),
                with_unit(r.measured, r.unit),
                r.measured - r.expected,
                r.tolerance
            );
            if !r.passed {
                println!("       {}", r.command);
            }
        }
    }
    println!(
        "{} passed, {} failed, {} refused; {}",
        report.passed,
        report.failed,
        report.refused,
        dir.join("report.html").display()
    );
}

fn write_page(
    path: &Path,
    cases: &[ValidationCase],
    report: &Report<'_>,
    command: &str,
) -> Result<(), Failure> {
    let mut page = ReportPage::new("Validation of friction");
    page.text(&format!(
        "Stiction {}, `{command}`: {} passed, {} failed, {} refused by a method that cannot run the case. \
         Every number stands beside its closed form, with the difference that is allowed, the reason for \
         it, and the command that repeats the run; add `--out DIR` to keep it, and \
         `stiction plot DIR` to see it.",
        report.version, report.passed, report.failed, report.refused
    ));
    let overview: Vec<(RowMark, Vec<String>)> = report
        .verdicts
        .iter()
        .map(|v| {
            let good = v.rows.iter().filter(|r| r.passed).count();
            let cells = vec![
                v.case.to_owned(),
                v.method.clone(),
                v.status.to_owned(),
                format!("{good} of {}", v.rows.len()),
                format!("{:.1} s", v.seconds),
            ];
            (mark(v.status), cells)
        })
        .collect();
    page.table(
        &["case", "method", "verdict", "numbers within", "time"],
        &overview,
    );
    for case in cases {
        page.heading(2, case.name, Some(case.name));
        page.text(case.title);
        page.text(case.closed_form);
        for v in report.verdicts.iter().filter(|v| v.case == case.name) {
            page.heading(3, &format!("{}: {}", v.method, v.status), None);
            if let Some(why) = &v.why {
                page.preformatted(why);
            }
            let rows: Vec<(RowMark, Vec<String>)> = v.rows.iter().map(cells).collect();
            if !rows.is_empty() {
                page.table(
                    &[
                        "quantity",
                        "expected",
                        "measured",
                        "difference",
                        "allowed",
                        "because",
                        "command",
                    ],
                    &rows,
                );
            }
            for plot in &v.plots {
                page.plot(plot).map_err(|e| Failure::Run(miette!("{e}")))?;
            }
        }
    }
    page.write(path).map_err(Failure::run)
}

fn mark(status: &str) -> RowMark {
    match status {
        "passed" => RowMark::Good,
        "failed" => RowMark::Bad,
        _ => RowMark::None,
    }
}

fn cells(r: &Row) -> (RowMark, Vec<String>) {
    let cells = vec![
        r.quantity.clone(),
        with_unit(r.expected, r.unit),
        with_unit(r.measured, r.unit),
        format!("{:.1e}", r.measured - r.expected),
        format!("{:.1e}", r.tolerance),
        r.reason.clone(),
        format!("`{}`", r.command),
    ];
    (
        if r.passed {
            RowMark::Good
        } else {
            RowMark::Bad
        },
        cells,
    )
}
