/** One word of a command, as far as it can be known without running anything. */
export interface Word {
  /** Without its quotes. What only the shell will know is left out. */
  text: string
  /** Something is left out, or was guessed from an assignment seen before. */
  unknown: boolean
  /** It names files by a pattern. */
  glob: boolean
  quoted: boolean
  /** The variables in it. */
  variables: string[]
  /** The commands run to make it. */
  inner: Command[]
}

export interface Redirect {
  operator: string
  target: Word
  /** Of a here-document: what it says. */
  body?: Word
}

export interface Command {
  words: Word[]
  assigned: { name: string; value: Word }[]
  redirects: Redirect[]
  /** What writes into its standard input through pipes, the nearest last. */
  upstream: Command[]
  /** The functions whose bodies it is part of. */
  within: string[]
  /** Its output goes into a pipe, or nobody waits for it. */
  detached: boolean
}

/** No shell would run this as one command, or we cannot tell how it would. */
export class Unparsable extends Error {}

export const plainWord = (text: string): Word => ({
  text,
  unknown: false,
  glob: false,
  quoted: false,
  variables: [],
  inner: [],
})

export const emptyCommand = (): Command => ({
  words: [],
  assigned: [],
  redirects: [],
  upstream: [],
  within: [],
  detached: false,
})
