//! One thing that may happen at any moment, and how often it does. What it points at is chosen among what is there then, so
//! that a shorter story still makes sense; what cannot happen at that moment does not.

use hamlet_actors::conversation::OnBusy;
use proptest::{prelude::*, sample::select};

#[derive(Debug, Clone, Copy)]
pub enum Happening {
    /// A question and its answer, without anything in between.
    Chat,
    /// A Player says something, perhaps under a key; under a used one that is a repeat.
    Say {
        busy: OnBusy,
        key: Option<u8>,
    },
    /// The last Player Message is to be answered anew; `behind`: as a page sees it that has missed the newest.
    Regenerate {
        behind: bool,
    },
    /// Another text in place of one that was said.
    Rewrite {
        pick: u8,
    },
    EditWaiting {
        pick: u8,
    },
    Withdraw {
        pick: u8,
    },
    Resume,
    Select {
        pick: u8,
    },
    Abort(Named),
    /// The Provider sends something.
    Speak(Speech),
    /// The turn's task is over.
    End(How),
    /// A task that is long over says something once more.
    SpeakLate(How),
    /// Who answers the text that is being taken up is found, or nobody is.
    Plan {
        found: bool,
    },
    /// An earlier search answers once more.
    PlanLate,
    /// The store takes the next job, and whoever waits for it hears of it.
    Store,
    /// The store takes the next job; that is not heard yet.
    Write(Fate),
    /// Somebody hears what the store did; `newest`: the newest instance before the older ones.
    Hear {
        newest: bool,
    },
    Retry,
    /// The store cannot commit for a while, and what waits is tried again and again.
    Outage {
        seconds: u8,
    },
    Wait {
        seconds: u8,
    },
    /// The process is killed.
    Kill,
    /// The process is stopped in good order, and started again.
    Restart,
    /// The actor fails. The Village starts it again, or has done so too often and ends the turn itself.
    Fail {
        again: bool,
    },
    /// An operator starts the actor anew. The one before has its hand on one more batch.
    Oust,
    /// The Village sends to sleep what looks idle.
    Retire,
    /// The Village frees what ended turns left in the log, once it has seen it twice.
    Free,
    Delete,
    Tab {
        tab: u8,
        does: TabDoes,
    },
}

#[derive(Debug, Clone, Copy)]
pub enum Named {
    Nobody,
    Running,
    Earlier { pick: u8 },
    Waiting { pick: u8 },
}

#[derive(Debug, Clone, Copy)]
pub enum Speech {
    Text,
    /// Characters that JSON escapes, and one of four bytes.
    Odd,
    Thought,
    Call {
        which: u8,
        closed: bool,
    },
    Opaque,
    /// More than one look gives.
    Long,
}

#[derive(Debug, Clone, Copy)]
pub enum How {
    Complete,
    CutByLength,
    Filtered,
    Truncated,
    Failed,
    Panicked,
    TooLong,
    Unreadable,
    /// The answer made a call, which may run, needs a yes, or does not fit. As `Complete` where calls run.
    Calls {
        ruling: u8,
    },
    /// A call hands over to somebody, who can answer or not. As `Complete` where no calls run.
    HandsOver {
        can: bool,
    },
    /// As it was asked to; as `Complete` when nobody asked.
    AsAsked,
}

#[derive(Debug, Clone, Copy)]
pub enum Fate {
    Stored,
    /// The store cannot commit now.
    Unavailable,
    /// The store does not take this one.
    Refused,
}

#[derive(Debug, Clone, Copy)]
pub enum TabDoes {
    /// Reads all that there is.
    Read,
    /// Takes at most one piece of it.
    Glance,
    /// Loses its connection in the middle of a piece.
    Drop { after: u16 },
    /// Comes back with a cursor that it held, and what it had then.
    Return { with: u8, among: bool },
    /// Begins anew from the transcript and its cursor.
    Reload,
    /// Begins anew, from the first Message.
    FromTheStart { among: bool },
    /// Begins anew: what comes from now on, and the running turn.
    FromNow,
    /// Repeats a send under its key, and watches that turn to its end.
    Join { key: u8, last: bool },
}

