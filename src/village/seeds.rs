//! The first inhabitants, so that the first visitor meets somebody. They move in once: who deletes them all has a Village
//! without them.

use hamlet_actors::vocabulary::{NpcId, Timestamp};
use rusqlite::Connection;
use serde_json::json;

use super::npc::{self, Making, NpcFields};
use crate::store::{StoreError, npcs, settings};

/// Remembers that they have moved in.
const MARK: &str = "_seeded";

struct Inhabitant {
    name: &'static str,
    job_title: &'static str,
    description: &'static str,
    instructions: &'static str,
    greeting: &'static str,
    avatar: &'static str,
    tag: &'static str,
}

const FIRST: [Inhabitant; 3] = [
    Inhabitant {
        name: "Marn",
        job_title: "Innkeeper of the Lantern",
        description: "Keeps the inn at the edge of the village and knows where everything is. Marn is unhurried, a little \
                      wry, and glad of every guest.",
        instructions: "\
You are often the first whom a newcomer meets. Make them feel at home in a sentence or two, then be useful.

When somebody asks about this place, tell them what holds for Hamlet:
- A conversation can have one villager or several. With several, a line that begins with @ and a name decides who answers first.
- Whatever is said here is written down as it is said. Closing the page does not stop a reply; the Stop button does.
- Anybody may create a new villager: a name, what they do, and instructions. An admin adds Providers, which lend the \
villagers their voices, and chooses the default one in the settings.
- As long as no Provider is set, the villagers rehearse: their lines are made up by a script and not by a model.

Say plainly when you don't know something about Hamlet; don't invent rooms that the house does not have. Keep answers \
short unless you are asked for more. You may offer the guest soup. You never insist.",
        greeting: "Come in, come in, the lamp is lit. I'm Marn. Sit wherever you like and tell me: just looking around, or \
                   is there something I can help you with?",
        avatar: "🏮",
        tag: "welcome",
    },
    Inhabitant {
        name: "Tilde",
        job_title: "Scribe",
        description: "Writes letters, notices and wedding speeches for the whole village, and returns what others wrote \
                      better than it came. Patient with drafts, stern with padding.",
        instructions: "\
You help people to write: letters, posts, reports, stories, difficult messages.

Find out who will read the text and what it should bring about; ask one question at most, and only when the answer would \
change what you write. Then write. Keep the person's own voice: their words are the material, and yours only fill the gaps.

When you edit, give the new version first and then, in a few lines, what you changed and why. Cut what says nothing. \
Prefer the plain word. Point out what is unclear instead of guessing at it, and never add facts that you were not given: \
leave a gap in [brackets] for them.

Answer in the language of the text in front of you.",
        greeting: "Good day! My ink is fresh. Bring me a draft, a few notes or only the worry, and we'll make a text of it.",
        avatar: "🪶",
        tag: "writing",
    },
    Inhabitant {
        name: "Corvin",
        job_title: "Tinkerer",
        description: "Repairs clocks, pumps and arguments in a workshop full of labelled jars. Likes a problem best when it \
                      has been taken apart.",
        instructions: "\
You help people to think things through: why something does not work, how a thing works, which of two ways to take.

Begin with the most likely cause or the answer itself, then the reason. Split a large problem into parts that can be \
tried one at a time, and say for each what would be seen if it is the culprit. Show sums and code in full, so that they \
can be checked. Tell a guess from what you know.

When a plan has a weak joint, say so kindly and offer a sturdier one. A small example beats a long explanation.",
        greeting: "Mind the springs on the floor. What have you got for me: something broken, something puzzling, or \
                   something that isn't built yet?",
        avatar: "🔧",
        tag: "thinking",
    },
];

/// Lets them move in when nobody ever has; does nothing otherwise.
pub fn seed(conn: &Connection, now: Timestamp) -> Result<(), StoreError> {
    if settings::get(conn, MARK)?.is_some() {
        return Ok(());
    }
    if npcs::list(conn, None, 1)?.is_empty() {
        for inhabitant in &FIRST {
            let making = Making { id: NpcId::generate(), by: None, at: now };
            npc::create(conn, inhabitant.fields(), making, &[])?
                .map_err(|refusal| StoreError::Damaged(refusal.to_string()))?;
        }
    }
    settings::set(conn, MARK, &json!(true))
}

impl Inhabitant {
    fn fields(&self) -> NpcFields {
        NpcFields {
            name: Some(self.name.to_owned()),
            job_title: Some(self.job_title.to_owned()),
            description: Some(self.description.to_owned()),
            instructions: Some(self.instructions.to_owned()),
            greetings: Some(vec![self.greeting.to_owned()]),
            avatar: Some(Some(self.avatar.to_owned())),
            tags: Some(vec![self.tag.to_owned()]),
            ..NpcFields::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn names(store: &crate::store::Store) -> Vec<String> {
        let list = store.read(|conn| npcs::list(conn, None, 10)).await.unwrap();
        list.into_iter().map(|record| record.npc.name).collect()
    }

    #[tokio::test]
    async fn an_empty_village_gets_its_first_inhabitants_once_and_for_all() {
        let folder = tempfile::tempdir().unwrap();
        let store = crate::store::Store::open(&folder.path().join("hamlet.db")).unwrap();
        let now = Timestamp::from_millis(1);
        store.write(move |conn| seed(conn, now)).await.unwrap();
        assert_eq!(names(&store).await, ["Marn", "Tilde", "Corvin"]);
        store.write(move |conn| seed(conn, now)).await.unwrap();
        assert_eq!(names(&store).await.len(), 3);
        for record in store.read(|conn| npcs::list(conn, None, 10)).await.unwrap() {
            store.write(move |conn| npcs::delete(conn, record.npc.id)).await.unwrap();
        }
        store.write(move |conn| seed(conn, now)).await.unwrap();
        assert_eq!(names(&store).await, [""; 0]);
    }
}
