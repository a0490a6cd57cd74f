//! Calls about what a device measures: utilisation, PCIe, power, errors of memory, and fields.

use std::ffi::{c_int, c_uint, c_ulonglong};
use std::time::{SystemTime, UNIX_EPOCH};

use nvml_wrapper_sys::bindings as sys;
use nvml_wrapper_sys::bindings::field_id as field;
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlFieldValue_t, nvmlPstates_t, nvmlUtilization_t, nvmlValue_t,
};

use super::border::{CallResult, NvmlCall, Out};
use super::links::{is_up, link_of};
use super::seat::CallDevice;
use crate::code::Code;
use crate::hardware::NvLinkEnd;

/// The most fields of one call.
const MOST_FIELDS: c_int = 1 << 16;

calls! {
    // NVML does not tell the utilisation of a partitioned device.
    fn nvmlDeviceGetUtilizationRates(
        device: by nvmlDevice_t, rates: out nvmlUtilization_t,
    ) |call| {
        let seat = call.device(device)?;
        if seat.now().mig.enabled {
            return Err(Code::NotSupported);
        }
        let counters = &seat.now().counters;
        rates.set(nvmlUtilization_t {
            gpu: counters.gpu_utilization,
            memory: counters.memory_utilization,
        })
    };
    fn nvmlDeviceGetPcieThroughput(
        device: by nvmlDevice_t, counter: by c_uint, kbps: out c_uint,
    ) |call| {
        let seat = call.whole(device)?;
        kbps.set(match counter {
            sys::nvmlPcieUtilCounter_enum_NVML_PCIE_UTIL_TX_BYTES => seat.now().counters.pcie_tx_kbps,
            sys::nvmlPcieUtilCounter_enum_NVML_PCIE_UTIL_RX_BYTES => seat.now().counters.pcie_rx_kbps,
            _ => return Err(Code::InvalidArgument),
        })
    };
    fn nvmlDeviceGetPcieReplayCounter(device: by nvmlDevice_t, value: out c_uint) |call| {
        value.set(call.whole(device)?.now().counters.pcie_replays)
    };
    fn nvmlDeviceGetPowerUsage(device: by nvmlDevice_t, power: out c_uint) |call| {
        power.set(call.whole(device)?.now().counters.power_mw)
    };
    fn nvmlDeviceGetPowerManagementLimit(device: by nvmlDevice_t, limit: out c_uint) |call| {
        power_limit(call, device, limit)
    };
    fn nvmlDeviceGetPowerManagementDefaultLimit(device: by nvmlDevice_t, limit: out c_uint) |call| {
        power_limit(call, device, limit)
    };
    fn nvmlDeviceGetEnforcedPowerLimit(device: by nvmlDevice_t, limit: out c_uint) |call| {
        power_limit(call, device, limit)
    };
    fn nvmlDeviceGetTotalEnergyConsumption(
        device: by nvmlDevice_t, energy: out c_ulonglong,
    ) |call| {
        energy.set(call.whole(device)?.now().counters.energy_mj)
    };
    fn nvmlDeviceGetTemperature(
        device: by nvmlDevice_t, sensor: by c_uint, degrees: out c_uint,
    ) |call| {
        let seat = call.whole(device)?;
        if sensor != sys::nvmlTemperatureSensors_enum_NVML_TEMPERATURE_GPU {
            return Err(Code::InvalidArgument);
        }
        degrees.set(seat.now().counters.temperature_c)
    };
    fn nvmlDeviceGetPerformanceState(device: by nvmlDevice_t, state: out nvmlPstates_t) |call| {
        call.whole(device)?;
        state.set(sys::nvmlPStates_enum_NVML_PSTATE_0)
    };
    fn nvmlDeviceGetTotalEccErrors(
        device: by nvmlDevice_t, kind: by c_uint, counter: by c_uint, count: out c_ulonglong,
    ) |call| {
        let seat = call.whole(device)?;
        if counter >= sys::nvmlEccCounterType_enum_NVML_ECC_COUNTER_TYPE_COUNT {
            return Err(Code::InvalidArgument);
        }
        count.set(match kind {
            sys::nvmlMemoryErrorType_enum_NVML_MEMORY_ERROR_TYPE_CORRECTED => {
                seat.now().counters.ecc_corrected
            }
            sys::nvmlMemoryErrorType_enum_NVML_MEMORY_ERROR_TYPE_UNCORRECTED => {
                seat.now().counters.ecc_uncorrected
            }
            _ => return Err(Code::InvalidArgument),
        })
    };
    // Each field has an answer of its own.
    fn nvmlDeviceGetFieldValues(
        device: by nvmlDevice_t, count: by c_int, values: out nvmlFieldValue_t,
    ) |call| {
        let seat = call.whole(device)?;
        if !(1..=MOST_FIELDS).contains(&count) {
            return Err(Code::InvalidArgument);
        }
        for at in 0..count as usize {
            let asked = values.get_at(at)?;
            let answer = field_value(&seat, asked.fieldId, asked.scopeId);
            values.set_at(at, told(asked, answer))?;
        }
        Ok(())
    };
}

