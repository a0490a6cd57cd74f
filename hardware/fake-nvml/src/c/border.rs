//! The border to C: what a pointer argument may be used for, and what becomes of a panic.

use std::ffi::{c_char, c_uint};
use std::panic::{AssertUnwindSafe, catch_unwind};

use nvml_wrapper_sys::bindings::nvmlReturn_t;

use crate::code::Code;

/// What a call answers in this crate.
pub(super) type CallResult<T = ()> = Result<T, Code>;

/// NVML's number of success.
const SUCCESS: nvmlReturn_t = 0;

/// The longest text that C may hand in.
const MOST_TEXT: usize = 4096;

/// A call, by its name in `nvml.h`.
#[derive(Clone, Copy)]
pub(super) struct NvmlCall {
    pub(super) name: &'static str,
}

/// Runs the body of a call. A panic does not cross the border: it becomes `UNKNOWN`.
pub(super) fn answer(
    name: &'static str,
    body: impl FnOnce(NvmlCall) -> CallResult,
) -> nvmlReturn_t {
    // What a body shares with others is replaced whole, so no half of it is left behind.
    match catch_unwind(AssertUnwindSafe(|| body(NvmlCall { name }))) {
        Ok(Ok(())) => SUCCESS,
        Ok(Err(code)) => code.number(),
        Err(_) => Code::Unknown.number(),
    }
}

/// Where C wants a value, or several: a pointer that may be null.
pub(super) struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T: Copy> Out<T> {
    /// # Safety
    /// The pointer is null, or it may be read and written for as long as the call lasts: for one
    /// value, or for as many as the call's documentation in `nvml.h` demands of its caller.
    pub(super) unsafe fn new(pointer: *mut T) -> Self {
        Self(pointer)
    }

    pub(super) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Gives C the value.
    pub(super) fn set(self, value: T) -> CallResult {
        self.fill(&[value])
    }

    /// Gives C several values, of which the call's documentation demands that they have room.
    pub(super) fn fill(self, values: &[T]) -> CallResult {
        if values.is_empty() {
            return Ok(());
        }
        if self.0.is_null() {
            return Err(Code::InvalidArgument);
        }
        for (at, value) in values.iter().enumerate() {
            // SAFETY: by the contract of `new` there is room for these values. C's structures may
            // be packed, so nothing is taken for aligned.
            unsafe { self.0.add(at).write_unaligned(*value) };
        }
        Ok(())
    }

    /// What C put there.
    pub(super) fn get(self) -> CallResult<T> {
        self.get_at(0)
    }

    /// What C put at this place of an array.
    pub(super) fn get_at(self, at: usize) -> CallResult<T> {
        if self.0.is_null() {
            return Err(Code::InvalidArgument);
        }
        // SAFETY: by the contract of `new` this place may be read. Every value that crosses the
        // border is made of numbers and pointers, for which every pattern of bits is a value.
        Ok(unsafe { self.0.add(at).read_unaligned() })
    }

    /// Gives C a value at this place of an array.
    pub(super) fn set_at(self, at: usize, value: T) -> CallResult {
        if self.0.is_null() {
            return Err(Code::InvalidArgument);
        }
        // SAFETY: by the contract of `new` this place may be written.
        unsafe { self.0.add(at).write_unaligned(value) };
        Ok(())
    }

    /// The version with which C's structure begins. No more than that is read: an older structure is
    /// smaller.
    pub(super) fn version(self) -> CallResult<c_uint> {
        // SAFETY: structures with a version begin with it, in every version.
        unsafe { self.cast::<c_uint>() }.get()
    }

    /// The same place, for another structure.
    ///
    /// # Safety
    /// C allotted a `U` there, as the version says that it wrote into the structure.
    pub(super) unsafe fn cast<U: Copy>(self) -> Out<U> {
        Out(self.0.cast())
    }
}

impl Out<c_char> {
    /// Gives C a text in a buffer of this length.
    pub(super) fn say(self, length: c_uint, text: &str) -> CallResult {
        if self.is_null() {
            return Err(Code::InvalidArgument);
        }
        if text.len() >= length as usize {
            return Err(Code::InsufficientSize);
        }
        self.fill(&characters(text))
    }
}

/// Gives C a list: `count` has the room of the array, and is told how many there are.
pub(super) fn fill<T: Copy>(count: Out<c_uint>, array: Out<T>, values: &[T]) -> CallResult {
    let room = count.get()? as usize;
    count.set(values.len() as c_uint)?;
    if room < values.len() {
        return Err(Code::InsufficientSize);
    }
    array.fill(values)
}

