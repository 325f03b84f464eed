/** What a tool says in one answer: about 10,000 tokens, so that no look fills a model's window. In characters. */
export const ANSWER_CHARACTERS = 30_000

/** What is shown around a change: enough to see that it landed where it was meant. In characters. */
export const SNIPPET_CHARACTERS = 4_000

/** Text that is read or changed: it is held in memory several times over meanwhile, and searched on the thread that serves everybody. */
export const TEXT_BYTES = 2_000_000

/** A picture as base64, with the rest of its event, stays below what an event may be (256 KB). */
export const IMAGE_BYTES = 180_000

/** The content before and after a change, as JSON, for the same reason. Beyond it both are left out of the event. */
export const RECORD_BYTES = 200_000

/** Names in one answer, which stand in it twice: as data and as text. The first is what a model can use, the second bounds the event. */
export const NAMES_SHOWN = 200
export const NAMES_BYTES = 60_000

/** What all names below a folder may come to when they are searched: about a hundred thousand. */
export const LISTING_BYTES = 8_000_000

/** How long a search may take: past it a narrower one is the better idea. */
export const SEARCH_MS = 30_000

/** What an editor remembers for undoing: the latest changes, and what the files were before them. */
export const UNDO_CHANGES = 100
export const UNDO_BYTES = 20_000_000
