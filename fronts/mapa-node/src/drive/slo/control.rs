//! The loop: once a tick, what was told, what each controller orders, what is done.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use mapa_front::slo_log::LogLine;
use mapa_live::levers::{self, FolderJournal, Keeper};
use mapa_live::telemetry::Watched;
use mapa_live::{Live, Processes, Roots};
use mapa_sched::Time;
use mapa_system_slo::{Input, Order, Relaunched};
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tracing::{info, warn};

use super::actuator::Hands;
use super::config::{Config, Tenant};
use super::contention::Besides;
use super::controller::{Mind, answered};
use super::handover::Moves;
use super::neighbours::{Eyes, snapshot};
use crate::cli::Length;
use crate::drive::sampling::{GONE, Plan, Sampling};
use crate::drive::{Inbox, Message, Outside, inbox, now_ms, read_toml};
use crate::error::Error;
use crate::lines;
use crate::service::{Log, latencies, log};
use crate::undone::Undone;

/// The options of `mapa-node slo`.
#[derive(Debug, Args)]
pub(crate) struct SloArgs {
    /// The configuration: packaging/slo.toml has every key.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Pull no lever: print what would be pulled.
    #[arg(long)]
    pub dry_run: bool,
    /// Add each tenant's decisions to FOLDER/TENANT.jsonl.
    #[arg(long, value_name = "FOLDER")]
    pub record: Option<PathBuf>,
    /// End after this time [default: when it is told to].
    #[arg(long = "for", value_name = "TIME")]
    pub length: Option<Length>,
    /// Where sysfs, procfs and cgroupfs lie [default: /].
    #[arg(long, value_name = "FOLDER", hide_short_help = true)]
    pub root: Option<PathBuf>,
    /// How the log is written: text or json.
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub log: Log,
}

/// One tenant.
struct Guarded {
    name: String,
    mind: Mind,
    /// The number of the hand-over that its controller waits for.
    awaits: Option<u64>,
    became: Option<Relaunched>,
    to: Option<File>,
}

