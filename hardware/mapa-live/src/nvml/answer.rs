//! An answer of NVML, or why there is none.

use nvml_wrapper::Device;
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;

/// Whether a later call would fail too: the library or the device does not support the query, or
/// this process may not make it.
fn lasts(error: &NvmlError) -> bool {
    use NvmlError::{FailedToLoadSymbol, FunctionNotFound, InvalidArg, NoPermission, NotSupported};
    matches!(
        error,
        NotSupported | InvalidArg | NoPermission | FunctionNotFound | FailedToLoadSymbol(_)
    )
}

/// Records the first failure that a later call may not have.
pub(super) fn note(failed: &mut Option<String>, what: &str, error: &NvmlError) {
    if !lasts(error) {
        failed.get_or_insert_with(|| format!("nvml: {what}: {error}"));
    }
}

/// The answer, if there is one. Records a failure.
pub(super) fn heed<T>(
    failed: &mut Option<String>,
    what: &str,
    answer: Result<T, NvmlError>,
) -> Option<T> {
    answer.inspect_err(|error| note(failed, what, error)).ok()
}

/// The value of one of NVML's fields, by its number.
pub(super) fn field(device: &Device<'_>, id: u32, failed: &mut Option<String>) -> Option<u32> {
    let sample = heed(failed, "fields", device.field_values_for(&[FieldId(id)]))?.pop()?;
    let sample = heed(failed, "fields", sample)?;
    // The library says in its answer which type the field has.
    match sample.value.ok()? {
        SampleValue::U32(value) => Some(value),
        SampleValue::U64(value) => u32::try_from(value).ok(),
        SampleValue::I64(value) => u32::try_from(value).ok(),
        SampleValue::F64(_) => None,
    }
}