fn power_limit(call: NvmlCall, device: nvmlDevice_t, limit: Out<c_uint>) -> CallResult {
    match call.whole(device)?.now().counters.power_limit_mw {
        0 => Err(Code::NotSupported),
        own => limit.set(own),
    }
}

/// A field's value: 32 bits or 64.
enum FieldValue {
    Int(u32),
    Long(u64),
}

fn field_value(seat: &CallDevice, id: c_uint, scope: c_uint) -> CallResult<FieldValue> {
    let counters = &seat.now().counters;
    let links = &seat.gpu().links;
    let up = |at: &usize| is_up(seat, *at);
    // A link that is down carries nothing.
    let mbps = |link: c_uint| {
        let nv_link = link_of(seat, link)?;
        Ok(FieldValue::Int(if up(&(link as usize)) {
            nv_link.mbps
        } else {
            0
        }))
    };
    Ok(match id {
        field::NVML_FI_DEV_NVLINK_LINK_COUNT if !links.is_empty() => {
            FieldValue::Int(links.len() as u32)
        }
        field::NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON => {
            let slowest = links.iter().map(|link| link.mbps).min();
            FieldValue::Int(slowest.ok_or(Code::NotSupported)?)
        }
        field::NVML_FI_DEV_NVLINK_SPEED_MBPS_L0..=field::NVML_FI_DEV_NVLINK_SPEED_MBPS_L5 => {
            return mbps(id - field::NVML_FI_DEV_NVLINK_SPEED_MBPS_L0);
        }
        field::NVML_FI_DEV_NVLINK_SPEED_MBPS_L6..=field::NVML_FI_DEV_NVLINK_SPEED_MBPS_L11 => {
            return mbps(6 + id - field::NVML_FI_DEV_NVLINK_SPEED_MBPS_L6);
        }
        field::NVML_FI_DEV_NVLINK_GET_SPEED => return mbps(scope),
        field::NVML_FI_DEV_NVLINK_GET_STATE => {
            link_of(seat, scope)?;
            FieldValue::Int(up(&(scope as usize)).into())
        }
        field::NVML_FI_DEV_NVLINK_GET_VERSION => {
            link_of(seat, scope)?;
            FieldValue::Int(seat.gpu().link_version.ok_or(Code::NotSupported)?)
        }
        field::NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT => {
            let switched = (0..links.len())
                .filter(|at| matches!(links[*at].end, NvLinkEnd::Switch(_)))
                .filter(up);
            FieldValue::Int(switched.count() as u32)
        }
        field::NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION => FieldValue::Long(counters.energy_mj),
        field::NVML_FI_DEV_PCIE_REPLAY_COUNTER => FieldValue::Int(counters.pcie_replays),
        field::NVML_FI_DEV_GET_GPU_RECOVERY_ACTION => FieldValue::Int(counters.recovery_action),
        field::NVML_FI_DEV_POWER_AVERAGE | field::NVML_FI_DEV_POWER_INSTANT => {
            FieldValue::Int(counters.power_mw)
        }
        _ => return Err(Code::NotSupported),
    })
}

/// A field with its answer.
fn told(asked: nvmlFieldValue_t, answer: CallResult<FieldValue>) -> nvmlFieldValue_t {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let (kind, value) = match answer {
        Ok(FieldValue::Int(value)) => (
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_INT,
            nvmlValue_t {
                ullVal: value.into(),
            },
        ),
        Ok(FieldValue::Long(value)) => (
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_LONG_LONG,
            nvmlValue_t { ullVal: value },
        ),
        Err(_) => (
            sys::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_INT,
            nvmlValue_t { ullVal: 0 },
        ),
    };
    nvmlFieldValue_t {
        timestamp: now.map_or(0, |now| now.as_micros() as i64),
        latencyUsec: 0,
        valueType: kind,
        nvmlReturn: answer.err().map_or(0, Code::number),
        value,
        ..asked
    }
}
