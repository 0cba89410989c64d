// What a model is told and was told, the summary, and what is set for one Conversation.

import { call, conversation, message } from "../api";
import type { Conversation, NewcomersKnow, SpeakerPolicy } from "../wire";
import type { Prompt, PromptSteps, SummaryVersions } from "../wire/insight";

export const insight = {
  told: (messageId: string) => call<PromptSteps>("GET", `${message(messageId)}/prompt`),
  wouldTell: (id: string, npcId: string) =>
    call<Prompt>("GET", `${conversation(id)}/prompt?npcId=${encodeURIComponent(npcId)}`),

  summary: (id: string) => call<SummaryVersions>("GET", `${conversation(id)}/summary`),
  rewrite: (id: string, text: string, version: number) =>
    call<SummaryVersions>("PATCH", `${conversation(id)}/summary`, { text, version }),
  undo: (id: string) => call<SummaryVersions>("DELETE", `${conversation(id)}/summary`),

  change: (id: string, what: { title?: string; speakerPolicy?: SpeakerPolicy; newcomersKnow?: NewcomersKnow }) =>
    call<Conversation>("PATCH", conversation(id), what),
  setParty: (id: string, npcIds: string[]) => call<Conversation>("PUT", `${conversation(id)}/participants`, { npcIds }),
};
