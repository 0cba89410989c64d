//! A server's whole list of tools, page by page, bounded. An entry that is no tool does not hide the others: the pages are
//! read as plain JSON.

use rmcp::{
    Peer, RoleClient, ServiceError,
    model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult},
    service::PeerRequestOptions,
};
use serde_json::Value;

use super::{limits::Limits, words};

const PAGES_MAX: usize = 50;
const ENTRIES_MAX: usize = 1_000;

/// Why there is no list.
#[derive(Debug)]
pub enum NoList {
    /// The server is there and says no.
    Refused(String),
    /// Nobody answers in time: it is gone, or at something else.
    Silent(String),
    /// The connection is of no use any more.
    Gone(String),
}

/// # Errors
/// When a page is refused, does not come, or is none.
pub async fn list(peer: &Peer<RoleClient>, limits: &Limits) -> Result<Vec<Value>, NoList> {
    match tokio::time::timeout(limits.begin, pages(peer, limits)).await {
        Ok(listed) => listed,
        Err(_) => Err(NoList::Silent(words::of_silence(limits.begin))),
    }
}

async fn pages(peer: &Peer<RoleClient>, limits: &Limits) -> Result<Vec<Value>, NoList> {
    let mut entries = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES_MAX {
        let (mut page, next) = page(peer, cursor.clone(), limits).await?;
        entries.append(&mut page);
        // A server that names the same page again would never end.
        if next.is_none() || next == cursor || entries.len() >= ENTRIES_MAX {
            break;
        }
        cursor = next;
    }
    entries.truncate(ENTRIES_MAX);
    Ok(entries)
}

async fn page(
    peer: &Peer<RoleClient>,
    cursor: Option<String>,
    limits: &Limits,
) -> Result<(Vec<Value>, Option<String>), NoList> {
    let request = ListToolsRequest::with_param(PaginatedRequestParams::default().with_cursor(cursor));
    let request = ClientRequest::ListToolsRequest(request);
    let asked = peer.send_request_with_option(request, PeerRequestOptions::with_timeout(limits.page)).await;
    let answered = match asked {
        Ok(handle) => handle.await_response().await,
        Err(error) => Err(error),
    };
    match answered {
        Ok(ServerResult::ListToolsResult(list)) => {
            let tools = list.tools.iter().filter_map(|tool| serde_json::to_value(tool).ok()).collect();
            Ok((tools, list.next_cursor))
        }
        // An entry that is no tool makes the whole answer look like something else.
        Ok(other) => match serde_json::to_value(other) {
            Ok(Value::Object(mut fields)) => match fields.remove("tools") {
                Some(Value::Array(tools)) => {
                    let next = fields.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
                    Ok((tools, next))
                }
                _ => Err(NoList::Refused("its answer holds no list of tools".to_owned())),
            },
            _ => Err(NoList::Refused("its answer holds no list of tools".to_owned())),
        },
        Err(ServiceError::McpError(error)) if error.code.0 == METHOD_NOT_FOUND => Ok((Vec::new(), None)),
        Err(error @ ServiceError::McpError(_)) => Err(NoList::Refused(words::of_request(&error))),
        Err(error @ ServiceError::Timeout { .. }) => Err(NoList::Silent(words::of_request(&error))),
        Err(error) => Err(NoList::Gone(words::of_request(&error))),
    }
}

/// A server that has no tools at all.
const METHOD_NOT_FOUND: i32 = -32_601;
