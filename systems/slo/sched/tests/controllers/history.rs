//! Random histories with faults: feeds that stop, clocks that go back, relaunches that fail, and
//! crashes. A small driver carries orders out and checks what must always hold.

use mapa_system_slo::replay::{self, PastRequest, ReplayInput, ReplaySettings, ReplayState};
use mapa_system_slo::{
    ControllerAction, ControllerCommand, ControllerState, EnabledLevers, PhaseKind, RelaunchReason,
    Relaunched, Settings, TenantSetup, ThrottleState, TickInput, recorded, step,
};
use proptest::prelude::*;

use super::{settings, snapshot};

/// What happens in one tick.
#[derive(Clone, Debug)]
struct Happening {
    latencies_ms: Vec<u64>,
    places: Vec<(u32, bool)>,
    fault: Fault,
}

#[derive(Clone, Debug)]
enum Fault {
    None,
    /// The feed is silent, or its counters are this old.
    Silent(Option<u32>),
    /// The clock jumps by so much.
    Clock(i64),
    /// A relaunch under way fails.
    RelaunchFails,
    /// The controller dies and is restored from its state so many ticks ago.
    Crash(usize),
    Stop,
}

fn happening() -> impl Strategy<Value = Happening> {
    let fault = prop_oneof![
        60 => Just(Fault::None),
        3 => prop_oneof![Just(None), (4_u32..9).prop_map(Some)].prop_map(Fault::Silent),
        1 => (-400_i64..400).prop_map(Fault::Clock),
        2 => Just(Fault::RelaunchFails),
        1 => (0_usize..30).prop_map(Fault::Crash),
        1 => Just(Fault::Stop),
    ];
    let latencies = prop::collection::vec(prop_oneof![3 => 16_u64..40, 1 => 2_u64..14], 0..4);
    let places = prop::collection::vec((0_u32..3, any::<bool>()), 3);
    (latencies, places, fault).prop_map(|(latencies_ms, places, fault)| Happening {
        latencies_ms,
        places,
        fault,
    })
}

/// Stretches of happenings of one kind, so that tails persist, neighbours stay and relaxing happens.
fn histories() -> impl Strategy<Value = Vec<Happening>> {
    let stretch =
        (happening(), 1_usize..120, any::<bool>()).prop_map(|(happening, length, fast)| {
            let mut all = Vec::new();
            for at in 0..length {
                let mut next = happening.clone();
                if at > 0 && !matches!(happening.fault, Fault::Silent(_)) {
                    next.fault = Fault::None;
                }
                if fast {
                    next.latencies_ms
                        .iter_mut()
                        .for_each(|ms| *ms = 3 + *ms % 4);
                }
                all.push(next);
            }
            all
        });
    prop::collection::vec(stretch, 1..16).prop_map(|all| all.concat())
}

/// Some levers, a short dwell and cool-down.
fn any_settings() -> impl Strategy<Value = Settings> {
    let levers = prop::array::uniform5(prop::bool::weighted(0.8));
    (levers, 0_u32..40, 0_u32..40, 1_u32..20, any::<bool>()).prop_map(
        |(
            [throttle, moves, enlarge, relax, validate],
            dwell,
            cool_down,
            throttle_ticks,
            afresh,
        )| {
            let levers = EnabledLevers {
                throttle,
                moves,
                enlarge,
                relax,
                validate,
                pin: moves,
                admission: false,
            };
            Settings {
                dwell,
                cool_down,
                throttle_ticks,
                window: 8,
                relax_ticks: 12,
                judge_throttle_afresh: afresh,
                ..settings(levers)
            }
        },
    )
}

/// A driver: it carries out what is ordered, and knows the real time.
struct Driver {
    config: TenantSetup,
    /// A relaunch under way: the real tick of its end, and the configuration.
    relaunch: Option<(u64, TenantSetup)>,
    throttled: Option<u64>,
    throttled_ticks: u64,
    last_relaunch: Option<u64>,
    /// By how much the clock has jumped forward since: the controller cannot know that less time
    /// has passed.
    jumped: u64,
    /// The configuration before the last relaunch, and why that was made.
    before: Option<(TenantSetup, RelaunchReason)>,
    enlarged: u32,
}

impl Driver {
    fn new() -> Self {
        Self {
            config: TenantSetup::at(0),
            relaunch: None,
            throttled: None,
            throttled_ticks: 0,
            last_relaunch: None,
            jumped: 0,
            before: None,
            enlarged: 0,
        }
    }

