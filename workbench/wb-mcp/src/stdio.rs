//! The server over standard input and output, as agents start it: one message a line, and nothing else is printed.

use std::sync::Arc;

use rmcp::{
    ServiceExt,
    service::ServerInitializeError,
    transport::{async_rw::AsyncRwTransport, stdio},
};
use tokio::io::{AsyncRead, AsyncWrite};
use wb_core::{Error, Result};

use crate::{
    live::LiveProject,
    runtime::{StopFlag, run},
    server::AgentServer,
};

/// Bytes of a message at most.
const MOST_BYTES: usize = 1 << 20;

/// Serves a project over standard input and output until the input ends or the flag is set.
pub fn serve_stdio(project: Arc<LiveProject>, stop: &StopFlag) -> Result<()> {
    project.begin();
    run(stop, async {
        let (input, output) = stdio();
        serve_streams(AgentServer::new(project), input, output).await
    })?;
    Ok(())
}

/// Serves one client over two streams until the first one ends.
pub async fn serve_streams(
    server: AgentServer,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<()> {
    let transport = AsyncRwTransport::new(input, output).with_max_line_length(MOST_BYTES);
    let failed = |error: String| Error::failed(format!("the client cannot be served: {error}"));
    match server.serve(transport).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| failed(error.to_string())),
        // A client that goes before it has said anything.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(failed(error.to_string())),
    }
}
