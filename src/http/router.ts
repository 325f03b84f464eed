/** Finds what stands at a path. A literal segment wins over a parameter. */
export class Router<T> {
  readonly #root: Node<T> = { literals: new Map(), methods: new Map() }

  /** With `rest`, the last parameter takes all that is left of a path, slashes and nothing at all included. */
  add(method: string, path: string, value: T, rest = false): void {
    let node = this.#root
    const names: string[] = []
    const segments = path.split('/')
    for (const [i, segment] of segments.entries()) {
      const name = /^\{(\w+)\}$/.exec(segment)?.[1]
      if (name === undefined) {
        const next: Node<T> = node.literals.get(segment) ?? { literals: new Map(), methods: new Map() }
        node.literals.set(segment, next)
        node = next
      } else {
        names.push(name)
        const kind = rest && i === segments.length - 1 ? 'rest' : 'parameter'
        node[kind] ??= { literals: new Map(), methods: new Map() }
        node = node[kind]
      }
    }
    node.methods.set(method, { value, names })
  }

  /** What answers this method there, or the methods that something there answers. */
  match(method: string, path: string): Match<T> {
    const values: string[] = []
    const node = find(this.#root, path.split('/'), 0, values)
    const entry = node?.methods.get(method) ?? (method === 'HEAD' ? node?.methods.get('GET') : undefined)
    if (!entry) return { allowed: node ? [...node.methods.keys()] : [] }
    return { value: entry.value, params: Object.fromEntries(entry.names.map((name, i) => [name, values[i]!])) }
  }
}

export type Match<T> = { value: T; params: Record<string, string> } | { allowed: string[] }

interface Node<T> {
  literals: Map<string, Node<T>>
  parameter?: Node<T>
  rest?: Node<T>
  methods: Map<string, { value: T; names: string[] }>
}

function find<T>(node: Node<T>, segments: string[], depth: number, values: string[]): Node<T> | undefined {
  if (depth === segments.length) return node.methods.size > 0 ? node : undefined
  const segment = segments[depth]!
  const literal = node.literals.get(segment)
  const found = literal && find(literal, segments, depth + 1, values)
  if (found) return found
  const value = node.parameter && segment !== '' ? decode(segment) : undefined
  if (value !== undefined) {
    values.push(value)
    const deeper = find(node.parameter!, segments, depth + 1, values)
    if (deeper) return deeper
    values.pop()
  }
  const rest = node.rest && decode(segments.slice(depth).join('/'))
  if (rest === undefined) return undefined
  values.push(rest)
  return node.rest
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