    /// Carries an order out and checks it; `now` is the real tick, `ready` whether the window was.
    fn carry_out(
        &mut self,
        own: &Settings,
        order: ControllerAction,
        now: u64,
        ready: bool,
        replays: bool,
    ) -> Result<(), TestCaseError> {
        match order {
            ControllerAction::Throttle {
                until: _,
                io_mb_s,
                mps_percent,
            } => {
                prop_assert!(own.levers.throttle);
                prop_assert!((100..=500).contains(&io_mb_s) && (50..=100).contains(&mps_percent));
                prop_assert!(self.relaunch.is_none(), "a throttle while relaunching");
                prop_assert!(ready || replays, "a throttle on a window that is not ready");
                prop_assert!(self.throttled.is_none());
                self.throttled = Some(now);
            }
            ControllerAction::Lift => self.throttled = None,
            ControllerAction::Relaunch { to, why, .. } => {
                prop_assert!(self.relaunch.is_none(), "two relaunches at once");
                prop_assert!(ready, "a relaunch on a window that is not ready");
                if why != RelaunchReason::Rollback {
                    let apart = self
                        .last_relaunch
                        .is_none_or(|last| now + self.jumped - last >= u64::from(own.dwell));
                    prop_assert!(apart, "{} after {:?}", now, self.last_relaunch);
                }
                self.check_lever(own, to, why)?;
                self.before = Some((self.config, why));
                (self.last_relaunch, self.jumped) = (Some(now), 0);
                let takes = 5 + now % 20;
                self.relaunch = Some((now + takes, to));
            }
            ControllerAction::Restore { to } => {
                self.relaunch = None;
                prop_assert_eq!(to, self.config, "what is restored is what was before");
                (self.last_relaunch, self.jumped) = (Some(now), 0);
                // An enlargement that failed did not take place.
                let is_larger = matches!(self.before, Some((_, RelaunchReason::Enlarge)));
                self.enlarged -= u32::from(is_larger);
                self.before = None;
            }
            ControllerAction::Admit { .. } | ControllerAction::Reject { .. } => prop_assert!(false),
        }
        Ok(())
    }

    fn check_lever(
        &mut self,
        own: &Settings,
        to: TenantSetup,
        why: RelaunchReason,
    ) -> Result<(), TestCaseError> {
        let levers = own.levers;
        match why {
            RelaunchReason::Rollback => {
                prop_assert!(levers.validate);
                let (before, last) = self.before.unwrap();
                prop_assert_eq!(to, before, "a rollback restores everything");
                prop_assert!(
                    last != RelaunchReason::Rollback,
                    "a rollback is not rolled back"
                );
            }
            RelaunchReason::Move => prop_assert!(levers.moves && to.place != self.config.place),
            RelaunchReason::Enlarge => {
                prop_assert!(levers.enlarge && to.profile == self.config.profile + 1);
                self.enlarged += 1;
                prop_assert!(self.enlarged < own.model.profiles() as u32);
            }
            RelaunchReason::Shrink => {
                prop_assert!(levers.relax && to.profile + 1 == self.config.profile);
                self.enlarged = 0;
            }
            RelaunchReason::Replay => {
                prop_assert!(to.place == self.config.place || levers.moves);
                prop_assert!(to.profile <= self.config.profile || levers.enlarge);
                prop_assert!(to.profile >= self.config.profile || levers.relax);
            }
        }
        Ok(())
    }

    /// What became of a relaunch by now.
    fn relaunched(&mut self, now: u64, fails: bool) -> Option<Relaunched> {
        let (until, to) = self.relaunch?;
        if fails {
            return Some(Relaunched::Failed);
        }
        if now < until {
            return None;
        }
        self.config = to;
        self.relaunch = None;
        Some(Relaunched::Done)
    }

    /// After the orders of a tick.
    fn tick(&mut self, own: &Settings, now: u64) -> Result<(), TestCaseError> {
        if let Some(since) = self.throttled {
            self.throttled_ticks += 1;
            prop_assert!(
                now - since <= u64::from(own.throttle_ticks),
                "a throttle outlives its time"
            );
        }
        Ok(())
    }
}

/// Either controller.
enum Controller {
    Paper(Box<ControllerState>),
    Replay(Box<ReplaySettings>, Box<ReplayState>),
}

impl Controller {
    fn base(&self) -> &ControllerState {
        match self {
            Self::Paper(own) => own,
            Self::Replay(_, own) => &own.base,
        }
    }

