//! A manager for the tests of clients: it grants what is below a limit, and can hang up.

use std::fs;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mapa_case::message::{LENGTH, Op, Reply, Request, Status};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketType, accept, bind, listen, recv,
    send, socket,
};

/// The most that it grants, bytes.
pub(crate) const LIMIT: u64 = 1 << 30;

/// How a manager is not as it should be.
#[derive(Clone, Copy)]
pub(crate) enum Fault {
    /// It hangs up after so many requests, before it answers the last.
    HangsUp(usize),
    /// It describes no instance.
    Silent,
    /// It hears the first end of a task, and is gone until there is a file `case.back`.
    Leaves,
}

pub(crate) struct Manager {
    folder: tempfile::TempDir,
    pub(crate) heard: Arc<Mutex<Vec<Request>>>,
}

impl Manager {
    /// A manager that hangs up after every `patience` requests, before it answers the last.
    pub(crate) fn new(patience: usize) -> Self {
        Self::with(Fault::HangsUp(patience))
    }

    /// A manager that tells of each request before it answers.
    #[allow(dead_code, reason = "the tests of the driver use it")]
    pub(crate) fn watched(watch: impl Fn(&Request) + Send + Sync + 'static) -> Self {
        Self::start(Fault::HangsUp(usize::MAX), watch)
    }

    pub(crate) fn with(fault: Fault) -> Self {
        Self::start(fault, |_| {})
    }

    fn start(fault: Fault, watch: impl Fn(&Request) + Send + Sync + 'static) -> Self {
        let watch: Arc<dyn Fn(&Request) + Send + Sync> = Arc::new(watch);
        let folder = tempfile::tempdir().unwrap();
        let fd = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
        let path = folder.path().join("case.sock");
        bind(&fd, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        listen(&fd, 64).unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let all = heard.clone();
        thread::spawn(move || {
            while let Ok(connection) = accept(&fd) {
                let (all, path, watch) = (all.clone(), path.clone(), watch.clone());
                thread::spawn(move || serve(&connection, &all, fault, &path, &*watch));
            }
        });
        Self { folder, heard }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path().join("case.sock")
    }

    pub(crate) fn requests(&self, op: Op) -> Vec<Request> {
        let heard = self.heard.lock().unwrap();
        heard
            .iter()
            .filter(|request| request.op == op)
            .copied()
            .collect()
    }
}

fn serve(
    connection: &OwnedFd,
    heard: &Mutex<Vec<Request>>,
    fault: Fault,
    path: &Path,
    watch: &dyn Fn(&Request),
) {
    for turn in 1.. {
        let mut bytes = [0; LENGTH];
        match recv(connection, bytes.as_mut_slice(), RecvFlags::empty()) {
            Ok((_, LENGTH)) => {}
            _ => return,
        }
        let request = Request::decode(&bytes).unwrap();
        let mut all = heard.lock().unwrap();
        all.push(request);
        watch(&request);
        let ends = all.iter().filter(|request| request.op == Op::End).count();
        drop(all);
        match fault {
            Fault::HangsUp(patience) if turn == patience => return,
            Fault::Leaves if request.op == Op::End && ends == 1 => {
                let away = path.with_extension("away");
                fs::rename(path, &away).unwrap();
                let path = path.to_owned();
                thread::spawn(move || {
                    while !path.with_extension("back").exists() {
                        thread::sleep(Duration::from_millis(2));
                    }
                    fs::rename(away, path).unwrap();
                });
                return;
            }
            _ => {}
        }
        let status = if request.op == Op::Describe && matches!(fault, Fault::Silent) {
            Status::Malformed
        } else if request.bytes > LIMIT {
            Status::OutOfMemory
        } else {
            Status::Done
        };
        let mut reply = Reply::to(&request, status);
        if matches!(request.op, Op::Begin | Op::Extend) && status == Status::Done {
            reply.instance = 1;
        }
        let mut message = reply.encode().to_vec();
        if request.op == Op::Describe {
            writeln!(message, "MIG-7\n/run/mps").unwrap();
        }
        if send(connection, &message, SendFlags::NOSIGNAL).is_err() {
            return;
        }
    }
}