/// Guards tenants until it is told to end.
///
/// # Errors
/// The configuration is not as expected, a socket or the state cannot be had.
pub(crate) fn slo(args: &SloArgs, mut live: Live) -> Result<(), Error> {
    log(args.log, false);
    let config: Config = read_toml::<Config>(&args.config)?
        .checked()
        .map_err(|error| Error::malformed(format_args!("{}: {error}", args.config.display())))?;
    if let Some(root) = &args.root {
        live.roots = Roots::below(root);
    }
    let processes = Processes::new()?;
    let keeper = keeper(&config, &live, &config.state)?;
    // A hand-over has a journal of its own, because it goes on beside the loop.
    let movers = self::keeper(&config, &live, &config.state.join("moves"))?;
    let mut hands = Hands {
        config: &config,
        roots: &live.roots,
        processes: &processes,
        keeper,
        is_dry: args.dry_run,
        undone: Undone::default(),
    };
    let mut tenants = guarded(&config, args, &mut hands)?;
    let places = tenants
        .iter()
        .map(|own| (own.name.clone(), own.mind.place()));
    let mut moves = Moves::begin(&config, movers, args.dry_run, places.collect())?;
    // A socket holds ten datagrams until somebody reads them, so a thread reads at once.
    let (outside, inbox) = inbox();
    listen(&outside)?;
    if let Some(path) = &config.latencies {
        latencies::serve(path, None, &outside)?;
    }
    let mut besides = Besides::new(&config, &live)?;
    let mut sampling = sampling(&config, &live, &besides, &outside)?;
    info!(tenants = tenants.len(), "ready");
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
    // A daemon that gives no answer takes its time.
    for what in hands.absent() {
        warn!(what, "not there yet");
    }

    let began = Instant::now();
    let length = Duration::from_millis(config.settings.tick_ms.0);
    let until = args.length.map(|own| Duration::from_secs(own.0));
    let mut eyes = Eyes::default();
    let mut tick: u64 = 0;
    let mut is_gone = false;
    while until.is_none_or(|until| began.elapsed() < until) {
        tick = following(tick, began.elapsed(), length);
        let next = length.saturating_mul(u32::try_from(tick).unwrap_or(u32::MAX));
        let mut told: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        if !hear(began + next, &inbox, &config, &mut told) {
            break;
        }
        let at_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        hands.tick(now_ms());
        if besides.learn(&config, &live) {
            match self::sampling(&config, &live, &besides, &outside) {
                Ok(own) => sampling = own,
                Err(error) => warn!(%error, "counters are not read"),
            }
        }
        let news = sampling.as_ref().and_then(Sampling::take);
        let was_gone = std::mem::replace(
            &mut is_gone,
            sampling.as_ref().is_some_and(Sampling::is_gone),
        );
        if is_gone && !was_gone {
            warn!(place = "counters", what = GONE, "trouble");
        }
        let seen = eyes.look(&config, &live.roots, &processes, at_ms);
        for moved in moves.done() {
            info!(tenant = moved.tenant, became = ?moved.became, "handed over");
            let own = tenants.iter_mut().find(|own| own.name == moved.tenant);
            // One that its controller has given up is told of no more.
            if let Some(own) = own.filter(|own| own.awaits == Some(moved.number)) {
                own.awaits = None;
                own.became = Some(moved.became);
            }
        }
        for own in &mut tenants {
            let tenant = &config.tenants[&own.name];
            let latencies_ns = told.remove(&own.name).unwrap_or_default();
            let now = Time(at_ms.saturating_mul(1_000_000));
            let answered = answered(now, &latencies_ns);
            let named = snapshot(&config, &seen, tenant.places.len());
            let judged = besides.judge(&own.name, &own.mind, named, news.as_ref());
            let input = Input {
                tick,
                latencies_ns,
                snapshot: Some(judged.snapshot),
                relaunch: own.became.take(),
                ..Input::default()
            };
            let from = own.mind.place();
            let (orders, reason, line) = own.mind.tick(&own.name, input, &answered);
            if let Some(line) = &line {
                own.write(line);
            }
            for order in &orders {
                let contention = if judged.is_inferred {
                    "inferred from counters"
                } else {
                    "named"
                };
                info!(tenant = own.name, order = ?order, reason, contention, "ordered");
                match order {
                    Order::Relaunch { to, warm, .. } => {
                        own.awaits = Some(moves.order(&own.name, to.place, *warm));
                    }
                    Order::Restore { to } => {
                        own.awaits = None;
                        moves.order(&own.name, to.place, true);
                    }
                    _ => hands.carry_out(&own.name, from, order, tick, now_ms()),
                }
            }
        }
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Watchdog]);
    }
    let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
    info!("ends");
    hands.close();
    moves.end();
    if let Some(path) = &config.latencies {
        drop(std::fs::remove_file(path));
    }
    Ok(())
}

/// The levers, with a journal in a folder. What was left there after a crash is taken back.
///
/// # Errors
/// The journal cannot be read.
fn keeper(config: &Config, live: &Live, folder: &Path) -> Result<Keeper<FolderJournal>, Error> {
    let failed = |error| Error::at("levers", error);
    let journal = FolderJournal::open(folder).map_err(failed)?;
    let all = levers::Hands::of(live, config.levers.bounds);
    let (keeper, facts) = Keeper::open(all, journal, now_ms()).map_err(failed)?;
    for fact in facts {
        info!(fact = ?fact, "after a crash");
    }
    Ok(keeper)
}

/// The controllers, each at the place where its tenant runs.
fn guarded(config: &Config, args: &SloArgs, hands: &mut Hands<'_>) -> Result<Vec<Guarded>, Error> {
    let mut all = Vec::new();
    for (turn, (name, tenant)) in config.tenants.iter().enumerate() {
        let programs = &hands.keeper.hands().programs;
        let runs = |launch: &levers::Launch| matches!(programs.running(&launch.id), Ok(Some(_)));
        let place = tenant.places.iter().position(runs).unwrap_or(0);
        let mind = Mind::new(config, name, turn, place as u32)?;
        let mut own = Guarded {
            name: name.clone(),
            to: None,
            awaits: None,
            became: None,
            mind,
        };
        if let Some(folder) = &args.record {
            let path = folder.join(format!("{name}.jsonl"));
            let failed = |error| Error::at(path.display(), error);
            std::fs::create_dir_all(folder).map_err(failed)?;
            // Each run begins with a head of its own.
            own.to = Some(lines::append(&path).map_err(failed)?);
            let head = own.mind.head();
            own.write(&head);
        }
        all.push(own);
    }
    Ok(all)
}