    fn step(&mut self, settings: &Settings, input: &TickInput, now: u64) -> Vec<ControllerAction> {
        match self {
            Self::Paper(own) => step(settings, own, input).orders,
            Self::Replay(settings, own) => {
                let requests = input
                    .latencies_ns
                    .iter()
                    .enumerate()
                    .map(|(at, ns)| PastRequest {
                        arrived_ms: now as f64 * 1e3 + at as f64,
                        transfer_ms: *ns as f64 / 2e6,
                        compute_ms: *ns as f64 / 3e6,
                    });
                let input = ReplayInput {
                    base: input.clone(),
                    requests: requests.collect(),
                };
                replay::step(settings, own, &input).base.orders
            }
        }
    }

    /// The state as a driver writes and reads it.
    fn text(&self) -> String {
        match self {
            Self::Paper(own) => serde_json::to_string(own).unwrap(),
            Self::Replay(_, own) => serde_json::to_string(own).unwrap(),
        }
    }

    fn restore(&mut self, text: &str) {
        match self {
            Self::Paper(own) => **own = serde_json::from_str(text).unwrap(),
            Self::Replay(_, own) => **own = serde_json::from_str(text).unwrap(),
        }
    }
}

/// Runs a history; the answer is every order, and the state at the end as text.
fn run(
    own: &Settings,
    mut controller: Controller,
    history: &[Happening],
) -> Result<String, TestCaseError> {
    let replays = matches!(controller, Controller::Replay(..));
    let mut driver = Driver::new();
    let mut log = String::new();
    let mut saved = vec![controller.text()];
    let mut offset = 1000_i64;
    let mut stopped = false;
    for (at, next) in history.iter().enumerate() {
        let now = at as u64;
        let mut command = None;
        match next.fault {
            Fault::Clock(by) => {
                let next = (offset + by).max(0);
                driver.jumped += u64::try_from(next - offset).unwrap_or(0);
                offset = next;
            }
            Fault::Stop => command = Some(ControllerCommand::Stop),
            Fault::Crash(ago) => {
                controller.restore(&saved[saved.len().saturating_sub(ago + 1)]);
                // Whoever restarts the controller stops a relaunch that is under way.
                driver.relaunch = None;
                driver.before = None;
                driver.enlarged = u32::from(driver.config.profile);
                (driver.last_relaunch, driver.jumped) = (Some(now), 0);
                command = Some(ControllerCommand::Recover {
                    config: driver.config,
                });
            }
            _ => (),
        }
        stopped |= command == Some(ControllerCommand::Stop);
        let fails = matches!(next.fault, Fault::RelaunchFails);
        let mut told = snapshot(&next.places);
        let is_heard = !matches!(next.fault, Fault::Silent(None));
        if let Fault::Silent(Some(age)) = next.fault {
            told.age_ticks = age;
        }
        let input = TickInput {
            tick: (now as i64 + offset) as u64,
            latencies_ns: next.latencies_ms.iter().map(|ms| ms * 1_000_000).collect(),
            snapshot: is_heard.then_some(told),
            relaunch: driver.relaunched(now, fails),
            command,
            ..TickInput::default()
        };
        let orders = controller.step(own, &input, now);
        let is_fresh = is_heard && !matches!(next.fault, Fault::Silent(_));
        let ready = controller.base().is_ready(own);
        for order in &orders {
            log += &serde_json::to_string(order).unwrap();
            let acts = matches!(
                order,
                ControllerAction::Relaunch { .. } | ControllerAction::Throttle { .. }
            );
            prop_assert!(!acts || is_fresh, "an action on stale data");
            prop_assert!(!acts || command.is_none(), "an action in a stop");
            // Emptying the window is part of a throttle that is judged afresh.
            driver.carry_out(
                own,
                *order,
                now,
                ready || own.judge_throttle_afresh,
                replays,
            )?;
        }
        if command.is_some() {
            prop_assert!(
                driver.throttled.is_none(),
                "a throttle outlives a stop or a crash"
            );
        }
        let is_on = matches!(controller.base().guard, ThrottleState::On { .. });
        prop_assert_eq!(is_on, driver.throttled.is_some());
        if controller.base().phase.kind() != PhaseKind::Relaunching {
            prop_assert_eq!(controller.base().config, driver.config);
        }
        driver.tick(own, now)?;
        saved.push(controller.text());
    }
    let (z, rest) = (u64::from(own.throttle_ticks), u64::from(own.cool_down));
    let most = (history.len() as u64 * z).div_ceil((z + rest).max(1)) + z;
    let has_jumps = stopped
        || history
            .iter()
            .any(|happening| matches!(happening.fault, Fault::Clock(_) | Fault::Crash(_)));
    prop_assert!(
        has_jumps || driver.throttled_ticks <= most,
        "{} ticks of {most}",
        driver.throttled_ticks
    );
    Ok(log + &controller.text())
}

