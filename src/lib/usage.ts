/** Something the person who started us got wrong. One line; nothing was done. */
export class BadUsage extends Error {}

/** What `parseArgs` of Node objects to, in one line; for an unknown option with the known one that was likely meant. */
export function badArguments(error: unknown, options: readonly string[]): BadUsage {
  const [message = ''] = (error as Error).message.split(/\. To specify|\.?\n/)
  const wrong = /^Unknown option '--([^' =]+)/.exec(message)?.[1]
  return new BadUsage(`${message}${wrong === undefined ? '' : didYouMean(wrong, options, '--')}`)
}

/** A question to add to a complaint about an unknown word; empty when no known one is near. */
export function didYouMean(word: string, known: readonly string[], prefix = ''): string {
  const typed = word.toLowerCase()
  const isBeginning = (name: string) => typed.length > 1 && name.startsWith(typed)
  const near = known.map(name => ({ name, distance: isBeginning(name) ? 1 : distance(typed, name) }))
  const [best] = near.sort((a, b) => a.distance - b.distance)
  return best && best.distance <= Math.max(1, typed.length / 3) ? `; did you mean ${prefix}${best.name}?` : ''
}

/** Letters to add, drop, change or swap with their neighbour until one word is the other. */
function distance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before[j - 2]! + 1 : change
      row.push(Math.min(last[j]! + 1, row[j - 1]! + 1, change, swap))
    }
    before = last
    last = row
  }
  return last[b.length]!
}
