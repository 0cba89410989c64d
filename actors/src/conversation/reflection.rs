//! What capabilities think about a turn that has ended: in the background, bounded in time, and not at all when Hamlet is
//! being stopped. What they want changed comes back to the actor as a message.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use ractor::ActorRef;
use tokio::task::JoinHandle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{event::Shown, mailbox::ConversationMsg};
use crate::{
    capability::{Afterthought, CapabilityError, PastTurn},
    turn::{Site, context::summarise_ahead},
    vocabulary::{MessageStatus, TurnId},
};

/// Background work on turns that have ended, in all Conversations. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Afterthoughts {
    tasks: TaskTracker,
    over: CancellationToken,
}

impl Afterthoughts {
    /// Dropped in the middle when Hamlet is being stopped.
    /// The tracker owns it, and `end` waits for it: the handle only tells whether it is over.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        let over = self.over.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = over.cancelled() => {}
                () = work => {}
            }
        })
    }

    /// Drops what is not finished, and waits until it is gone.
    pub async fn end(&self) {
        self.over.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// For each capability.
const PATIENCE: Duration = Duration::from_secs(120);

/// A turn that has ended, as its state tells of it.
pub struct Past {
    pub turn: TurnId,
    pub status: MessageStatus,
    pub reply: Arc<str>,
    pub first: Option<Arc<Shown>>,
}

/// Answers the task that summarises ahead of need; `summarising` is the one of an earlier turn.
pub fn begin(
    site: &Site,
    actor: &ActorRef<ConversationMsg>,
    past: Past,
    summarising: Option<JoinHandle<()>>,
) -> Option<JoinHandle<()>> {
    let ports = &site.ports;
    if ports.turns.is_closed() {
        return None;
    }
    let Past { turn, status, reply, first } = past;
    let title = first.as_ref().and_then(|shown| shown.finish.conversation.title.clone());
    let past = Arc::new(PastTurn {
        turn,
        scene: Arc::new(site.plan.scene(site.conversation, &site.progress)),
        status,
        reply,
        first: first.is_some(),
        title,
    });
    for capability in ports.world.capabilities.iter() {
        if let Some(thinking) = capability.turn_ended(Arc::clone(&past)) {
            let thinking = thought(capability.name(), thinking, actor.clone(), first.clone());
            drop(ports.afterthoughts.spawn(thinking));
        }
    }
    // One at a time: a slow model is not asked again for the same.
    match summarising {
        Some(earlier) if !earlier.is_finished() => Some(earlier),
        _ => {
            let site = site.clone();
            Some(ports.afterthoughts.spawn(async move {
                if let Err(error) = summarise_ahead(&site).await {
                    tracing::warn!(%error, "a summary ahead of need could not be kept");
                }
            }))
        }
    }
}

async fn thought(
    name: &'static str,
    thinking: BoxFuture<'static, Result<Afterthought, CapabilityError>>,
    actor: ActorRef<ConversationMsg>,
    shown: Option<Arc<Shown>>,
) {
    match tokio::time::timeout(PATIENCE, AssertUnwindSafe(thinking).catch_unwind()).await {
        Ok(Ok(Ok(Afterthought::Nothing))) => {}
        Ok(Ok(Ok(Afterthought::Title(title)))) => {
            if let Some(shown) = shown {
                // An actor that went to sleep meanwhile keeps the title that it has.
                drop(actor.cast(ConversationMsg::Retitled { shown, title }));
            }
        }
        Ok(Ok(Err(error))) => tracing::info!(capability = name, %error, "had no afterthought"),
        Ok(Err(_panic)) => tracing::error!(capability = name, "panicked over a turn that had ended"),
        Err(_late) => tracing::info!(capability = name, "thought for too long about a turn that had ended"),
    }
}
