//! The layout of panels: bodies on the left, plots on the right, the timeline below. What a person
//! wants first is in front without a click.

use rerun::{
    RecordingStream, RecordingStreamBuilder, SeriesLines, ViewCoordinates,
    blueprint::components::{
        AutoLayout, AutoViews, ColumnShare, ContainerKind, Eye3DKind, IncludedContent, LoopMode,
        PanelState, PlayState, QueryExpression, RootContainer, TimelineName, ViewClass,
    },
    components::{Name, Visible},
    datatypes::{Bool, Float32},
    external::{
        re_log_types::{BlueprintActivationCommand, LogMsg},
        re_sdk_types::blueprint::archetypes::{
            ContainerBlueprint, EyeControls3D, LineGrid3D, PanelBlueprint, TimePanelBlueprint,
            ViewBlueprint, ViewContents, ViewportBlueprint,
        },
    },
};
use stiction_cli::{contact::Certificate, view::Follower};

use crate::{
    Error,
    log::{PLOTS, TIME, entity},
};

/// More probes than this share plots behind tabs.
const MOST_PROBES: usize = 3;
/// Of the certificate, what is shown first.
const FIRST: [&str; 4] = ["residual", "creep", "penetration", "dynamics"];

/// Sends the layout, and what must be known of names and axes. `live` runs are followed, others
/// played in a loop, unless they shall stand still.
pub fn send(
    stream: &RecordingStream,
    follower: &Follower,
    live: bool,
    paused: bool,
) -> Result<(), Error> {
    stream.log_static("world", &ViewCoordinates::RIGHT_HAND_Z_UP())?;
    name_series(stream)?;
    let (blueprint, storage) = RecordingStreamBuilder::new("stiction")
        .recording_id("layout")
        .blueprint()
        .memory()?;
    blueprint.set_time_sequence("blueprint", 0);
    let layout = Layout { stream: &blueprint };
    layout.draw(follower)?;
    let hidden = PanelBlueprint::new().with_state(PanelState::Hidden);
    blueprint.log("blueprint_panel", &hidden)?;
    blueprint.log("selection_panel", &hidden)?;
    let play = match (paused, live) {
        (true, _) => PlayState::Paused,
        (false, true) => PlayState::Following,
        (false, false) => PlayState::Playing,
    };
    let time = TimePanelBlueprint::new()
        .with_state(PanelState::Collapsed)
        .with_timeline(TimelineName(TIME.into()))
        .with_play_state(play)
        .with_loop_mode(if live { LoopMode::Off } else { LoopMode::All });
    blueprint.log("time_panel", &time)?;
    let messages = storage.take();
    let id = messages.iter().find_map(|message| match message {
        LogMsg::SetStoreInfo(info) => Some(info.info.store_id.clone()),
        _ => None,
    });
    if let Some(blueprint_id) = id {
        let command = BlueprintActivationCommand {
            blueprint_id,
            make_active: true,
            make_default: true,
        };
        stream.send_blueprint(messages, command);
    }
    Ok(())
}

/// Names the curves of the plots, with units.
fn name_series(stream: &RecordingStream) -> Result<(), Error> {
    for (name, unit) in Certificate::FIELDS.iter().zip(Certificate::UNITS) {
        let (group, shown) = match (unit, stiction_cli::view::is_logarithmic(name)) {
            ("J", _) => ("energy", format!("{name} [J]")),
            ("", true) => ("certificate", format!("log10 {name}")),
            (unit, true) => ("certificate", format!("log10 {name} [{unit}]")),
            (unit, false) => ("certificate", format!("{name} [{unit}]")),
        };
        let path = entity(PLOTS, &[group.to_owned(), (*name).to_owned()]);
        stream.log_static(path, &SeriesLines::new().with_names([shown]))?;
    }
    for (name, colour) in [
        ("open", [150, 155, 162]),
        ("stick", [16, 150, 136]),
        ("slide", [240, 96, 32]),
    ] {
        let path = entity(PLOTS, &["contacts".to_owned(), name.to_owned()]);
        let [r, g, b] = colour;
        let line = SeriesLines::new()
            .with_names([name])
            .with_colors([rerun::Color::from_rgb(r, g, b)]);
        stream.log_static(path, &line)?;
    }
    Ok(())
}

