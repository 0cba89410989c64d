//! What tabs see of a Conversation that is put aside.

use hamlet_actors::vocabulary::{ErrorCode, Frame};
use hamlet_test_support::{Events, Fault, Point, TestServer};
use reqwest::StatusCode;
use serde_json::json;

#[tokio::test]
async fn tabs_are_told_of_a_quarantine_while_nothing_runs_and_so_is_who_comes_before_the_release() {
    let server = TestServer::start().await;
    let id = server.conversation().await;
    let frames = format!("/api/conversations/{id}/frames?after=0");
    let mut tab = server.admin.watch(&frames).await;
    for _ in 0..4 {
        server.journal.once(Point::Admission, Fault::Panics);
    }
    let path = format!("/api/conversations/{id}/messages");
    let say = async || server.admin.post(&path, json!({"text": "Hi"})).await;
    // Asked three times, of three actors.
    assert_eq!(say().await.refused(StatusCode::INTERNAL_SERVER_ERROR).await, "INTERNAL");
    assert_eq!(tab.frames.len(), 0);
    assert_eq!(say().await.refused(StatusCode::SERVICE_UNAVAILABLE).await, "QUARANTINED");
    let told = |tab: &Events| match tab.frames.last() {
        Some((id, Frame::Error { turn_id, message_id, error })) => {
            (*id, *turn_id, *message_id, error.code) == (None, None, None, ErrorCode::Quarantined)
        }
        _ => false,
    };
    assert!(tab.until(told).await);
    let mut late = server.admin.watch(&frames).await;
    assert!(late.until(told).await);
    server.admin.post(&format!("/admin/actors/{id}/release"), json!({})).await.expect(StatusCode::OK).await;
    let script = server.provider.expect();
    let mut new = server.admin.watch(&frames).await;
    say().await.expect(StatusCode::ACCEPTED).await;
    script.text("Here again.");
    script.finish();
    for tab in [&mut tab, &mut late, &mut new] {
        tab.until_text("Here again.").await;
    }
    assert!(new.frames.iter().all(|(_, frame)| !matches!(frame, Frame::Error { .. })));
}