pub fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        40 => Just(Happening::Store),
        24 => speech().prop_map(Happening::Speak),
        14 => how().prop_map(Happening::End),
        6 => Just(Happening::Chat),
        18 => (busy(), prop::option::weighted(0.3, 0..4u8)).prop_map(|(busy, key)| Happening::Say { busy, key }),
        4 => prop::bool::weighted(0.1).prop_map(|behind| Happening::Regenerate { behind }),
        4 => any::<u8>().prop_map(|pick| Happening::Rewrite { pick }),
        5 => any::<u8>().prop_map(|pick| Happening::EditWaiting { pick }),
        4 => any::<u8>().prop_map(|pick| Happening::Withdraw { pick }),
        4 => Just(Happening::Resume),
        6 => any::<u8>().prop_map(|pick| Happening::Select { pick }),
        7 => named().prop_map(Happening::Abort),
        7 => prop::bool::weighted(0.8).prop_map(|found| Happening::Plan { found }),
        1 => Just(Happening::PlanLate),
        1 => how().prop_map(Happening::SpeakLate),
        8 => fate().prop_map(Happening::Write),
        8 => any::<bool>().prop_map(|newest| Happening::Hear { newest }),
        4 => Just(Happening::Retry),
        2 => select(vec![3, 12, 40]).prop_map(|seconds| Happening::Outage { seconds }),
        2 => select(vec![1, 11, 31]).prop_map(|seconds| Happening::Wait { seconds }),
        1 => Just(Happening::Kill),
        1 => prop::bool::weighted(0.7).prop_map(|again| Happening::Fail { again }),
        1 => Just(Happening::Oust),
        2 => Just(Happening::Retire),
        3 => Just(Happening::Free),
        28 => (0..4u8, does()).prop_map(|(tab, does)| Happening::Tab { tab, does }),
    ]
}

/// What is over with one stroke: at most once in a run.
pub fn last_straw() -> impl Strategy<Value = Option<(u8, Happening)>> {
    let straw = prop_oneof![Just(Happening::Delete), Just(Happening::Restart)];
    prop::option::weighted(0.2, (any::<u8>(), straw))
}

fn busy() -> impl Strategy<Value = OnBusy> {
    prop_oneof![
        2 => Just(OnBusy::Reject),
        4 => Just(OnBusy::Enqueue),
        3 => Just(OnBusy::Interrupt),
        4 => Just(OnBusy::Steer),
    ]
}

fn named() -> impl Strategy<Value = Named> {
    prop_oneof![
        2 => Just(Named::Nobody),
        4 => Just(Named::Running),
        1 => any::<u8>().prop_map(|pick| Named::Earlier { pick }),
        2 => any::<u8>().prop_map(|pick| Named::Waiting { pick }),
    ]
}

fn speech() -> impl Strategy<Value = Speech> {
    prop_oneof![
        100 => Just(Speech::Text),
        20 => Just(Speech::Odd),
        30 => Just(Speech::Thought),
        30 => (0..3u8, any::<bool>()).prop_map(|(which, closed)| Speech::Call { which, closed }),
        20 => Just(Speech::Opaque),
        1 => Just(Speech::Long),
    ]
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        14 => Just(How::Complete),
        6 => Just(How::AsAsked),
        8 => (0..4u8).prop_map(|ruling| How::Calls { ruling }),
        3 => prop::bool::weighted(0.8).prop_map(|can| How::HandsOver { can }),
        1 => select(vec![How::CutByLength, How::Filtered, How::Truncated, How::Failed]),
        1 => select(vec![How::Panicked, How::TooLong, How::Unreadable]),
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![12 => Just(Fate::Stored), 6 => Just(Fate::Unavailable), 1 => Just(Fate::Refused)]
}

fn does() -> impl Strategy<Value = TabDoes> {
    prop_oneof![
        4 => Just(TabDoes::Read),
        3 => Just(TabDoes::Glance),
        3 => any::<u16>().prop_map(|after| TabDoes::Drop { after }),
        4 => (any::<u8>(), any::<bool>()).prop_map(|(with, among)| TabDoes::Return { with, among }),
        2 => Just(TabDoes::Reload),
        1 => any::<bool>().prop_map(|among| TabDoes::FromTheStart { among }),
        1 => Just(TabDoes::FromNow),
        2 => (0..4u8, any::<bool>()).prop_map(|(key, last)| TabDoes::Join { key, last }),
    ]
}
