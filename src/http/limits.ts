/** Every bound of the outer edge, with its reason. */

/** Requests without a larger need of their own: enough for any settings document. */
export const BODY_BYTES = 1024 * 1024

/** One uploaded file: it passes through without being kept, so this only protects the disk it goes to. */
export const UPLOAD_BYTES = 1024 * 1024 * 1024
/** What stands around the file in a form: headers, and fields that nobody asked for. */
export const FORM_BYTES = 64 * 1024

/** Requests being served at once. Past it the server is drowning: answering 503 at once helps it more than queueing. */
export const REQUESTS_IN_FLIGHT = 1000

/** How long a request may take to arrive: slow uploads finish, idle connections do not pile up. */
export const REQUEST_TIMEOUT_MS = 300_000
export const HEADERS_TIMEOUT_MS = 30_000
/** Longer than the idle timeout of common proxies (60 s), so that they close first and never hit a closing socket. */
export const KEEP_ALIVE_MS = 75_000

/** A file that is answered as one JSON text. */
export const TEXT_BYTES = 4 * 1024 * 1024

/** How long requests in flight may take to finish after SIGTERM. */
export const DRAIN_MS = 5_000

/** An `input` echoed in a validation error: enough to recognise it, too little to flood a log. */
export const ECHO_CHARACTERS = 500

/** Readers of one conversation. Each costs a socket and a buffer; fifty times what people need. */
export const READERS_PER_CONVERSATION = 1000

/** Readers of the commands of one sandbox: as many as clients of the interface expect to fit. */
export const BASH_READERS = 50

/** Bytes a live reader may leave unread before it gets nothing more. */
export const READER_BUFFER_BYTES = 4 * 1024 * 1024
/** How long it may then take to read them before it is told to come back later. */
export const READER_PATIENCE_MS = 5_000
/** What a reader that is catching up gets in one piece, and has read of it before it gets the next. */
export const READER_LOW_BYTES = 256 * 1024
/** Events in such a piece, however small they are. */
export const READER_PAGE = 500
/** How long a reader that was told to go may take to read what it has coming. */
export const READER_LINGER_MS = 30_000

/** First-message authentication. */
export const SOCKET_AUTH_MS = 10_000
/** How often sockets are asked whether they are still there. */
export const SOCKET_PING_MS = 30_000
/** One frame from a client: a message with pictures. */
export const SOCKET_FRAME_BYTES = 16 * 1024 * 1024
