import type { Duplex } from 'node:stream'

/**
 * Lets two connections speak with each other, at the pace of the slower. The end of one direction is passed on and the
 * other goes on; an abort of either ends both. `lingerMs`: how long one may take to read what the other left behind.
 */
export function join(a: Duplex, b: Duplex, lingerMs: number): void {
  a.pipe(b)
  b.pipe(a)
  follow(a, b, lingerMs)
  follow(b, a, lingerMs)
  // Who left before has told nobody.
  if (a.destroyed) b.destroy()
  if (b.destroyed) a.destroy()
}

/** When `one` is gone, `other` gets what was still on its way to it, and is gone too. */
function follow(one: Duplex, other: Duplex, lingerMs: number): void {
  one.on('error', () => undefined)
  one.once('close', () => {
    if (other.destroyed) return
    if (!one.readableEnded) {
      other.destroy()
      return
    }
    const patience = setTimeout(() => other.destroy(), lingerMs)
    other.once('close', () => clearTimeout(patience))
    other.end(() => other.destroy())
  })
}
