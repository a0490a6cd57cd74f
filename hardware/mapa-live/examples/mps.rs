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
    let look = |when: &str| {
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

    let hands = LeverSet::of(&Live::default(), Bounds::default());
    let (mut keeper, _) = LeverManager::open(hands, MemoryJournal::default(), 0)?;
    let pull = |keeper: &mut LeverManager<_>, pull: LeverChange| {
        match keeper.plan(&pull) {
            Ok(plan) => print!("{plan}"),
            Err(error) => println!("no plan: {error}"),
        }
        let fact = keeper.apply(&pull, Lifetime::Session, 0);
        println!("  {fact:?}");
        fact
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

    look("before");
    let daemon = LeverChange::MpsDaemon {
        server: server.clone(),
        running: true,
    };
    pull(&mut keeper, daemon);
    look("started");
    let held = pull(&mut keeper, share(70));
    let mut client = Command::new(program)
        .args(words)
        .env("CUDA_MPS_PIPE_DIRECTORY", &folder)
        .spawn()?;
    std::thread::sleep(Duration::from_secs(8));
    look("with a client");
    if let LeverEvent::Applied { id, .. } = held {
        println!("{:?}", keeper.revert(id));
    }
    look("without the first share");
    for step in [share(55), share(10), limit(Some(2048))] {
        pull(&mut keeper, step);
    }
    look("set");
    println!("the client: {}", client.wait()?);
    for fact in keeper.close() {
        println!("taken back: {fact:?}");
    }
    look("after");
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
