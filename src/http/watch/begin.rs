//! Where a reader begins, and what may be watched at all: the log first, then the store, so that whatever is shown in between
//! is not missed.

use std::sync::Arc;

use hamlet_actors::{conversation::frame_log::FrameLog, vocabulary::ConversationId};

use crate::{
    app::App,
    auth::Who,
    http::error::ApiError,
    store::{StoreError, conversations, messages},
};

/// Where a reader asks to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// Behind this cursor.
    Cursor(u64),
    /// Behind this cursor or earlier: the reader may have more than it says, so it gets no piece without its beginning.
    WholeMessages(u64),
    /// A running turn from its beginning, else what comes from now on.
    Now,
}

/// A Conversation that may be watched, and where it begins.
pub struct Place {
    pub conversation: ConversationId,
    pub log: Arc<FrameLog>,
    pub cursor: u64,
}

/// One Conversation.
///
/// # Errors
/// NOT_FOUND, SHUTTING_DOWN, or the store can't be read.
pub async fn one(app: &App, who: &Who, conversation: ConversationId, from: Since) -> Result<Place, ApiError> {
    several(app, who, &[(conversation, from)]).await?.pop().flatten().ok_or_else(ApiError::not_found)
}

/// Several Conversations of one Player, at one moment of the store. None in the place of one that is absent or foreign.
///
/// # Errors
/// SHUTTING_DOWN, or the store can't be read.
pub async fn several(app: &App, who: &Who, asked: &[(ConversationId, Since)]) -> Result<Vec<Option<Place>>, ApiError> {
    let mut logs = Vec::with_capacity(asked.len());
    for (conversation, _) in asked {
        logs.push(app.engine.log(*conversation).await?);
    }
    let (ids, player) = (asked.iter().map(|(id, _)| *id).collect::<Vec<_>>(), who.id);
    let settled = app
        .store
        .read(move |conn| {
            let settled = |id| match conversations::of_player(conn, id, player) {
                Ok(row) => messages::settled_seq(conn, &row).map(Some),
                Err(StoreError::NotFound) => Ok(None),
                Err(error) => Err(error),
            };
            ids.into_iter().map(settled).collect::<Result<Vec<_>, _>>()
        })
        .await?;
    let asked = asked.iter().zip(logs).zip(settled);
    let places = asked.map(|((&(conversation, since), log), settled)| {
        settled.map(|settled| Place { conversation, cursor: cursor(since, &log, settled), log })
    });
    Ok(places.collect())
}

/// `settled`: the highest seq of the store before which nothing was running.
fn cursor(from: Since, log: &FrameLog, settled: u64) -> u64 {
    let newest = log.head().map_or(settled, |head| head.max(settled));
    match from {
        // A cursor from the future was never ours (a restored backup, another server): it would miss frames.
        Since::Cursor(cursor) => cursor.min(newest),
        Since::WholeMessages(cursor) => cursor.min(log.floor().unwrap_or(newest)).min(newest),
        Since::Now => log.start_of_turn().unwrap_or(newest),
    }
}

#[cfg(test)]
mod tests {
    use hamlet_actors::vocabulary::{MessageId, Part, Piece, TurnId};

    use super::*;

    fn log(floor: u64, head: u64) -> FrameLog {
        let (log, message) = (FrameLog::default(), MessageId::generate());
        log.open(floor, TurnId::generate());
        for seq in floor + 1..=head {
            log.publish_pieces(message, &[(seq, Piece::Part { index: 0, part: Part::text("a") })]);
        }
        log
    }

    #[test]
    fn a_cursor_from_the_future_is_the_newest_seq() {
        assert_eq!(cursor(Since::Cursor(99), &log(4, 8), 4), 8);
        assert_eq!(cursor(Since::Cursor(99), &FrameLog::default(), 4), 4);
        assert_eq!(cursor(Since::Cursor(7), &log(4, 8), 4), 7);
        assert_eq!(cursor(Since::Cursor(2), &log(4, 8), 4), 2);
    }

    #[test]
    fn without_a_cursor_a_running_turn_comes_from_its_beginning_and_else_what_comes_from_now_on() {
        assert_eq!(cursor(Since::Now, &log(4, 8), 4), 4);
        assert_eq!(cursor(Since::Now, &FrameLog::default(), 6), 6);
    }

    #[test]
    fn who_may_have_more_than_the_cursor_says_gets_no_piece_without_its_beginning() {
        assert_eq!(cursor(Since::WholeMessages(7), &log(4, 8), 4), 4);
        assert_eq!(cursor(Since::WholeMessages(99), &log(4, 8), 4), 4);
        assert_eq!(cursor(Since::WholeMessages(2), &log(4, 8), 4), 2);
        assert_eq!(cursor(Since::WholeMessages(9), &FrameLog::default(), 6), 6);
    }
}