impl Guarded {
    fn write(&mut self, line: &LogLine) {
        let Some(to) = &mut self.to else {
            return;
        };
        let text = serde_json::to_string(line).unwrap_or_default();
        if let Err(error) = writeln!(to, "{text}") {
            warn!(tenant = self.name, %error, "its log ends here");
            self.to = None;
        }
    }
}

/// The counters of devices and exporters, if somebody needs them.
///
/// # Errors
/// The thread that samples cannot be started.
fn sampling(
    config: &Config,
    live: &Live,
    besides: &Besides,
    to: &Outside,
) -> Result<Option<Sampling>, Error> {
    let of = |(name, own): (&String, &Tenant)| Some((name.clone(), own.exporter.clone()?));
    let sources: BTreeMap<_, _> = config.tenants.iter().filter_map(of).collect();
    let gpus = besides.needs_devices();
    if !gpus && sources.is_empty() {
        return Ok(None);
    }
    let watched = Watched {
        gpus,
        targets: config.telemetry.targets(sources.values()),
        ..Watched::default()
    };
    let plan = Plan {
        every: Duration::from_millis(config.settings.tick_ms.0),
        watched,
        sources,
        to: to.clone(),
    };
    Sampling::begin(live, plan).map(Some)
}

/// Has signals told as messages.
fn listen(outside: &Outside) -> Result<(), Error> {
    let mut signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|error| Error::at("signals", error))?;
    let to = outside.clone();
    thread::spawn(move || {
        for signal in &mut signals {
            to.tell(Message::Stop(signal));
        }
    });
    Ok(())
}

/// The number of the next tick. Ticks that a late one has missed are left out.
fn following(tick: u64, elapsed: Duration, length: Duration) -> u64 {
    let passed = elapsed.as_millis() / length.as_millis().max(1);
    (tick + 1).max(u64::try_from(passed).unwrap_or(u64::MAX))
}

/// The most latencies of a tenant in one tick. Of more, the first ones count.
const MOST: usize = 65_536;

/// Hears what tenants tell until a moment; after it, what has been told already. False if a signal came.
fn hear(
    until: Instant,
    inbox: &Inbox,
    config: &Config,
    told: &mut BTreeMap<String, Vec<u64>>,
) -> bool {
    let mut late = 0;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let message = if left.is_zero() {
            late += 1;
            // Whoever tells more and more does not hold the loop up.
            inbox.waiting().filter(|_| late <= MOST)
        } else {
            inbox.next(left)
        };
        match message {
            Some(Message::Stop(_)) => return false,
            // Whoever is not promised anything may say what it likes.
            Some(Message::Latency { tenant, took_ns }) if config.tenants.contains_key(&tenant) => {
                let own = told.entry(tenant).or_default();
                if own.len() < MOST {
                    own.push(took_ns);
                }
            }
            Some(_) => {}
            None if left.is_zero() => return true,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::parse_toml;

    #[test]
    fn a_late_tick_hears_what_was_told_and_leaves_missed_ticks_out() {
        let config = "state = \"s\"\nlatencies = \"l\"\n[tenants.api]\npromise_ms = 15\n";
        let config: Config = parse_toml(config).unwrap();
        let (outside, inbox) = inbox();
        let tell = |tenant: &str, took_ns| {
            let tenant = tenant.to_owned();
            outside.tell(Message::Latency { tenant, took_ns });
        };
        tell("api", 5);
        tell("stranger", 6);
        tell("api", 7);
        let mut told = BTreeMap::new();
        assert!(hear(Instant::now(), &inbox, &config, &mut told));
        assert_eq!(told, [("api".to_owned(), vec![5, 7])].into());
        outside.tell(Message::Stop(15));
        assert!(!hear(Instant::now(), &inbox, &config, &mut told));

        let of = |tick, ms| following(tick, Duration::from_millis(ms), Duration::from_secs(1));
        assert_eq!(
            [of(0, 0), of(3, 3010), of(3, 5300), of(9, 2000)],
            [1, 4, 5, 10]
        );
    }
}
