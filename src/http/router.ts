/** Finds what stands at a path. A literal segment wins over a parameter. */
export class Router<T> {
  readonly #root: Node<T> = { literals: new Map(), methods: new Map() }

  add(method: string, path: string, value: T): void {
    let node = this.#root
    const names: string[] = []
    for (const segment of path.split('/')) {
      const name = /^\{(\w+)\}$/.exec(segment)?.[1]
      if (name === undefined) {
        const next: Node<T> = node.literals.get(segment) ?? { literals: new Map(), methods: new Map() }
        node.literals.set(segment, next)
        node = next
      } else {
        names.push(name)
        node.parameter ??= { literals: new Map(), methods: new Map() }
        node = node.parameter
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
  methods: Map<string, { value: T; names: string[] }>
}

function find<T>(node: Node<T>, segments: string[], depth: number, values: string[]): Node<T> | undefined {
  if (depth === segments.length) return node.methods.size > 0 ? node : undefined
  const segment = segments[depth]!
  const literal = node.literals.get(segment)
  const found = literal && find(literal, segments, depth + 1, values)
  if (found) return found
  const value = node.parameter && segment !== '' ? decode(segment) : undefined
  if (value === undefined) return undefined
  values.push(value)
  const deeper = find(node.parameter!, segments, depth + 1, values)
  if (!deeper) values.pop()
  return deeper
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
