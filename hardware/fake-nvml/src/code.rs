//! The answers that NVML's calls may give, by their names in `nvml.h`.

use nvml_wrapper_sys::bindings as sys;
use serde::{Deserialize, Serialize};

use crate::error::Error;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $constant:ident),+ $(,)?) => {
        /// Why a call of NVML fails.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$doc])* $name),+
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// NVML's number of the code.
            #[must_use]
            pub fn number(self) -> u32 {
                match self {
                    $(Self::$name => sys::$constant),+
                }
            }
        }
    };
}

codes! {
    /// The library was not initialised.
    Uninitialized = nvmlReturn_enum_NVML_ERROR_UNINITIALIZED,
    /// An argument is not valid.
    InvalidArgument = nvmlReturn_enum_NVML_ERROR_INVALID_ARGUMENT,
    /// The device cannot do this.
    NotSupported = nvmlReturn_enum_NVML_ERROR_NOT_SUPPORTED,
    /// The caller may not do this.
    NoPermission = nvmlReturn_enum_NVML_ERROR_NO_PERMISSION,
    /// What was asked for does not exist.
    NotFound = nvmlReturn_enum_NVML_ERROR_NOT_FOUND,
    /// A buffer is too small.
    InsufficientSize = nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE,
    /// A device has too little power.
    InsufficientPower = nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_POWER,
    /// There is no driver.
    DriverNotLoaded = nvmlReturn_enum_NVML_ERROR_DRIVER_NOT_LOADED,
    /// Time ran out.
    Timeout = nvmlReturn_enum_NVML_ERROR_TIMEOUT,
    /// The kernel found a problem with interrupts.
    IrqIssue = nvmlReturn_enum_NVML_ERROR_IRQ_ISSUE,
    /// A library is missing.
    LibraryNotFound = nvmlReturn_enum_NVML_ERROR_LIBRARY_NOT_FOUND,
    /// The library does not have this call.
    FunctionNotFound = nvmlReturn_enum_NVML_ERROR_FUNCTION_NOT_FOUND,
    /// The device's store of facts is corrupted.
    CorruptedInforom = nvmlReturn_enum_NVML_ERROR_CORRUPTED_INFOROM,
    /// The device has fallen off the bus.
    GpuIsLost = nvmlReturn_enum_NVML_ERROR_GPU_IS_LOST,
    /// The device must be reset.
    ResetRequired = nvmlReturn_enum_NVML_ERROR_RESET_REQUIRED,
    /// The operating system refused.
    OperatingSystem = nvmlReturn_enum_NVML_ERROR_OPERATING_SYSTEM,
    /// Driver and library have different versions.
    LibRmVersionMismatch = nvmlReturn_enum_NVML_ERROR_LIB_RM_VERSION_MISMATCH,
    /// Somebody uses it.
    InUse = nvmlReturn_enum_NVML_ERROR_IN_USE,
    /// There is too little memory.
    Memory = nvmlReturn_enum_NVML_ERROR_MEMORY,
    /// There is nothing to tell.
    NoData = nvmlReturn_enum_NVML_ERROR_NO_DATA,
    /// There is no room for it.
    InsufficientResources = nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_RESOURCES,
    /// The version of a structure is not known.
    ArgumentVersionMismatch = nvmlReturn_enum_NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
    /// The call is no longer supported.
    Deprecated = nvmlReturn_enum_NVML_ERROR_DEPRECATED,
    /// The system is not ready.
    NotReady = nvmlReturn_enum_NVML_ERROR_NOT_READY,
    /// There are no devices.
    GpuNotFound = nvmlReturn_enum_NVML_ERROR_GPU_NOT_FOUND,
    /// The state does not allow it.
    InvalidState = nvmlReturn_enum_NVML_ERROR_INVALID_STATE,
    /// Anything else.
    Unknown = nvmlReturn_enum_NVML_ERROR_UNKNOWN,
}

impl Code {
    /// The name in `nvml.h` without `NVML_ERROR_`: `GPU_IS_LOST`.
    #[must_use]
    pub fn name(self) -> String {
        // The names of the variants follow those of nvml.h.
        let mut name = String::new();
        for letter in format!("{self:?}").chars() {
            if letter.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(letter.to_ascii_uppercase());
        }
        name
    }

    /// The code with this name, with or without `NVML_ERROR_`, in any case.
    ///
    /// # Errors
    /// No such code; the message lists the names.
    pub fn named(name: &str) -> Result<Self, Error> {
        let upper = name.to_ascii_uppercase();
        let short = upper.strip_prefix("NVML_ERROR_").unwrap_or(&upper);
        let found = Self::ALL.iter().find(|code| code.name() == short);
        found.copied().ok_or_else(|| {
            let names: Vec<String> = Self::ALL.iter().map(|code| code.name()).collect();
            Error::new(format!(
                "no error of NVML is called `{name}`: expected {}",
                names.join(", ")
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_name_and_one_number() {
        for &code in Code::ALL {
            assert_eq!(Code::named(&code.name()).unwrap(), code);
            let text = serde_json::to_string(&code).unwrap();
            assert_eq!(text, format!("\"{}\"", code.name()));
            let same = Code::ALL
                .iter()
                .filter(|other| other.number() == code.number());
            assert_eq!(same.count(), 1, "{code:?}");
        }
        assert_eq!(
            Code::named("nvml_error_gpu_is_lost").unwrap(),
            Code::GpuIsLost
        );
        assert!(
            Code::named("lost")
                .unwrap_err()
                .to_string()
                .contains("expected UNINITIALIZED")
        );
    }
}
