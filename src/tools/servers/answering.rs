//! The SDK's HTTP client, with one thing put right: an error without an id, by which many servers answer a request of a
//! session that they do not know (400 instead of 404), would belong to nobody, and its request would wait for ever.

use std::{collections::HashMap, sync::Arc};

use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use rmcp::{
    model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_client::{
        SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
    },
};
use sse_stream::Sse;

#[derive(Debug, Clone)]
pub struct Answering(pub reqwest::Client);

type Headers = HashMap<HeaderName, HeaderValue>;
type Failure = StreamableHttpError<reqwest::Error>;

impl StreamableHttpClient for Answering {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session_id, auth_header, custom_headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let request = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let session = if session_id.is_some() { Session::Begun } else { Session::None };
        let answered = self
            .0
            .post_message_with_response_limits(uri, message, session_id, auth_header, custom_headers, limits)
            .await?;
        match (answered, request) {
            (StreamableHttpPostResponse::Json(answer, id), Some(request)) => {
                Ok(StreamableHttpPostResponse::Json(belonging(answer, request, session)?, id))
            }
            (answered, _) => Ok(answered),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failure> {
        self.0.delete_session(uri, session_id, auth_header, custom_headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        self.0.get_stream(uri, session_id, last_event_id, auth_header, custom_headers).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max_sse_event_size: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        self.0
            .get_stream_with_max_sse_event_size(
                uri,
                session_id,
                last_event_id,
                auth_header,
                custom_headers,
                max_sse_event_size,
            )
            .await
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Session {
    None,
    Begun,
}

/// The answer with the id of its request. One that is about the session means what 404 means: it is begun anew, and the
/// request, which the server has not taken, repeated once.
fn belonging(
    answer: ServerJsonRpcMessage,
    request: RequestId,
    session: Session,
) -> Result<ServerJsonRpcMessage, Failure> {
    match answer {
        JsonRpcMessage::Error(error) if error.id.is_none() => {
            let about_session = error.error.message.to_ascii_lowercase().contains("session");
            if session == Session::Begun && about_session {
                return Err(StreamableHttpError::SessionExpired);
            }
            Ok(ServerJsonRpcMessage::error(error.error, Some(request)))
        }
        answer => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::ErrorData;

    use super::*;

    fn check(message: &'static str, id: Option<i64>, session: Session) -> Result<Option<RequestId>, String> {
        let error = ErrorData::invalid_request(message, None);
        let answer = ServerJsonRpcMessage::error(error, id.map(RequestId::Number));
        match belonging(answer, RequestId::Number(7), session) {
            Ok(JsonRpcMessage::Error(error)) => Ok(error.id),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn an_error_without_an_id_belongs_to_the_request_that_it_answers() {
        assert_eq!(check("bad", None, Session::Begun), Ok(Some(RequestId::Number(7))));
        assert_eq!(check("No valid session ID", None, Session::None), Ok(Some(RequestId::Number(7))));
        assert_eq!(check("bad", Some(3), Session::Begun), Ok(Some(RequestId::Number(3))));
    }

    #[test]
    fn an_error_about_the_session_is_its_loss() {
        let lost = check("Bad Request: No valid session ID provided", None, Session::Begun);
        assert_eq!(lost, Err("Session expired (HTTP 404)".to_owned()));
    }
}
