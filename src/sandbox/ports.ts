/**
 * The name under which a port of a sandbox is a site of its own: `3000-<sandbox>-<proof>`, one label of a host name. The proof makes
 * it impossible to guess: whoever has the address may open it, and it opens nothing else.
 */
export type Sign = (text: string) => string

const LABEL = /^([1-9]\d{0,4})-([a-z0-9]{1,32})-([a-z0-9]{20})$/

export const portLabel = (sandbox: string, port: number, sign: Sign): string =>
  `${port}-${sandbox}-${proof(sandbox, port, sign)}`

/** Undefined when it is no such name, or one that was never given out. */
export function readPortLabel(label: string, sign: Sign): { sandbox: string; port: number } | undefined {
  const [, digits, sandbox, given] = LABEL.exec(label) ?? []
  if (!digits || !sandbox || !given) return undefined
  const port = Number(digits)
  return given === proof(sandbox, port, sign) ? { sandbox, port } : undefined
}

const proof = (sandbox: string, port: number, sign: Sign): string => sign(`port ${port} of ${sandbox}`).slice(0, 20)
