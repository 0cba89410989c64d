//! What capabilities think about a turn that has ended: in the background, bounded in time, and not at all when Hamlet is
//! being stopped. What they want changed comes back to the actor as a message.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use ractor::ActorRef;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{actor::Ports, effect::Progress, event::Shown, mailbox::ConversationMsg};
use crate::{
    capability::{Afterthought, PastTurn},
    turn::TurnPlan,
    vocabulary::{ConversationId, Hop, MessageId, MessageStatus, TurnId},
};

/// Background work on turns that have ended, in all Conversations. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Afterthoughts {
    tasks: TaskTracker,
    over: CancellationToken,
}

impl Afterthoughts {
    /// Dropped in the middle when Hamlet is being stopped.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let over = self.over.clone();
        // Owned by the tracker: `end` waits for it.
        drop(self.tasks.spawn(async move {
            tokio::select! {
                () = over.cancelled() => {}
                () = work => {}
            }
        }));
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

pub fn begin(
    ports: &Arc<Ports>,
    actor: &ActorRef<ConversationMsg>,
    conversation: ConversationId,
    plan: Arc<TurnPlan>,
    past: Past,
) {
    if ports.turns.is_closed() {
        return;
    }
    let Past { turn, status, reply, first } = past;
    let progress = Progress {
        message: first.as_ref().map_or(MessageId(uuid::Uuid::nil()), |shown| shown.finish.message_id),
        step: 1,
        said: None,
        parts: 0,
        misfits: Vec::new(),
        hop: Hop::default(),
        trail: Vec::new(),
    };
    let title = first.as_ref().and_then(|shown| shown.finish.conversation.title.clone());
    let past = Arc::new(PastTurn {
        turn,
        scene: Arc::new(plan.scene(conversation, &progress)),
        status,
        reply,
        first: first.is_some(),
        title,
    });
    for capability in ports.capabilities.iter() {
        let Some(thinking) = capability.turn_ended(Arc::clone(&past)) else { continue };
        let (name, actor, shown) = (capability.name(), actor.clone(), first.clone());
        let thinking = async move {
            let thought = tokio::time::timeout(PATIENCE, AssertUnwindSafe(thinking).catch_unwind()).await;
            match thought {
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
        };
        ports.afterthoughts.spawn(thinking);
    }
}
