//! The system prompt: sections in a fixed order, each absent when it has nothing to say. One section a file.

mod identity;
mod instructions;

use crate::vocabulary::Npc;

/// What the sections are made from.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    pub npc: &'a Npc,
}

/// The prompt as it is sent: all sections that have something to say, in order.
pub fn assemble(scene: Scene<'_>) -> String {
    let sections = [identity::section(scene), instructions::section(scene)];
    sections.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::{ModelParams, NpcId};

    fn npc() -> Npc {
        Npc {
            id: NpcId(uuid::Uuid::nil()),
            slug: "mara".into(),
            name: "Mara".into(),
            job_title: "Innkeeper".into(),
            description: "Runs the Green Lantern and knows everyone's business.".into(),
            instructions: "Answer in at most three sentences.".into(),
            provider_id: None,
            model: None,
            params: ModelParams::default(),
        }
    }

    #[test]
    fn who_you_are_comes_first_and_instructions_follow() {
        insta::assert_snapshot!(assemble(Scene { npc: &npc() }), @r"
        # Who you are
        You are Mara, Innkeeper.
        Runs the Green Lantern and knows everyone's business.

        # Instructions
        Answer in at most three sentences.
        ");
    }

    #[test]
    fn the_identity_is_unconditional_and_an_empty_section_is_absent() {
        let bare = Npc { job_title: String::new(), description: String::new(), instructions: " ".into(), ..npc() };
        insta::assert_snapshot!(assemble(Scene { npc: &bare }), @r"
        # Who you are
        You are Mara.
        ");
    }
}
