//! The manager's socket, and how many connections there may be.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, chown};
use std::path::Path;

use mapa_case::message::{LENGTH, Malformed, Reply, Status};
use mapa_node::Error;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, send,
    socket_with,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most connections of one process, of one user, and of all.
const OF_PROCESS: usize = 16;
const OF_USER: usize = 1024;
const CONNECTIONS: usize = 8192;

/// Descriptors of a connection: the socket, an eventfd, and the pidfd of its process.
const EACH: u64 = 3;

/// Descriptors for all else.
const OTHERS: u64 = 64;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// Raises the limit of descriptors as far as it may be raised, and returns for how many connections
/// they are enough.
pub(crate) fn most_connections() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let all = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    let enough = all.map_or(u64::MAX, |all| all.saturating_sub(OTHERS) / EACH);
    usize::try_from(enough).map_or(CONNECTIONS, |enough| enough.clamp(1, CONNECTIONS))
}

/// Whether a process gets a connection, by how many it has, how many its user has, and how many are left
/// for all. A user who has as many as are left gets no more: the last ones are for those without any.
pub(crate) fn admits(of_process: usize, of_user: usize, left: usize) -> bool {
    of_process < OF_PROCESS && of_user < OF_USER.min(left)
}

/// Checks that no other file has the name of the socket.
///
/// # Errors
/// There is a file, a link or a device.
pub(crate) fn check_name(path: &Path) -> Result<(), Error> {
    if may_be_removed(path) {
        return Ok(());
    }
    Err(Error::at(
        path.display(),
        "is no socket: expected a free name",
    ))
}

/// Checks that no manager answers at this socket. The lease in the ledger keeps out a second one of the
/// same ledger; one of another ledger would book the same memory again.
///
/// # Errors
/// A manager answers there; the system gives no socket.
pub(crate) fn check_free(path: &Path) -> Result<(), Error> {
    let at = |error: io::Error| Error::at(path.display(), error);
    let probe = socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    );
    let probe = probe.map_err(|error| at(error.into()))?;
    let address = SocketAddrUnix::new(path).map_err(|error| at(error.into()))?;
    match connect(&probe, &address) {
        // One that has no room for another connection lives too.
        Ok(()) | Err(Errno::AGAIN) => Err(Error::at(
            path.display(),
            "somebody answers there: expected a free name",
        )),
        Err(_) => Ok(()),
    }
}

/// Whether there is a socket at this name, or nothing. A file, a link or a device is not ours to remove.
fn may_be_removed(path: &Path) -> bool {
    fs::symlink_metadata(path).map_or_else(
        |error| error.kind() == io::ErrorKind::NotFound,
        |found| found.file_type().is_socket(),
    )
}

/// Removes the socket, if the name is still a socket's.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    if !may_be_removed(path) {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes the socket, for its user and group alone.
pub(crate) fn open(path: &Path, group: Option<u32>) -> io::Result<OwnedFd> {
    if let Some(folder) = path.parent().filter(|path| !path.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    // Nobody answers there: see `check_free`.
    remove(path)?;
    let fd = socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    bind(&fd, &SocketAddrUnix::new(path)?)?;
    // Nobody can connect before it listens, so there is no moment with other rights.
    if group.is_some() {
        chown(path, None, group)?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o660))?;
    listen(&fd, BACKLOG)?;
    Ok(fd)
}

/// Sends an answer, if there is room for it now. Returns whether there was.
pub(crate) fn sent(fd: &OwnedFd, bytes: &[u8]) -> bool {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    send(fd, bytes, flags) == Ok(bytes.len())
}

/// An answer to no request.
pub(crate) fn told(status: Status) -> [u8; LENGTH] {
    let reply = Reply {
        status,
        ..Reply::malformed(Malformed { seq: 0 })
    };
    reply.encode()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_who_take_all_that_they_get_leave_some_to_others() {
        let all = 300;
        let mut taken = Vec::new();
        for _ in 0..6 {
            let before: usize = taken.iter().sum();
            let mut admitted = 0;
            // By one process after the other.
            while admits(admitted % OF_PROCESS, admitted, all - before - admitted) {
                admitted += 1;
            }
            taken.push(admitted);
        }
        assert_eq!(taken, [150, 75, 38, 19, 9, 5]);
        assert!(admits(0, 0, 1) && !admits(0, 1, 1) && !admits(0, 0, 0));
        assert!(!admits(OF_PROCESS, OF_PROCESS, all) && !admits(0, OF_USER, 8 * OF_USER));
    }
}
