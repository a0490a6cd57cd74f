//! Tries the levers of MPS on this machine: `mps FOLDER COMMAND..`. It starts a control daemon with its pipes in
//! FOLDER and COMMAND as its client while a share is held, takes that back, sets shares and limits, says what the daemon
//! answers, and takes all back.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::process::Command;
    use std::time::Duration;

    use mapa_live::Live;
    use mapa_live::levers::{
        Bounds, LeverChange, LeverEvent, LeverManager, LeverSet, Lifetime, MemoryJournal, Mps,
        MpsCommand, MpsServer,
    };

    let mut words = std::env::args_os().skip(1);
    let usage = "expected: mps FOLDER COMMAND..";
    let folder = words.next().ok_or(usage)?;
    let program = words.next().ok_or(usage)?;
    let server = MpsServer(folder.clone().into());
    let print_state = |when: &str| {
        let daemon = MpsCommand::default();
        println!("{when}: runs {:?}", daemon.is_running(&server));
        for scope in daemon.scopes(&server).into_iter().flatten() {
            let percent = daemon.percent(&server, scope);
            let pinned = daemon.pinned(&server, scope, 0);
            println!(
                "  {scope:?}: thousandths of a percent {percent:?}, MiB on device 0 {pinned:?}"
            );
        }
    };

    let levers = LeverSet::of(&Live::default(), Bounds::default());
    let (mut manager, _) = LeverManager::open(levers, MemoryJournal::default(), 0)?;
    let apply = |manager: &mut LeverManager<_>, change: LeverChange| {
        match manager.plan(&change) {
            Ok(plan) => print!("{plan}"),
            Err(error) => println!("no plan: {error}"),
        }
        let event = manager.apply(&change, Lifetime::Session, 0);
        println!("  {event:?}");
        event
    };
    let share = |percent| LeverChange::MpsPercent {
        server: server.clone(),
        percent,
    };
    let limit = |mib| LeverChange::MpsPinned {
        server: server.clone(),
        device: 0,
        mib,
    };

    print_state("before");
    let daemon = LeverChange::MpsDaemon {
        server: server.clone(),
        running: true,
    };
    apply(&mut manager, daemon);
    print_state("started");
    let held = apply(&mut manager, share(70));
    let mut client = Command::new(program)
        .args(words)
        .env("CUDA_MPS_PIPE_DIRECTORY", &folder)
        .spawn()?;
    std::thread::sleep(Duration::from_secs(8));
    print_state("with a client");
    if let LeverEvent::Applied { id, .. } = held {
        println!("{:?}", manager.revert(id));
    }
    print_state("without the first share");
    for step in [share(55), share(10), limit(Some(2048))] {
        apply(&mut manager, step);
    }
    print_state("set");
    println!("the client: {}", client.wait()?);
    for event in manager.close() {
        println!("reverted: {event:?}");
    }
    print_state("after");
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
