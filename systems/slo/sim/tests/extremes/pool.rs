//! Extreme scenarios, what is drawn of them and what a run came to.

use mapa_system_slo::replay::ReplaySettings;
use mapa_system_slo::{ModelParameters, RelaunchReason, Settings, TenantSetup};
use mapa_system_slo_sim::*;

use crate::shared::{Extreme, values};

values!(DrawnRun: [DrawnRun { requests: vec![], busy: vec![] }, strange_run(0.0), strange_run(f64::NAN), strange_run(f64::MAX), strange_run(-1.0)]);
values!(FileTenants: [read_tenants("tenant,does,start_s,end_s,place\na,serves,0,10,7\nb,copies,0,1e9,0\n").ok(), Some(FileTenants { serving: vec![], busy: vec![] })].into_iter().flatten());
values!(LiveControl: ReplaySettings::values().into_iter().flat_map(|settings| Noise::values().into_iter().map(move |noise| LiveControl::new(settings.clone(), TenantSetup::at(u32::MAX), noise, 0))));
values!(Noise: [Noise::NONE, Noise::USUAL, noise(f64::NAN), noise(f64::MAX), noise(-1.0)]);
values!(NoisyReadings: Noise::values().into_iter().map(|noise| NoisyReadings::new(noise, u64::MAX)));
values!(RelaunchReason: [RelaunchReason::Move, RelaunchReason::Rollback]);
values!(RunConditions: [RunConditions::default(), RunConditions { start: TenantSetup { place: u32::MAX, profile: u8::MAX, ..TenantSetup::at(0) }, admission: true, free_moves: true, keep: true }]);
values!(RunTotals: Scenario::values().into_iter().flat_map(|scenario| DrawnRun::values().into_iter().filter_map(move |trace| run(&scenario, &trace, 0, RunConditions::default(), &mut NoController).ok())));
values!(Scenario: scenarios());
values!(ServingTenant: Scenario::values().into_iter().map(|scenario| ServingTenant { name: "\u{202e}".to_owned(), place: u32::MAX, scenario }));
values!(TenantServers: [TenantServers::default(), servers(f64::NAN), servers(f64::MAX), servers(-1.0)]);
values!(World: [0, u32::MAX].map(|count| World { heavy: [count; HOSTS * SWITCHES], training: [count; HOSTS * SWITCHES] }));

/// Scenarios that differ in one number from a short one.
fn scenarios() -> Vec<Scenario> {
    let usual = Scenario {
        hours: 0.01,
        ..Scenario::table_3()
    };
    let bursts = |seconds| Requests::Bursts {
        rate: 1.0,
        factor: 1.0,
        burst_s: seconds,
        between_s: seconds,
    };
    let least = f64::MIN_POSITIVE;
    vec![
        usual,
        Scenario {
            hours: least,
            ..usual
        },
        Scenario {
            on_s: least,
            off_s: least,
            ..usual
        },
        Scenario {
            requests: bursts(least),
            ..usual
        },
        Scenario {
            requests: Requests::Poisson(f64::MAX),
            ..usual
        },
        Scenario {
            transfer_cv: 1e3,
            compute_cv: 1e3,
            ..usual
        },
        Scenario {
            pause_s: least,
            pause_sd_s: 1e3,
            window: 0,
            ..usual
        },
        Scenario {
            physics: ModelParameters {
                heavy_weight: f64::MAX,
                ..usual.physics
            },
            link: LinkShare::Printed,
            copying: 64,
            ..usual
        },
        Scenario {
            tick_s: f64::NAN,
            ..usual
        },
        Scenario {
            copying: usize::MAX,
            ..usual
        },
    ]
}

fn strange_run(ms: f64) -> DrawnRun {
    let request = DrawnRequest {
        at_ms: ms,
        transfer_ms: ms,
        compute_ms: ms,
    };
    let busy = Busy {
        from_ms: ms,
        until_ms: ms,
        kind: NeighbourAction::Trains,
        switch: u32::MAX,
        other: u32::MAX,
    };
    DrawnRun {
        requests: vec![request; 3],
        busy: vec![busy; 3],
    }
}

fn noise(number: f64) -> Noise {
    Noise {
        misses: number,
        phantoms: number,
        cv: number,
        lost: number,
        late_ticks: number as usize,
        measured_cv: number,
    }
}

fn servers(ms: f64) -> TenantServers {
    let mut servers = TenantServers::default();
    for id in [0, u32::MAX] {
        servers.push(id, ms, ms, ms);
    }
    servers
}

/// Runs under every controller.
pub(crate) fn run_all() {
    for scenario in Scenario::values() {
        for trace in DrawnRun::values()
            .into_iter()
            .chain(DrawnRun::draw(&scenario, 0))
        {
            for conditions in RunConditions::values() {
                let run = |control: &mut dyn Control| {
                    // Runs that are impossible are refused.
                    let _ = run(&scenario, &trace, 0, conditions, control);
                };
                for settings in Settings::values() {
                    run(&mut PaperControl::new(settings, conditions.start));
                }
                for settings in ReplaySettings::values() {
                    run(&mut ReplayControl::new(settings, conditions.start));
                }
                for mut control in LiveControl::values().into_iter().step_by(3) {
                    run(&mut control);
                }
            }
        }
    }
}
