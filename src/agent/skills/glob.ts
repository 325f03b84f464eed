/** Patterns that braces may stand for: people list a few endings. */
const ALTERNATIVES = 64

/**
 * Whether a pattern means a relative path: `?` and `*` within a name, `**` across folders, `{a,b}` for either. One without a slash
 * means that name in any folder. Its cost is pattern times path, whatever the two are: patterns come from anybody's project.
 */
export function matchesGlob(pattern: string, path: string): boolean {
  const anchored = pattern.includes('/') ? pattern.replace(/^\.?\//, '') : `**/${pattern}`
  return alternatives(anchored).some(one => matches(one, path))
}

function alternatives(pattern: string): string[] {
  let done = ['']
  for (const part of pattern.split(/(\{[^{}]*\})/)) {
    const choices = part.startsWith('{') && part.endsWith('}') ? part.slice(1, -1).split(',') : [part]
    if (done.length * choices.length > ALTERNATIVES) return []
    done = done.flatMap(head => choices.map(choice => head + choice))
  }
  return done
}

/** `reached[i]`: the pattern up to here can mean the first i characters of the path. */
function matches(pattern: string, path: string): boolean {
  let reached = Array.from({ length: path.length + 1 }, (_, i) => i === 0)
  for (const [token] of pattern.matchAll(/\*\*\/|\*+|[\s\S]/g)) {
    const next: boolean[] = reached.map(() => false)
    let open = false
    for (let i = 0; i <= path.length; i++) {
      const before = path[i - 1]
      if (token === '**/') {
        open ||= reached[i]!
        next[i] = reached[i]! || (open && before === '/')
      } else if (token.startsWith('*')) {
        open = reached[i]! || (open && (token.length > 1 || before !== '/'))
        next[i] = open
      } else if (i > 0) next[i] = reached[i - 1]! && (token === '?' ? before !== '/' : before === token)
    }
    reached = next
  }
  return reached[path.length]!
}
