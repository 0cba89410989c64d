//! The embedded Provider without a model: it makes a first run, a demonstration and a test possible without a key or a
//! network. Deterministic: the same request gives the same reply. It always says what it is.

mod script;

use std::{collections::VecDeque, time::Duration};

use futures_util::stream;
use hamlet_actors::{
    ports::{End, ModelRequest, Provider, ProviderEvent, ProviderEvents},
    vocabulary::{ErrorKind, ProviderId},
};
use tokio::time::{Instant, sleep, sleep_until};

use self::script::{Beat, script};
use super::{exchange, failure};

/// The name of the one model that it offers.
pub const MODEL: &str = "rehearsal";

const TOKENS_PER_SECOND: u32 = 40;
const IDLE: Duration = Duration::from_secs(120);

/// Streams a small script, made from the request alone.
///
/// Cues in the Player's words: `markdown`, `long`, `think`, `fail`, `cut`, `silence`, `echo: ...`, and
/// `use NAME {json}` for a tool that was granted. The usage it reports is an estimate: four characters a token for what
/// it was given, one for each piece that it streamed.
#[derive(Debug, Clone)]
pub struct Rehearsal {
    id: ProviderId,
    name: String,
    pace: Duration,
    idle: Duration,
}

impl Rehearsal {
    pub fn new(id: ProviderId, name: String) -> Self {
        Self { id, name, pace: Duration::ZERO, idle: IDLE }.at_pace(TOKENS_PER_SECOND)
    }

    /// Pieces a second; 0 is as fast as they are taken.
    #[must_use]
    pub fn at_pace(self, tokens_per_second: u32) -> Self {
        let pace = Duration::from_secs(1).checked_div(tokens_per_second).unwrap_or_default();
        Self { pace, ..self }
    }

    /// How long its silence is borne before it counts as a failure, as with a Provider on a network.
    #[must_use]
    pub fn with_idle_limit(self, idle: Duration) -> Self {
        Self { idle, ..self }
    }
}

impl Provider for Rehearsal {
    fn id(&self) -> ProviderId {
        self.id
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn ask(&self, request: ModelRequest) -> ProviderEvents {
        let (pace, idle) = (self.pace, self.idle);
        let playing = Playing { request: Some(request), beats: VecDeque::new(), due: None };
        Box::pin(stream::unfold(playing, move |mut playing| {
            async move {
                if let Some(request) = playing.request.take() {
                    playing.beats = script(&request).into();
                }
                let beat = playing.beats.pop_front()?;
                if !pace.is_zero() {
                    // Against a clock, not after each piece: a slow reader catches up instead of slowing the pace.
                    let due = playing.due.unwrap_or_else(Instant::now) + pace;
                    sleep_until(due).await;
                    playing.due = Some(due);
                }
                let events = match beat {
                    Beat::Say(events) => events,
                    Beat::Fail => {
                        let message = "the rehearsal failed because it was asked to";
                        vec![ProviderEvent::End(End::Failed(failure::failure(ErrorKind::Server, message, None)))]
                    }
                    Beat::Silence => {
                        sleep(idle).await;
                        vec![ProviderEvent::End(End::Failed(exchange::silent(idle)))]
                    }
                };
                Some((events, playing))
            }
        }))
    }
}

struct Playing {
    /// Until the first poll.
    request: Option<ModelRequest>,
    beats: VecDeque<Beat>,
    /// When the last piece was due.
    due: Option<Instant>,
}