/// Gives C a list, or without an array only how many there are.
pub(super) fn fill_or_count<T: Copy>(
    count: Out<c_uint>,
    array: Out<T>,
    values: &[T],
) -> CallResult {
    if array.is_null() {
        return count.set(values.len() as c_uint);
    }
    fill(count, array, values)
}

/// A text as C's characters, with a zero at the end.
fn characters(text: &str) -> Vec<c_char> {
    let bytes = text.bytes().chain(std::iter::once(0));
    bytes.map(|byte| byte as c_char).collect()
}

/// A text in an array of C's characters, cut off where it does not fit.
pub(super) fn array<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    for (to, byte) in array.iter_mut().take(N - 1).zip(text.bytes()) {
        *to = byte as c_char;
    }
    array
}

/// A text from C: a pointer that may be null.
pub(super) struct Text(*const c_char);

impl Text {
    /// # Safety
    /// The pointer is null, or leads to characters that end in a zero.
    pub(super) unsafe fn new(pointer: *const c_char) -> Self {
        Self(pointer)
    }

    pub(super) fn read(self) -> CallResult<String> {
        if self.0.is_null() {
            return Err(Code::InvalidArgument);
        }
        let mut bytes = Vec::new();
        while bytes.len() < MOST_TEXT {
            // SAFETY: by the contract of `new` the text goes on, since no zero was found yet.
            match unsafe { self.0.add(bytes.len()).read() } as u8 {
                0 => return String::from_utf8(bytes).map_err(|_| Code::InvalidArgument),
                byte => bytes.push(byte),
            }
        }
        Err(Code::InvalidArgument)
    }
}

/// The type of an argument in C.
macro_rules! c_type {
    (by $ty:ty) => { $ty };
    (out $ty:ty) => { *mut $ty };
    (given $ty:ty) => { *const $ty };
    (text $ty:ty) => { *const $ty };
}

/// An argument with safe methods in place of C's pointer.
macro_rules! c_value {
    (by $arg:ident) => {
        $arg
    };
    (out $arg:ident) => {
        // SAFETY: the caller of an exported function keeps to `nvml.h`.
        unsafe { $crate::c::border::Out::new($arg) }
    };
    (given $arg:ident) => {
        // SAFETY: the caller of an exported function keeps to `nvml.h`, and the body only reads it.
        unsafe { $crate::c::border::Out::new($arg.cast_mut()) }
    };
    (text $arg:ident) => {
        // SAFETY: the caller of an exported function keeps to `nvml.h`.
        unsafe { $crate::c::border::Text::new($arg) }
    };
}

/// Defines calls of NVML: arguments that are passed by value (`by`), as a place for answers (`out`),
/// as a structure to read (`given`), as a text; and a body that is given the call.
macro_rules! calls {
    ($(fn $name:ident($($arg:ident: $kind:ident $ty:ty),* $(,)?) $body:expr;)*) => {
        $(
            #[allow(non_snake_case, reason = "the name is NVML's")]
            #[unsafe(no_mangle)]
            pub(super) unsafe extern "C" fn $name(
                $($arg: c_type!($kind $ty)),*
            ) -> nvml_wrapper_sys::bindings::nvmlReturn_t {
                $(let $arg = c_value!($kind $arg);)*
                $crate::c::border::answer(stringify!($name), $body)
            }
        )*

        /// The names of the calls in this file.
        #[cfg(test)]
        pub(super) const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_answer() {
        let silent = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let code = answer("nvmlInit", |_| panic!("here"));
        std::panic::set_hook(silent);
        assert_eq!(code, Code::Unknown.number());
    }

    #[test]
    fn texts_that_do_not_fit_are_refused() {
        let mut room: [c_char; 4] = [1; 4];
        // SAFETY: the pointer leads to four characters, of which three or four are used.
        let out = unsafe { Out::new(room.as_mut_ptr()) };
        assert_eq!(out.say(3, "abc"), Err(Code::InsufficientSize));
        assert_eq!(out.say(4, "abc"), Ok(()));
        assert_eq!(room.map(|c| c as u8), *b"abc\0");
        assert_eq!(array::<3>("abc").map(|c| c as u8), *b"ab\0");
        // SAFETY: null is allowed.
        let nowhere = unsafe { Out::<c_char>::new(std::ptr::null_mut()) };
        assert_eq!(nowhere.say(9, "abc"), Err(Code::InvalidArgument));
    }
}
