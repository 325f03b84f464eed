/** What the model reads of the beginning and of the end of an output, in characters: enough for an error at either. */
export const HEAD_CHARS = 12_000
export const TAIL_CHARS = 18_000

/** What is stored of one output, and how many of a terminal's are kept: a flood must not fill the sandbox's disk. */
export const STORED_BYTES = 64 * 1024 * 1024
export const STORED_OUTPUTS = 8

/** A line of output that can still be overwritten, in characters. What is longer is text rather than a progress bar. */
export const LINE_CHARS = 8_192

/** What a terminal takes as one line of input: the kernel drops the rest. */
export const INPUT_LINE_BYTES = 4_095

/** How long things may take, in milliseconds. */
export const WAITS = {
  /** Without anything new from a command, before the model is told that it still runs. */
  quiet: 30_000,
  /** The same once a program has answered an input: it most likely waits for the next. */
  answered: 1_000,
  /** For a command that goes on printing, before the model is told that it still runs. */
  longest: 600_000,
  /** After a polite end was asked for, until a ruder one. */
  grace: 1_000,
  /** For a shell to start. */
  start: 10_000,
}
export type Waits = typeof WAITS

/** The longest `timeout` that is honoured, in seconds. */
export const TIMEOUT_SECONDS = 86_400
