//! The server over HTTP: one path, a body of limited size, and nobody who may not ask.

use std::{convert::Infallible, sync::Arc, time::Duration};

use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::{
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};
use tokio::{net::TcpListener, sync::Semaphore};
use wb_core::{Error, Result};

use crate::{
    guard::HttpAccess,
    live::LiveProject,
    runtime::{StopFlag, run},
    server::AgentServer,
};

/// Path of the protocol.
const PATH: &str = "/mcp";
/// Bytes of a request at most.
const MOST_BYTES: usize = 1 << 20;
/// Connections at the same time; others wait to be accepted.
const CONNECTIONS: usize = 64;
/// Time in which the head of a request has to be there.
const HEAD: Duration = Duration::from_secs(10);
/// Time in which a request has to be read and answered.
const ANSWER: Duration = Duration::from_secs(120);

type Body = BoxBody<Bytes, Infallible>;
type Protocol = StreamableHttpService<AgentServer, NeverSessionManager>;

/// Serves a project over HTTP until the flag is set; `on_listening` is told the address once it can be asked.
pub fn serve_http(
    project: Arc<LiveProject>,
    access: HttpAccess,
    stop: &StopFlag,
    on_listening: impl FnOnce(&str),
) -> Result<()> {
    let access = access.checked()?;
    project.begin();
    run(stop, async {
        let refused = |error: std::io::Error| Error::failed(format!("cannot listen at {}: {error}", access.address));
        let listener = TcpListener::bind(access.address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        on_listening(&format!("http://{address}{PATH}"));
        listen(listener, AgentServer::new(project), Arc::new(access.clone())).await
    })?;
    Ok(())
}

/// Accepts connections for as long as it is asked to.
async fn listen(listener: TcpListener, server: AgentServer, access: Arc<HttpAccess>) -> Result<()> {
    // Hosts are checked before, by rules that know of the token. No request needs another: there are no sessions.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MOST_BYTES)
        .disable_allowed_hosts();
    let protocol: Protocol = StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config);
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let place = Arc::clone(&places).acquire_owned().await;
        let place = place.map_err(|error| Error::failed(format!("the server cannot go on: {error}")))?;
        let Ok((stream, _)) = listener.accept().await else {
            // No descriptors are left, say: others may be given back.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (protocol, access) = (protocol.clone(), Arc::clone(&access));
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, protocol.clone(), Arc::clone(&access)));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD)
                .serve_connection(TokioIo::new(stream), service);
            // A connection that breaks off is the client's.
            drop(connection.await);
            drop(place);
        });
    }
}

/// Answers a request, or refuses it.
async fn answer(
    request: Request<Incoming>,
    protocol: Protocol,
    access: Arc<HttpAccess>,
) -> std::result::Result<Response<Body>, Infallible> {
    if let Some(status) = access.refusal(request.headers()) {
        return Ok(refused(status));
    }
    if request.uri().path() != PATH {
        return Ok(refused(StatusCode::NOT_FOUND));
    }
    let answered = tokio::time::timeout(ANSWER, protocol.handle(request)).await;
    Ok(answered.unwrap_or_else(|_| refused(StatusCode::REQUEST_TIMEOUT)))
}

fn refused(status: StatusCode) -> Response<Body> {
    let words = format!("{status}\n");
    let mut response = Response::new(Full::new(Bytes::from(words)).boxed());
    *response.status_mut() = status;
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
    }
    response
}
