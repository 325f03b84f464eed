/** Every bound of the way out, with its reason. */

/** Connections of one sandbox at once: package managers and browsers open tens. Past it a new one is hung up on. */
export const CONNECTIONS_PER_SANDBOX = 256

/** How long a client may take to say what it wants, or stay silent between two requests. Its proxy is on loopback. */
export const HEAD_MS = 30_000

/** A request's head: cookies and signed URLs fit, and it is all that is held of a client that never finishes one. */
export const HEAD_BYTES = 32 * 1024

/** Requests that may wait on one connection for the one before them: apt sends ten ahead. */
export const PIPELINED = 16

/** Silence in both directions: longer than long polls and keep-alive pings, short enough that dead peers go away. */
export const IDLE_MS = 15 * 60_000

/** How long a name may take: a resolver's usual two tries of five seconds. */
export const LOOKUP_MS = 10_000

/** How long a connection may take, over all addresses of a host. */
export const CONNECT_MS = 20_000

/** How long one of several addresses may take before the next is tried too; far above an honest round trip. */
export const ATTEMPT_MS = 2_000

/** Refusals kept per sandbox: enough to see what was wanted, too little to be a way to fill memory. */
export const REFUSALS_KEPT = 100

/** What is kept of a host that a client sent: names of DNS have at most 253. */
export const SHOWN_CHARACTERS = 255

export interface Limits {
  connections: number
  headMs: number
  idleMs: number
  lookupMs: number
  connectMs: number
}

export const LIMITS: Limits = {
  connections: CONNECTIONS_PER_SANDBOX,
  headMs: HEAD_MS,
  idleMs: IDLE_MS,
  lookupMs: LOOKUP_MS,
  connectMs: CONNECT_MS,
}
