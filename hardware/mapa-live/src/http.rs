//! One HTTP request without TLS, bounded in time and size: for programs of this machine.

use std::time::Duration;

/// The status and the body of an answer to `GET`.
///
/// The body is cut off after `most` bytes, which is an error. Redirects and proxies are not followed: only the
/// named host answers.
#[cfg(feature = "http")]
pub(crate) fn get(url: &str, limit: Duration, most: usize) -> Result<(u16, Vec<u8>), String> {
    let config = ureq::Agent::config_builder()
        .timeout_global(Some(limit))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        // A proxy of the environment would look for this machine's addresses on its own.
        .proxy(None)
        .user_agent("mapa")
        .build();
    let agent: ureq::Agent = config.into();
    let mut answer = agent.get(url).call().map_err(|error| error.to_string())?;
    let status = answer.status().as_u16();
    let body = answer
        .body_mut()
        .with_config()
        .limit(most as u64)
        .read_to_vec()
        .map_err(|error| error.to_string())?;
    Ok((status, body))
}

/// What would ask is left out.
#[cfg(not(feature = "http"))]
pub(crate) fn get(url: &str, _: Duration, _: usize) -> Result<(u16, Vec<u8>), String> {
    Err(format!(
        "{url}: this program asks nothing over HTTP: expected one with the feature `http` of mapa-live"
    ))
}
