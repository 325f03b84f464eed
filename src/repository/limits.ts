/** Every bound of making a repository ready, with its reason. */
export const LIMITS = {
  /** For everything that comes over the network: a large repository on a slow line. */
  fetchMs: 10 * 60_000,
  /** For writing out the files of a commit, or of another local step. */
  localMs: 5 * 60_000,
  /** Silence of the other side, in seconds: servers that still count objects say so every few. */
  stallSeconds: 60,
  /** For another's git in a clone that is shared to let go of it, in seconds: most have long finished, some never will. */
  othersSeconds: 60,
  /** On disk, with the files that are written out: beyond it nobody meant to have it in a sandbox. */
  bytes: 2 * 1024 ** 3,
  /** How often the size is measured: what a fast line brings in between is bearable. */
  watchMs: 1_000,
  /** For a script that a project brings to make itself ready: installing what it needs. */
  setupMs: 10 * 60_000,
}
export type RepositoryLimits = typeof LIMITS

/** Of what git says: answers to questions, or complaints. A server can have it say anything. In bytes. */
export const SAID_BYTES = 256 * 1024

/** Past it a script is ended: it would not be read, and whoever starts it waits. In bytes. */
export const FLOOD_BYTES = 64 * 1024 * 1024

/** Of an output that is shown: enough for the error at its end. */
export const SHOWN_LINES = 20
export const SHOWN_CHARACTERS = 2_000

/** A script that a project brings. In bytes. */
export const SCRIPT_BYTES = 1024 * 1024

/** For a question about files that are there. */
export const LOOK_MS = 20_000
