//! Hamlet's engine: Conversations as supervised actors.
//!
//! # Glossary
//! * **Player**: a person who talks. **Npc**: an inhabitant who answers: an identity, instructions, a model.
//! * **Conversation**: one talk, owned by one actor. **Party**: a Conversation with several NPCs. **Village**: all of them.
//! * **Message**: the stored thing, made of **Parts**. **Delta**: a piece of a reply without a place; **Piece**: one with it.
//! * **Turn**: from a Player's Message to its one terminal **Frame**. **Step**: one Provider call. **Hop**: one hand-over.
//! * **Event**: a fact given to a Conversation's state. **Effect**: a duty that it returns.
//! * **Journal**: the only durable record. **FrameLog**: the running turn's frames, shared by all watchers. **Cursor**: the
//!   seq of the last frame that a watcher has.
//!
//! # One-way flow
//! `vocabulary <- policy <- ports <- turn, conversation <- village, engine`. The crate knows no HTTP, no SQL and no
//! Provider's wire format; a test asserts that none of their crates is among its dependencies.
//!
//! # The promises
//! Tests are named after them (`promise_2_...`).
//! 1. Refused before the first byte: whatever can refuse a turn does so with a status before the stream opens.
//! 2. Durable before visible: no frame with an id reaches a tab before the store has committed it.
//! 3. A start frame's id is a stored row.
//! 4. What was handed to the Journal is kept on every exit, and what was decoded when the abort came is kept too.
//! 5. One fold: stored Parts equal the fold of the frames, here and in the browser.
//! 6. One cursor a Conversation, durable and growing: any cursor ever held folds to the same transcript.
//! 7. Leaving is not stopping: a closed tab detaches, Stop is a command.
//! 8. Every turn ends with exactly one terminal frame, also after a panic or a restart. There are no zombies.
//! 9. A slow tab harms nobody: it never blocks and never loses a frame; it gets the same text in fewer frames.
//! 10. A Conversation cannot be poisoned: no stored item makes the next request fail.
//! 11. Usage is what the Provider reported; null when it never did.
//! 12. A Tool nobody granted does not exist for the model, and is refused if called all the same.
//! 13. A cut-off tool call never runs.
//! 14. Limits speak: each is a frame, never a silent stop.
//! 15. A solo history is byte-identical to what was said.
//! 16. Failure never looks like success: a turn is complete only on the Provider's positive end mark.
//! 17. Someone else's Conversation does not exist for you, on every route.

pub mod capability;
pub mod conversation;
pub mod engine;
pub mod policy;
pub mod ports;
mod reply;
pub mod turn;
pub mod village;
pub mod vocabulary;
