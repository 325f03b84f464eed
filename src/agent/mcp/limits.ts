/** How long a conversation waits for its servers before it begins without the slow ones: it must start within a second. */
export const PATIENCE_MS = 800

/** Until a server must have answered and named its tools: the first start of one may fetch packages. */
export const CONNECT_MS = 60_000

/** How long a call may take where the server's settings say nothing: builds and browsers take minutes. */
export const CALL_MS = 300_000

/** After a call that took too long: a server that does not answer even this within the time is started anew. */
export const PING_MS = 1_000

/** For a goodbye to a server elsewhere, which may be gone already. */
export const GOODBYE_MS = 500

/** For a server to end: those that ignore the polite signal are killed sooner. */
export const CLOSE_MS = 4_000

/** One message. It is held in memory whole, and reading it takes a tenth of a second. */
export const MESSAGE_BYTES = 20_000_000

/** What may wait for a server that does not read what it is sent. */
export const UNREAD_BYTES = 4_000_000

/** What is read of one server in a second; the rest waits, and so does the server. A flood must not take the others' time. */
export const MESSAGES_A_SECOND = 1_000
export const BYTES_A_SECOND = 40_000_000

/** Requests to one server elsewhere at a time: a flood of questions would otherwise become a flood of answers. */
export const REQUESTS_AT_ONCE = 64

/** Pages of one list of tools: a server may name a next page for ever. */
export const PAGES = 32
/** Tools of one server, and characters of all its definitions: a model reads them with every question. */
export const TOOLS = 256
export const DEFINITIONS_CHARACTERS = 300_000
/** Of the name of a tool, as the protocol has it. */
export const NAME_CHARACTERS = 128

/** Between two readings of a list that keeps changing. */
export const REFRESH_MS = 250

/** Of one result: what a model can take in at once. */
export const TEXT_CHARACTERS = 50_000
export const BLOCKS = 50
/** Of the pictures of one result, in base64, as they travel: they go into one event, and to the model with every question. */
export const IMAGE_CHARACTERS = 2_000_000

/** How much of what a failing server said is kept and shown. */
export const COMPLAINT_CHARACTERS = 1_000

/** How soon after its second failure a server is tried again, and how seldom at last. The first time it is at once. */
export const RETRY_MS = 1_000
export const RETRY_AT_MOST_MS = 60_000

/** Of one server, as it was ordered. */
export const callMs = ({ timeout }: { timeout?: number | null }): number =>
  timeout && timeout > 0 ? Math.ceil(timeout * 1_000) : CALL_MS
