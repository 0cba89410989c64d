//! The adapter for OpenAI's chat completions and for everything that speaks them: asks over HTTP, reads the stream,
//! keeps the time. What the bytes mean is the decoder's matter. The key goes into one header and nowhere else, and
//! dropping the stream closes the connection.

mod calls;
pub mod decoder;
mod label;
pub mod reasoning;
mod reply;
pub mod request;
mod strings;
mod think;
mod usage;
mod wire;

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use hamlet_actors::{
    ports::{End, ModelRequest, Provider, ProviderEvent, ProviderEvents, ProviderFailure},
    vocabulary::{ErrorKind, ProviderId},
};
use http::{HeaderValue, header};
use reqwest::{Client, Request, Response};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout_at};
use url::Url;

use self::{decoder::ChatDecoder, reasoning::Origin};
use super::{
    discretion::Discretion,
    exchange, failure,
    limits::{Clients, Limits},
    quirks::Quirks,
};

/// One Provider that speaks chat completions.
#[derive(Clone)]
pub struct OpenAiChat {
    id: ProviderId,
    name: String,
    base_url: Option<Url>,
    key: Option<SecretString>,
    quirks: Quirks,
    clients: Clients,
}

impl OpenAiChat {
    pub fn new(
        id: ProviderId,
        name: String,
        base_url: Option<Url>,
        key: Option<SecretString>,
        quirks: Quirks,
        clients: Clients,
    ) -> Self {
        Self { id, name, base_url, key, quirks, clients }
    }

    /// Writes the request. Nothing is sent: a turn asks while its admission is being stored, and polls afterwards.
    fn prepare(&self, request: ModelRequest) -> Result<Prepared, ProviderFailure> {
        let discretion = Discretion::about(self.key.clone());
        let body = request::body(&request, &self.quirks).map_err(|error| {
            tracing::error!(%error, "a request could not be written");
            failure::failure(ErrorKind::Request, "the request to the Provider could not be written", None)
        })?;
        let Some(base_url) = &self.base_url else {
            return Err(failure::failure(ErrorKind::Request, "the Provider has no base URL", None));
        };
        let url = endpoint(base_url, "chat/completions");
        let client = self.clients.toward(&url).clone();
        let mut post = Request::new(http::Method::POST, url);
        authorize(&mut post, self.key.as_ref())?;
        post.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        post.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        *post.body_mut() = Some(Bytes::from(body).into());
        let origin = Origin { provider: self.id, model: request.model };
        let (quirks, limits) = (self.quirks.clone(), self.clients.limits.clone());
        Ok(Prepared { client, post, discretion, origin, quirks, limits })
    }
}

/// A request that is written and not sent.
struct Prepared {
    client: Client,
    post: Request,
    discretion: Discretion,
    origin: Origin,
    quirks: Quirks,
    limits: Limits,
}

impl Prepared {
    async fn connect(self) -> Result<Reading, ProviderFailure> {
        let Self { client, post, discretion, origin, quirks, limits } = self;
        let response = exchange::send(&client, post, &limits, &discretion).await?;
        if is_page(&response) {
            let message = "the Provider answered with a web page: check the base URL";
            return Err(failure::failure(ErrorKind::Request, message, Some(response.status().as_u16())));
        }
        let decoder = ChatDecoder::new(origin, &quirks, discretion);
        Ok(Reading { response, decoder, patience: limits.first_byte, finished_at: None, limits })
    }
}

impl Provider for OpenAiChat {
    fn id(&self) -> ProviderId {
        self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn ask(&self, request: ModelRequest) -> ProviderEvents {
        let asking = Stage::Asking(Box::new(self.prepare(request)));
        Box::pin(stream::unfold(asking, Stage::next))
    }
}

/// Where one reply is.
enum Stage {
    Asking(Box<Result<Prepared, ProviderFailure>>),
    Reading(Box<Reading>),
    Over,
}

struct Reading {
    response: Response,
    decoder: ChatDecoder,
    /// How long the next read may take.
    patience: Duration,
    finished_at: Option<Instant>,
    limits: Limits,
}

impl Stage {
    async fn next(self) -> Option<(Vec<ProviderEvent>, Self)> {
        let mut reading = match self {
            Self::Over => return None,
            Self::Reading(reading) => reading,
            Self::Asking(asked) => {
                let connected = match *asked {
                    Ok(prepared) => Box::pin(prepared.connect()).await,
                    Err(failure) => Err(failure),
                };
                match connected {
                    Ok(reading) => Box::new(reading),
                    Err(failure) => return Some((vec![ProviderEvent::End(End::Failed(failure))], Self::Over)),
                }
            }
        };
        let mut events = Vec::new();
        // A read that held nothing but keep-alives is no item of the stream.
        while events.is_empty() && !reading.decoder.has_ended() {
            reading.read(&mut events).await;
        }
        let stage = if reading.decoder.has_ended() { Self::Over } else { Self::Reading(reading) };
        Some((events, stage))
    }
}

impl Reading {
    async fn read(&mut self, events: &mut Vec<ProviderEvent>) {
        let mut deadline = Instant::now() + self.patience;
        if let Some(finished_at) = self.finished_at {
            deadline = deadline.min(finished_at + self.limits.after_finish);
        }
        match timeout_at(deadline, self.response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                self.patience = self.limits.idle;
                self.decoder.read(&bytes, events);
                if self.decoder.has_finished() {
                    self.finished_at.get_or_insert_with(Instant::now);
                }
            }
            Ok(Ok(None)) => self.decoder.finish(events),
            Ok(Err(error)) => {
                tracing::debug!(error = %error.without_url(), "the Provider's stream broke off");
                self.decoder.finish(events);
            }
            Err(_) if self.finished_at.is_some() => self.decoder.finish(events),
            Err(_) => self.decoder.fail(exchange::silent(self.patience), events),
        }
    }
}

/// `base_url` with a path added, whether or not it ends in a slash; its query stays.
pub fn endpoint(base_url: &Url, path: &str) -> Url {
    let mut url = base_url.clone();
    let base = base_url.path().trim_end_matches('/');
    url.set_path(&format!("{base}/{path}"));
    url
}

/// Puts the key into the one header that it belongs in.
pub fn authorize(request: &mut Request, key: Option<&SecretString>) -> Result<(), ProviderFailure> {
    let Some(key) = key.map(|key| key.expose_secret().trim()).filter(|key| !key.is_empty()) else {
        return Ok(());
    };
    let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| {
        failure::failure(ErrorKind::Auth, "the Provider's key holds characters that cannot be sent", None)
    })?;
    value.set_sensitive(true);
    request.headers_mut().insert(header::AUTHORIZATION, value);
    Ok(())
}

fn is_page(response: &Response) -> bool {
    let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|content_type| content_type.trim_start().to_ascii_lowercase().starts_with("text/html"))
}
