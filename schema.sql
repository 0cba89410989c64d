-- Hamlet's tables, version 3. Applied to an empty file at start; src/store/migrations.rs carries older files here.
-- Ids are UUID v7 as 16 bytes, times are milliseconds since 1970, JSON columns hold the wire shapes of docs/protocol.md.
-- Where a row is the parent of many (conversations, messages) it also has a small integer key, so that children stay narrow.

-- Who may come in. A Player without a password enters by a link or a token only.
CREATE TABLE players (
  id            BLOB PRIMARY KEY,
  name          TEXT NOT NULL,
  name_key      TEXT NOT NULL UNIQUE,              -- the name in lower case: two Players never differ by case alone
  password_hash TEXT,                              -- argon2id in PHC form
  role          TEXT NOT NULL CHECK (role IN ('player', 'admin')),
  disabled      INTEGER NOT NULL DEFAULT 0,
  created_at    INTEGER NOT NULL
) STRICT;

-- Cookies, API tokens, one-time links and invitations are kept as SHA-256 of 32 random bytes: the file lets nobody in.
CREATE TABLE sessions (
  hash       BLOB PRIMARY KEY,
  player_id  BLOB NOT NULL REFERENCES players (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_player ON sessions (player_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE api_tokens (
  id         BLOB PRIMARY KEY,
  hash       BLOB NOT NULL UNIQUE,
  player_id  BLOB NOT NULL REFERENCES players (id) ON DELETE CASCADE,
  name       TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX api_tokens_by_player ON api_tokens (player_id);

CREATE TABLE login_links (
  hash       BLOB PRIMARY KEY,
  player_id  BLOB NOT NULL REFERENCES players (id) ON DELETE CASCADE,
  expires_at INTEGER NOT NULL                      -- deleted when used: a link works once
) STRICT, WITHOUT ROWID;

CREATE TABLE invites (
  hash       BLOB PRIMARY KEY,
  created_by BLOB NOT NULL REFERENCES players (id) ON DELETE CASCADE,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What was set through the page or the API; flags, environment and file come before it.
CREATE TABLE settings (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL                              -- JSON
) STRICT, WITHOUT ROWID;

-- Providers added through the API. Those of the environment are never stored.
CREATE TABLE providers (
  id         BLOB PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  kind       TEXT NOT NULL,
  base_url   TEXT NOT NULL,
  api_key    BLOB,                                 -- sealed with the key file (XChaCha20-Poly1305), bound to the id
  quirks     TEXT NOT NULL DEFAULT '{}',
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

-- The Village's inhabitants. provider_id is not a foreign key: a Provider of the environment has no row.
CREATE TABLE npcs (
  id           BLOB PRIMARY KEY,
  slug         TEXT NOT NULL UNIQUE,
  name         TEXT NOT NULL,
  job_title    TEXT NOT NULL DEFAULT '',
  description  TEXT NOT NULL DEFAULT '',
  instructions TEXT NOT NULL DEFAULT '',
  provider_id  BLOB,
  model        TEXT,
  params       TEXT NOT NULL DEFAULT '{}',
  avatar       TEXT,
  greetings    TEXT NOT NULL DEFAULT '[]',
  tags         TEXT NOT NULL DEFAULT '[]',
  extensions   TEXT NOT NULL DEFAULT '{}',         -- unknown fields of an imported card
  created_by   BLOB REFERENCES players (id) ON DELETE SET NULL,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL
) STRICT;

-- What an NPC may call. A tool without a row does not exist for the model. The key of a tool server's tool is
-- "server/tool"; there is no foreign key, because a server may be away, or come from a file.
CREATE TABLE grants (
  npc_id   BLOB NOT NULL REFERENCES npcs (id) ON DELETE CASCADE,
  tool     TEXT NOT NULL,
  approval TEXT NOT NULL CHECK (approval IN ('never', 'always')),
  PRIMARY KEY (npc_id, tool)
) STRICT, WITHOUT ROWID;

-- Instructions that are loaded on demand. npc_id null: in scope for the whole Village.
CREATE TABLE skills (
  id            BLOB PRIMARY KEY,
  npc_id        BLOB REFERENCES npcs (id) ON DELETE CASCADE,
  name          TEXT NOT NULL,
  description   TEXT NOT NULL,
  instructions  TEXT NOT NULL,
  license       TEXT,
  compatibility TEXT,
  metadata      TEXT NOT NULL DEFAULT '{}',        -- JSON
  allowed_tools TEXT NOT NULL DEFAULT '[]',        -- JSON; shown, and granting nothing
  folder        TEXT,                              -- its folder under skills/ in the data folder, where it comes from one
  created_by    BLOB REFERENCES players (id) ON DELETE SET NULL,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX skills_by_name ON skills (coalesce(npc_id, x''), name);
CREATE INDEX skills_by_npc ON skills (npc_id);

-- The files under a skill's references/, as text.
CREATE TABLE skill_files (
  skill_id BLOB NOT NULL REFERENCES skills (id) ON DELETE CASCADE,
  path     TEXT NOT NULL,
  body     TEXT NOT NULL,
  PRIMARY KEY (skill_id, path)
) STRICT, WITHOUT ROWID;

-- What an NPC remembers of a Player. The full-text index is kept by the triggers and holds no text of its own.
CREATE TABLE memories (
  key             INTEGER PRIMARY KEY AUTOINCREMENT,
  id              BLOB NOT NULL UNIQUE,
  player_id       BLOB NOT NULL REFERENCES players (id) ON DELETE CASCADE,
  npc_id          BLOB NOT NULL REFERENCES npcs (id) ON DELETE CASCADE,
  text            TEXT NOT NULL,
  text_key        TEXT NOT NULL,                   -- its words in lower case: the same thing is remembered once
  written_by      TEXT NOT NULL CHECK (written_by IN ('npc', 'player')),
  conversation_id BLOB,                            -- where it was written; it may be gone
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL,
  UNIQUE (player_id, npc_id, text_key)
) STRICT;
CREATE INDEX memories_by_npc ON memories (npc_id);
CREATE VIRTUAL TABLE memories_fts USING fts5 (text, content='memories', content_rowid='key', tokenize='unicode61 remove_diacritics 2');
-- In how many memories a word is; a view of the index that stores nothing.
CREATE VIRTUAL TABLE memories_words USING fts5vocab (memories_fts, row);
CREATE TRIGGER memories_written AFTER INSERT ON memories BEGIN
  INSERT INTO memories_fts (rowid, text) VALUES (new.key, new.text);
END;
CREATE TRIGGER memories_changed AFTER UPDATE OF text ON memories BEGIN
  INSERT INTO memories_fts (memories_fts, rowid, text) VALUES ('delete', old.key, old.text);
  INSERT INTO memories_fts (rowid, text) VALUES (new.key, new.text);
END;
CREATE TRIGGER memories_deleted AFTER DELETE ON memories BEGIN
  INSERT INTO memories_fts (memories_fts, rowid, text) VALUES ('delete', old.key, old.text);
END;

-- Tool servers added through the API; those of mcp.json are never stored.
CREATE TABLE tool_servers (
  id         BLOB PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,                 -- the first part of its tools' keys
  transport  TEXT NOT NULL CHECK (transport IN ('stdio', 'http')),
  config     TEXT NOT NULL,                        -- JSON: command and args, or url
  secrets    BLOB,                                 -- env and headers as JSON, sealed with the key file, bound to the id
  enabled    INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE conversations (
  key         INTEGER PRIMARY KEY,
  id          BLOB NOT NULL UNIQUE,
  owner_id    BLOB NOT NULL REFERENCES players (id),
  external_id TEXT,                                -- the caller's own key, unique per Player
  title       TEXT,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,                    -- of the last Message: the list's order
  last_seq    INTEGER NOT NULL DEFAULT 0,          -- the durable cursor; while a turn runs the journal may be ahead
  epoch       INTEGER NOT NULL DEFAULT 0,          -- raised by each claim; a write of an older epoch is refused
  deleted_at  INTEGER,                             -- tombstone: 404 everywhere from its commit on, purged in the background
  speaker_policy TEXT NOT NULL DEFAULT 'addressed', -- or round-robin, everyone-once
  newcomers_know TEXT NOT NULL DEFAULT 'from-joining' -- or all: what an NPC that joined later is told of what was said
) STRICT;
CREATE INDEX conversations_recent ON conversations (owner_id, updated_at DESC, key DESC) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX conversations_external ON conversations (owner_id, external_id) WHERE external_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX conversations_deleted ON conversations (deleted_at) WHERE deleted_at IS NOT NULL;

-- Who may read and write it. One row, the owner's, until several humans share a Conversation.
CREATE TABLE members (
  conversation_key INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
  player_id        BLOB NOT NULL REFERENCES players (id) ON DELETE CASCADE,
  role             TEXT NOT NULL CHECK (role IN ('owner', 'editor', 'viewer')),
  PRIMARY KEY (conversation_key, player_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_by_player ON members (player_id);

-- The NPCs of a Conversation, in the order of the Party. An NPC that is deleted leaves; its Messages keep its name.
CREATE TABLE participants (
  conversation_key INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
  npc_id           BLOB NOT NULL REFERENCES npcs (id) ON DELETE CASCADE,
  ordinal          INTEGER NOT NULL,
  joined_at        INTEGER NOT NULL,
  joined_position  INTEGER NOT NULL DEFAULT 0,     -- the place of the first Message that it was there for
  PRIMARY KEY (conversation_key, npc_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX participants_by_npc ON participants (npc_id);

CREATE TABLE messages (
  -- Never used again: journal rows of a Message that was deleted must not become another one's.
  key               INTEGER PRIMARY KEY AUTOINCREMENT,
  id                BLOB NOT NULL UNIQUE,
  conversation_key  INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
  turn_id           BLOB NOT NULL,
  role              TEXT NOT NULL CHECK (role IN ('player', 'npc')),
  author_kind       TEXT NOT NULL CHECK (author_kind IN ('player', 'npc')),
  author_id         TEXT NOT NULL,
  author_name       TEXT NOT NULL,                 -- as it was then
  position          INTEGER NOT NULL,              -- sorts the transcript
  status            TEXT NOT NULL CHECK (status IN
                      ('queued', 'running', 'complete', 'aborted', 'interrupted', 'failed', 'withdrawn', 'superseded')),
  text              TEXT NOT NULL DEFAULT '',      -- what lists, titles and search read; renders where parts is null
  parts             TEXT,                          -- JSON; null while running, and in rows from before Parts
  opaque            TEXT,                          -- JSON {index: state}: never leaves the server but to its Provider
  finish_reason     TEXT,
  usage             TEXT,                          -- JSON as the Provider reported it, or null
  error             TEXT,                          -- JSON MessageError, or null
  hop_count         INTEGER NOT NULL DEFAULT 0,
  hop_limit         INTEGER NOT NULL DEFAULT 0,
  terminal          INTEGER NOT NULL DEFAULT 0,    -- 1: its finish is its turn's one terminal frame
  supersedes        TEXT NOT NULL DEFAULT '[]',    -- JSON ids that leave with the first Part of this Message
  variant_of        BLOB,                          -- the first Message of this place, shared by all its variants
  left_with         BLOB,                          -- superseded together with this variant, and back together with it
  left_as           TEXT,                          -- the status that it had when it was superseded
  provider_id       BLOB,
  model             TEXT,
  client_id         TEXT,
  first_seq         INTEGER NOT NULL,              -- of its start frame
  last_seq          INTEGER NOT NULL,              -- the id under which a replay ends; grows when it is superseded
  journaled_through INTEGER NOT NULL DEFAULT 0,    -- parts hold the fold of all journal rows up to this seq
  created_at        INTEGER NOT NULL,
  finished_at       INTEGER
) STRICT;
CREATE INDEX messages_by_position ON messages (conversation_key, position);
CREATE INDEX messages_by_last_seq ON messages (conversation_key, last_seq);
CREATE INDEX messages_by_variant ON messages (variant_of) WHERE variant_of IS NOT NULL;
-- From admission to the terminal frame exactly one Message of a turn is running: this is how recovery finds it.
CREATE INDEX messages_running ON messages (conversation_key) WHERE status = 'running';

-- Queued Messages of Players: what their turns will need when they are taken up. A row goes with its Message's taking up
-- or withdrawal, in the same transaction.
CREATE TABLE queue (
  message_key      INTEGER PRIMARY KEY REFERENCES messages (key) ON DELETE CASCADE,
  conversation_key INTEGER NOT NULL,
  turn_id          BLOB NOT NULL,                  -- the turn that it will begin; its Message's row names the one that it steers
  reply_id         BLOB NOT NULL,                  -- the NPC's Message in it
  to_npc           BLOB                            -- whom it addresses
) STRICT;
CREATE INDEX queue_by_conversation ON queue (conversation_key);

-- The pieces of running Messages, appended in commit order and never updated. Finishing folds them into messages.parts
-- and leaves the rows; they are deleted in the background, by range of id.
CREATE TABLE journal (
  id          INTEGER PRIMARY KEY,
  message_key INTEGER NOT NULL,
  seq         INTEGER NOT NULL,
  idx         INTEGER NOT NULL,                    -- the place among the Message's Parts
  kind        INTEGER NOT NULL,                    -- 0 text, 1 reasoning, 2 whole Part (JSON), 3 opaque state (JSON)
  body        TEXT NOT NULL
) STRICT;

-- Versions of a Conversation's rolling summary; the newest in use counts. One whose range was touched by an edit or by a
-- variant's coming back is out of use, and kept.
CREATE TABLE summaries (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation_key INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
  version          INTEGER NOT NULL,
  text             TEXT NOT NULL,
  from_position    INTEGER NOT NULL,
  through_position INTEGER NOT NULL,
  made_by          TEXT NOT NULL CHECK (made_by IN ('model', 'extract', 'player')),
  in_use           INTEGER NOT NULL DEFAULT 1,
  created_at       INTEGER NOT NULL,
  UNIQUE (conversation_key, version)
) STRICT;

-- What was sent for each step of a reply: which sections, tools and Messages. Their texts are in prompt_texts, once a
-- Conversation, by their SHA-256, because most of them are the same from turn to turn.
CREATE TABLE prompts (
  message_key INTEGER NOT NULL REFERENCES messages (key) ON DELETE CASCADE,
  step        INTEGER NOT NULL,
  record      TEXT NOT NULL,
  PRIMARY KEY (message_key, step)
) STRICT, WITHOUT ROWID;
CREATE TABLE prompt_texts (
  conversation_key INTEGER NOT NULL REFERENCES conversations (key) ON DELETE CASCADE,
  hash             BLOB NOT NULL,
  text             TEXT NOT NULL,
  PRIMARY KEY (conversation_key, hash)
) STRICT, WITHOUT ROWID;

-- A send that is repeated under the same key joins the first one's turn; kept for two days.
CREATE TABLE idempotency (
  player_id       BLOB NOT NULL REFERENCES players (id) ON DELETE CASCADE,
  key             TEXT NOT NULL,
  conversation_id BLOB NOT NULL,
  body_hash       BLOB NOT NULL,                   -- SHA-256 of route and body
  turn_id         BLOB NOT NULL,
  message_id      BLOB NOT NULL,
  first_seq       INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  PRIMARY KEY (player_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (created_at);
CREATE INDEX idempotency_by_conversation ON idempotency (conversation_id);

-- What operators did and looked at. Kept when the operator or the Conversation is gone.
CREATE TABLE audit (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  at              INTEGER NOT NULL,
  player_id       BLOB NOT NULL,
  player_name     TEXT NOT NULL,                   -- as it was then
  action          TEXT NOT NULL,                   -- abort, restart, retire, release, read-text
  conversation_id BLOB,
  outcome         TEXT NOT NULL,                   -- ok, or the code of what refused it
  details         TEXT NOT NULL DEFAULT '{}'       -- JSON
) STRICT;
