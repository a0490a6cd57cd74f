//! Any text is a state or rejected, and a state is read back as it was written. A state that a fake
//! accepts can be changed, and is accepted again.

use std::cell::OnceCell;

use fake_nvml::{Config, Fake, State};

thread_local! {
    static FAKE: OnceCell<Fake> = const { OnceCell::new() };
}

/// One input.
pub fn run(text: &[u8]) {
    let Ok(state) = State::read(text) else {
        return;
    };
    let written = state.write().expect("it was read, so it is short enough");
    assert_eq!(
        State::read(written.as_bytes()).expect("it was written"),
        state
    );
    FAKE.with(|fake| {
        let fake = fake
            .get_or_init(|| Fake::open(&Config::new("dgx-a100")).expect("it is in the catalogue"));
        if fake.check(&state).is_err() {
            return;
        }
        // What fits the machine can be worked with.
        fake.replace(state).expect("it was checked");
        for device in 0..8 {
            let _ = fake.set_mig(device, true);
            let _ = fake.create_instance(device, "1g.5gb", None);
            let _ = fake.raise_xid(device, 1);
            fake.check(&fake.state().expect("it is in memory"))
                .expect("it is legal");
            fake.reset(device).expect("it has this device");
        }
    });
}
