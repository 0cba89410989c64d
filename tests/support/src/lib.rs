//! What Hamlet's tests share. A [`ScriptedProvider`] says what the test says, when the test says it; a [`TestVillage`] is
//! the engine over a real store in a folder of its own.

mod clock;
mod faulty;
mod machine_clock;
mod onlooker;
mod planner;
mod scripted;
mod server;
mod several;
mod socket;
mod tools;
mod village;

pub use clock::StoppedClock;
pub use faulty::{Fault, FaultyJournal, HeldBatch, Point};
pub use machine_clock::{HeldUp, TestClock};
pub use onlooker::{Onlooker, Seen};
pub use planner::TestPlanner;
pub use scripted::{Script, ScriptedProvider};
pub use server::{Answer, Client, Events, SCRAPER, TestServer, setup};
pub use several::{Connection, Several};
pub use socket::Socket;
pub use tools::{PlayedCapability, PlayedTool, at};
pub use village::{Tab, TestVillage};
