//! A progress bar on a terminal, one line per frame otherwise.

use std::{io::IsTerminal, time::Instant};

use indicatif::{ProgressBar, ProgressStyle};
use stiction_sim::StepReport;

/// Progress bar of a run.
pub struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
    frames: u64,
    start: Instant,
    first: u64,
    steps: u64,
}

impl Progress {
    /// A display for `steps` steps and `frames` frames, of which `done` steps lie behind.
    pub fn new(quiet: bool, steps: u64, frames: u64, done: u64) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(steps).with_position(done);
            let style =
                ProgressStyle::with_template("{bar:32} {pos}/{len} steps  {msg}  {eta} left");
            if let Ok(style) = style {
                bar.set_style(style);
            }
            bar.reset_eta();
            bar
        });
        Self {
            bar,
            quiet,
            frames,
            start: Instant::now(),
            first: done,
            steps,
        }
    }

    /// After every step.
    pub fn step(&self, step: u64, frame: u64, report: &StepReport) {
        if let Some(bar) = &self.bar {
            bar.set_position(step);
            bar.set_message(format!(
                "frame {frame}/{}  contacts {}  residual {:.1e}",
                self.frames, report.contacts, report.certificate.residual
            ));
        }
    }

    /// After every frame.
    pub fn frame(&self, step: u64, time: f64, frame: u64, report: &StepReport) {
        if self.quiet || self.bar.is_some() {
            return;
        }
        let done = (step - self.first).max(1) as f64;
        let left = self.start.elapsed().as_secs_f64() / done * (self.steps - step) as f64;
        eprintln!(
            "frame {frame}/{}  t {time:.4} s  iterations {}  contacts {}  residual {:.1e}  {left:.0} s left",
            self.frames, report.iterations, report.contacts, report.certificate.residual
        );
    }

    /// A remark that stays visible.
    pub fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None if !self.quiet => eprintln!("{text}"),
            None => {}
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
