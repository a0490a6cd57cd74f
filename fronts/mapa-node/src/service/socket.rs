//! Files of sockets: who may use them, and what becomes of one that a dead daemon has left.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use crate::client::short;
use crate::error::Error;

/// Removes the socket of a daemon that has died. One at which somebody answers stays.
///
/// # Errors
/// Somebody answers there, or the file is no socket.
pub(super) fn clear(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::FileTypeExt;
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    let place = path.display();
    if !found.file_type().is_socket() {
        return Err(Error::at(place, "is no socket: expected a free name"));
    }
    // Only connecting tells a live socket from one that a dead daemon left: the file of either looks the same.
    let connected = short(path).and_then(|(name, _open)| UnixStream::connect(name));
    if connected.is_ok() {
        return Err(Error::at(
            place,
            "somebody answers there: expected a free name",
        ));
    }
    fs::remove_file(path).map_err(|error| Error::at(place, error))
}

/// Lets owner and group in, and nobody else.
///
/// # Errors
/// There is no such group, or the file cannot be given to it.
pub(super) fn permit(path: &Path, group: Option<&str>) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::at(path.display(), error);
    // The group comes first: with the mode set first, the daemon's own group would be let in for a moment.
    if let Some(name) = group {
        let gid = gid("service.group", name)?;
        std::os::unix::fs::chown(path, None, Some(gid)).map_err(failed)?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o660)).map_err(failed)
}

/// The number of a group that a key or an option names, by `/etc/group`.
///
/// # Errors
/// There is no such group.
pub fn gid(key: &str, name: &str) -> Result<u32, Error> {
    // A number first, so that a group need not be in the file.
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let text = fs::read_to_string("/etc/group").unwrap_or_default();
    let of = |line: &str| {
        let mut fields = line.split(':');
        (fields.next()? == name).then(|| fields.nth(1)?.parse().ok())?
    };
    text.lines().find_map(of).ok_or_else(|| {
        Error::malformed(format_args!(
            "{key} `{name}`: expected a group of /etc/group, or its number"
        ))
    })
}

/// Begins to listen at a socket, in place of one that a dead daemon has left.
///
/// # Errors
/// The socket cannot be made.
pub(super) fn listen(path: &Path, group: Option<&str>) -> Result<UnixListener, Error> {
    clear(path)?;
    let bound = short(path).and_then(|(name, _open)| UnixListener::bind(name));
    let listener = bound.map_err(|error| Error::at(path.display(), error))?;
    permit(path, group)?;
    Ok(listener)
}
