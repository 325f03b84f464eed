import type { DatabaseSync } from 'node:sqlite'

/**
 * Forward only: a step, once released, never changes. The number of steps taken is the database's `user_version`.
 * `crc` is the CRC-32 of the JSON beside it: a flipped bit is noticed, and harms that record alone.
 * Events lie in the order they came, whatever their conversation: a group of them fills pages instead of touching many.
 */
const steps = [
  `
  CREATE TABLE conversations (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    title TEXT,
    parent_id TEXT,
    head INTEGER NOT NULL,
    state TEXT NOT NULL,
    crc INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX conversations_created ON conversations (created_at, no);
  CREATE INDEX conversations_updated ON conversations (updated_at, no);
  CREATE INDEX conversations_status_created ON conversations (status, created_at, no);
  CREATE INDEX conversations_status_updated ON conversations (status, updated_at, no);
  CREATE INDEX conversations_parent ON conversations (parent_id) WHERE parent_id IS NOT NULL;

  CREATE TABLE parts (
    conversation INTEGER NOT NULL,
    name TEXT NOT NULL,
    json TEXT NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (conversation, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE events (
    conversation INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    at INTEGER NOT NULL,
    crc INTEGER NOT NULL,
    json TEXT NOT NULL,
    text TEXT
  ) STRICT;
  CREATE UNIQUE INDEX events_seq ON events (conversation, seq);
  CREATE UNIQUE INDEX events_id ON events (conversation, id);
  CREATE INDEX events_kind ON events (conversation, kind, seq);

  CREATE TABLE purges (conversation INTEGER PRIMARY KEY) STRICT;

  CREATE TABLE documents (
    name TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    json TEXT NOT NULL,
    crc INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE bash_logs (
    sandbox TEXT PRIMARY KEY,
    head INTEGER NOT NULL,
    events INTEGER NOT NULL,
    characters INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE bash_events (
    sandbox TEXT NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    command TEXT NOT NULL,
    kind TEXT NOT NULL,
    place INTEGER NOT NULL,
    at INTEGER NOT NULL,
    running INTEGER NOT NULL,
    last INTEGER NOT NULL,
    characters INTEGER NOT NULL,
    crc INTEGER NOT NULL,
    json TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX bash_events_seq ON bash_events (sandbox, seq);
  CREATE UNIQUE INDEX bash_events_id ON bash_events (id);
  CREATE INDEX bash_events_command ON bash_events (command, seq);
  CREATE INDEX bash_events_running ON bash_events (seq) WHERE running = 1;
  `,
  `
  CREATE TABLE sandboxes (
    id TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    version INTEGER NOT NULL,
    json TEXT NOT NULL,
    crc INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  ALTER TABLE conversations ADD COLUMN sandbox TEXT;
  CREATE INDEX conversations_sandbox_created ON conversations (sandbox, created_at, no);
  CREATE INDEX conversations_sandbox_updated ON conversations (sandbox, updated_at, no);
  `,
  `
  CREATE TABLE start_tasks (
    id TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    version INTEGER NOT NULL,
    open INTEGER NOT NULL,
    conversation TEXT NOT NULL,
    key TEXT UNIQUE,
    json TEXT NOT NULL,
    crc INTEGER NOT NULL,
    "order" TEXT NOT NULL,
    order_crc INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX start_tasks_created ON start_tasks (created_at, id);
  CREATE INDEX start_tasks_conversation ON start_tasks (conversation, created_at, id);
  CREATE INDEX start_tasks_open ON start_tasks (created_at) WHERE open = 1;

  CREATE TABLE pending_messages (
    no INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    conversation TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    json TEXT NOT NULL,
    crc INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX pending_messages_conversation ON pending_messages (conversation, no);

  CREATE INDEX conversations_top ON conversations (created_at, no, sandbox, updated_at, title) WHERE parent_id IS NULL;
  `,
  `
  CREATE TABLE webhooks (
    id TEXT PRIMARY KEY,
    buffer INTEGER NOT NULL,
    delay INTEGER NOT NULL,
    paused INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    succeeded_at INTEGER,
    error_at INTEGER,
    error TEXT,
    error_status INTEGER
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE webhook_owed (
    webhook TEXT NOT NULL,
    conversation INTEGER NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    news INTEGER NOT NULL,
    since INTEGER NOT NULL,
    due INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    farewell TEXT,
    PRIMARY KEY (webhook, conversation)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX webhook_owed_due ON webhook_owed (webhook, due, conversation);
  CREATE INDEX webhook_owed_id ON webhook_owed (webhook, id, conversation);
  `,
]

export function migrate(db: DatabaseSync): void {
  const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number }
  if (version > steps.length)
    throw new Error(`The data was written by a newer Gantry (schema ${version}, this one knows ${steps.length})`)
  for (let step = version; step < steps.length; step++) {
    db.exec(`BEGIN IMMEDIATE; ${steps[step]}; PRAGMA user_version = ${step + 1}; COMMIT`)
  }
}