/// Views and containers, each with a number of its own.
struct Layout<'a> {
    stream: &'a RecordingStream,
}

impl Layout<'_> {
    fn draw(&self, follower: &Follower) -> Result<(), Error> {
        let world = self.view(1, "3D", "Bodies", "/world", &["$origin/**".to_owned()])?;
        if let Some(eye) = follower.eye() {
            let [position, target] = [eye.position, eye.target].map(|p| p.map(|x| x as f32));
            let eye = EyeControls3D::new()
                .with_kind(Eye3DKind::Orbital)
                .with_position([position.x, position.y, position.z])
                .with_look_target([target.x, target.y, target.z])
                .with_eye_up([0.0, 0.0, 1.0]);
            self.stream.log(format!("{world}/EyeControls3D"), &eye)?;
        }
        let grid = LineGrid3D::new().with_visible(Visible(Bool(false)));
        self.stream.log(format!("{world}/LineGrid3D"), &grid)?;
        let first = FIRST.map(|name| format!("+ $origin/{name}"));
        let all = ["$origin/**".to_owned()];
        let mut plots = vec![
            self.plot(2, "Certificate", "certificate", &first)?,
            self.plot(3, "Energy", "energy", &all)?,
            self.plot(4, "Contacts", "contacts", &all)?,
        ];
        let mut probes = Vec::new();
        for (i, name) in follower.probes().iter().enumerate() {
            let path = entity("", &[PLOTS.to_owned(), "probes".to_owned(), name.clone()]);
            let query = [format!("+ {path}")];
            probes.push(self.view(16 + i, "TimeSeries", name, &path.to_string(), &query)?);
        }
        if probes.len() <= MOST_PROBES {
            plots.append(&mut probes);
        } else {
            plots.push(self.container(5, ContainerKind::Tabs, &probes, None)?);
        }
        let right = self.container(6, ContainerKind::Vertical, &plots, None)?;
        self.container(
            ROOT,
            ContainerKind::Horizontal,
            &[world, right],
            Some([5.0, 3.0]),
        )?;
        let viewport = ViewportBlueprint::new()
            .with_root_container(RootContainer(bytes(ROOT).into()))
            .with_auto_layout(AutoLayout(Bool(false)))
            .with_auto_views(AutoViews(Bool(false)));
        self.stream.log("viewport", &viewport)?;
        Ok(())
    }

    fn plot(
        &self,
        number: usize,
        name: &str,
        group: &str,
        queries: &[String],
    ) -> Result<String, Error> {
        self.view(
            number,
            "TimeSeries",
            name,
            &format!("/{PLOTS}/{group}"),
            queries,
        )
    }

    fn view(
        &self,
        number: usize,
        class: &str,
        name: &str,
        origin: &str,
        queries: &[String],
    ) -> Result<String, Error> {
        let path = format!("view/{}", uuid(number));
        let contents = ViewContents::new(queries.iter().map(|q| QueryExpression(q.clone().into())));
        self.stream.log(format!("{path}/ViewContents"), &contents)?;
        let view = ViewBlueprint::new(ViewClass(class.into()))
            .with_display_name(Name(name.into()))
            .with_space_origin(origin.to_owned());
        self.stream.log(path.as_str(), &view)?;
        Ok(path)
    }

    fn container(
        &self,
        number: usize,
        kind: ContainerKind,
        contents: &[String],
        shares: Option<[f32; 2]>,
    ) -> Result<String, Error> {
        let path = format!("container/{}", uuid(number));
        let contents = contents.iter().map(|c| IncludedContent(c.clone().into()));
        let mut container = ContainerBlueprint::new(kind).with_contents(contents);
        if let Some(shares) = shares {
            container = container.with_col_shares(shares.map(|s| ColumnShare(Float32(s))));
        }
        self.stream.log(path.as_str(), &container)?;
        Ok(path)
    }
}

const ROOT: usize = 7;

fn bytes(number: usize) -> [u8; 16] {
    (number as u128).to_be_bytes()
}

/// As identifiers are written in paths.
fn uuid(number: usize) -> String {
    format!("00000000-0000-0000-0000-{number:012x}")
}
