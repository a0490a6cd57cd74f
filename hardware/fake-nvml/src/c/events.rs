//! Calls about events. An event set sees the events after its registration, in their order.
//!
//! There is no one to wake a waiting client in another process, so it looks at the state again and
//! again.

use std::ffi::{c_uint, c_ulonglong};
use std::thread;
use std::time::{Duration, Instant};

use nvml_wrapper_sys::bindings as sys;
use nvml_wrapper_sys::bindings::{nvmlDevice_t, nvmlEventData_t, nvmlEventSet_t};

use super::border::{CallResult, NvmlCall, Out};
use super::handle::DeviceHandle;
use super::library::{self, EventSet};
use super::seat::state;
use crate::code::Code;
use crate::state::{Event, State};

/// The time between two looks at the state.
const PAUSE: Duration = Duration::from_millis(2);

/// NVML's word for no instance.
const NONE: c_uint = c_uint::MAX;

/// The types of events that a device may have.
const SUPPORTED: c_ulonglong = (sys::nvmlEventTypeSingleBitEccError
    | sys::nvmlEventTypeDoubleBitEccError
    | sys::nvmlEventTypePState
    | sys::nvmlEventTypeXidCriticalError
    | sys::nvmlEventTypeClock) as c_ulonglong;

calls! {
    fn nvmlEventSetCreate(set: out nvmlEventSet_t) |call| {
        call.machine()?;
        if set.is_null() {
            return Err(Code::InvalidArgument);
        }
        let number = library::create_set(EventSet::default());
        set.set(DeviceHandle::EventSet { number }.pointer())
    };
    fn nvmlEventSetFree(set: by nvmlEventSet_t) |call| {
        call.machine()?;
        library::free_set(number_of(set)?)
    };
    fn nvmlDeviceGetSupportedEventTypes(
        device: by nvmlDevice_t, types: out c_ulonglong,
    ) |call| {
        call.whole(device)?;
        types.set(SUPPORTED)
    };
    fn nvmlDeviceRegisterEvents(
        device: by nvmlDevice_t, types: by c_ulonglong, set: by nvmlEventSet_t,
    ) |call| {
        let seat = call.whole(device)?;
        if types & !SUPPORTED != 0 {
            return Err(Code::NotSupported);
        }
        let next = seat.state().next_event;
        library::with_set(number_of(set)?, |set| set.watched.push((seat.device, types, next)))
    };
    fn nvmlEventSetWait_v2(
        set: by nvmlEventSet_t, data: out nvmlEventData_t, timeout_ms: by c_uint,
    ) |call| wait(call, set, data, timeout_ms);
}

fn number_of(set: nvmlEventSet_t) -> CallResult<u32> {
    match DeviceHandle::of(set) {
        Some(DeviceHandle::EventSet { number }) => Ok(number),
        _ => Err(Code::InvalidArgument),
    }
}

fn wait(
    call: NvmlCall,
    set: nvmlEventSet_t,
    data: Out<nvmlEventData_t>,
    timeout_ms: c_uint,
) -> CallResult {
    let number = number_of(set)?;
    if data.is_null() {
        return Err(Code::InvalidArgument);
    }
    let start = Instant::now();
    let timeout = Duration::from_millis(timeout_ms.into());
    let (fake, mut now) = call.machine()?;
    loop {
        if let Some(event) = library::with_set(number, |set| next(set, &now))? {
            return data.set(data_of(&event));
        }
        let lost = library::with_set(number, |set| {
            let mut watched = set.watched.iter();
            watched.any(|&(device, ..)| now.devices[device].lost)
        });
        // What happened before a device was lost has been told by now.
        if lost? {
            return Err(Code::GpuIsLost);
        }
        let left = timeout.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Err(Code::Timeout);
        }
        thread::sleep(PAUSE.min(left));
        // Faults are of the call, not of each look.
        let silent = NvmlCall { name: "" };
        now = state(silent, &fake, None)?;
    }
}

/// The next event that a set waits for; the set will not see it again.
fn next(set: &mut EventSet, state: &State) -> Option<Event> {
    let waits = |event: &&Event| {
        event.number >= set.next
            && set.watched.iter().any(|&(device, types, first)| {
                device == event.device as usize && types & event.kind != 0 && event.number >= first
            })
    };
    let event = state.events.iter().find(waits)?.clone();
    set.next = event.number + 1;
    Some(event)
}

fn data_of(event: &Event) -> nvmlEventData_t {
    let device = DeviceHandle::Gpu {
        device: event.device as u16,
    };
    nvmlEventData_t {
        device: device.pointer(),
        eventType: event.kind,
        eventData: event.data,
        gpuInstanceId: event.instance.map_or(NONE, |(instance, _)| instance),
        computeInstanceId: event.instance.map_or(NONE, |(_, compute)| compute),
    }
}