fn replaying(own: &Settings) -> Controller {
    let mut all = ReplaySettings::new(own.clone()).unwrap();
    (all.history, all.pause_s) = (40, 2.0);
    let state = ReplayState::new(TenantSetup::at(0), &all);
    Controller::Replay(Box::new(all), Box::new(state))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.min(2000)))]

    #[test]
    fn promises_hold_over_random_histories(own in any_settings(), history in histories()) {
        let paper = || Controller::Paper(Box::new(ControllerState::new(TenantSetup::at(0), &own)));
        let first = run(&own, paper(), &history)?;
        // No state outlives a run, so a second run gives the same bytes.
        prop_assert_eq!(first, run(&own, paper(), &history)?);
    }

    #[test]
    fn promises_of_the_replay_hold_too(own in any_settings(), history in histories()) {
        let first = run(&own, replaying(&own), &history)?;
        prop_assert_eq!(first, run(&own, replaying(&own), &history)?);
    }

    #[test]
    fn a_record_is_enough_to_decide_again(own in any_settings(), history in histories()) {
        let mut state = ControllerState::new(TenantSetup::at(0), &own);
        for (at, next) in history.iter().enumerate() {
            let input = TickInput {
                tick: at as u64,
                latencies_ns: next.latencies_ms.iter().map(|ms| ms * 1_000_000).collect(),
                snapshot: Some(snapshot(&next.places)),
                ..TickInput::default()
            };
            let record = recorded("t", &own, &mut state, &input);
            let text = serde_json::to_string(&record).unwrap();
            let read: mapa_system_slo::DecisionRecord = serde_json::from_str(&text).unwrap();
            let mut before = read.before.clone();
            let again = recorded("t", &own, &mut before, &read.input);
            prop_assert_eq!(serde_json::to_string(&again).unwrap(), text);
        }
    }

    /// A log may hold any state: nothing in it overflows or panics.
    #[test]
    fn no_state_of_a_log_panics(own in any_settings(), ticks in prop::array::uniform4(prop_oneof![Just(0), Just(u64::MAX), any::<u64>()]), counts in prop::array::uniform4(prop_oneof![Just(0), Just(u32::MAX)]), profile in any::<u8>(), next in happening()) {
        let [tick, since, until, last] = ticks;
        let config = TenantSetup { place: counts[0], profile, ..TenantSetup::at(0) };
        let phases = [
            mapa_system_slo::ControllerPhase::Warmup,
            mapa_system_slo::ControllerPhase::Watch,
            mapa_system_slo::ControllerPhase::Relaunching { since, to: config, from: config, why: RelaunchReason::Move, before_ns: Some(until) },
            mapa_system_slo::ControllerPhase::Validating { at: until, before_ns: Some(since), back: Some(config) },
        ];
        for phase in phases {
            let mut state = ControllerState::new(config, &own);
            (state.above, state.below, state.silent) = (counts[1], counts[2], counts[3]);
            (state.guard, state.last_tick, state.last_relaunch) = (ThrottleState::On { until }, Some(last), Some(since));
            state.phase = phase;
            for ns in [since, until, last, 0, 1, 2, 3, 4] {
                state.window.push(ns);
            }
            let mut told = snapshot(&next.places);
            told.places[0].heavy = Some(u32::MAX);
            let newcomer = mapa_system_slo::Newcomer { id: 1, heavy: true, training: true, deadline: until };
            let input = TickInput { tick, latencies_ns: vec![since], snapshot: Some(told), newcomers: vec![newcomer], ..TickInput::default() };
            let all = Settings { levers: EnabledLevers { admission: true, ..own.levers }, ..own.clone() };
            let _ = recorded("t", &all, &mut state, &input);
        }
    }

    /// Which tick's report a latency comes with matters; how a report is cut into parts does not.
    #[test]
    fn latencies_in_other_batches_make_the_same_window(all in prop::collection::vec(1_u64..40, 1..300), cut in 1_usize..20) {
        let own = settings(EnabledLevers::ALL);
        let mut states = [cut, 300].map(|size| {
            let mut state = ControllerState::new(TenantSetup::at(0), &own);
            all.chunks(size).for_each(|part| part.iter().for_each(|ns| state.window.push(*ns)));
            state
        });
        prop_assert_eq!(&states[0], &states[1]);
        let input = super::input(1, &[], &[(1, false), (0, false)]);
        let decisions: Vec<_> = states.iter_mut().map(|state| step(&own, state, &input)).collect();
        prop_assert_eq!(&decisions[0], &decisions[1]);
    }
}
