//! `/metrics` over HTTP, on this machine.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use tiny_http::{Header, Method, Request, Response, Server};

use crate::drive::Shared;
use crate::error::Error;

/// Serves counters at an address of this machine.
///
/// # Errors
/// The address is another machine's to reach, or is taken.
pub(super) fn serve(address: SocketAddr, shared: &Arc<Shared>) -> Result<(), Error> {
    if !address.ip().is_loopback() {
        return Err(Error::malformed(format_args!(
            "service.metrics = \"{address}\": expected an address of this machine alone, such as 127.0.0.1:9464; a proxy can serve it further"
        )));
    }
    let server = Server::http(address).map_err(|error| Error::at(address, error))?;
    let shared = shared.clone();
    thread::spawn(move || {
        for request in server.incoming_requests() {
            answer(request, &shared);
        }
    });
    Ok(())
}

fn answer(request: Request, shared: &Shared) {
    let path = request.url().split('?').next().unwrap_or_default();
    let is_get = matches!(request.method(), Method::Get | Method::Head);
    let (status, kind, text) = match (is_get, path) {
        (true, "/metrics") => (
            200,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            shared.metrics.text(),
        ),
        (true, "/healthz") => (200, "text/plain", "ok\n".to_owned()),
        (true, _) => (
            404,
            "text/plain",
            "expected /metrics or /healthz\n".to_owned(),
        ),
        (false, _) => (405, "text/plain", "expected GET\n".to_owned()),
    };
    let mut response = Response::from_string(text).with_status_code(status);
    if let Ok(header) = Header::from_bytes("Content-Type", kind) {
        response.add_header(header);
    }
    // Whoever has gone needs no answer.
    drop(request.respond(response));
}
