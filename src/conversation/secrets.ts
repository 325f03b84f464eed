import { mcpServers } from '../api/mcp.ts'
import { mapSecrets } from '../api/secret.ts'
import { LookupSecret, SecretSource } from '../api/secrets.ts'
import { Masker } from '../policy/mask.ts'
import { openAll, type Vault } from '../policy/secrets.ts'
import type { Order } from './order.ts'

export interface SecretsParts {
  vault: Vault
  /** Of this server's own stored secrets. */
  stored(name: string): Promise<string>
  /** Calls what a person with the key named. */
  fetch: typeof fetch
}

/** How long a look-up may take. */
const LOOKUP_MS = 30_000
/** Longer than any key, shorter than a page that came instead. */
const LOOKUP_CHARACTERS = 65_536

/** The secrets of one conversation: opened only for the command that names them, and hidden wherever they come back. */
export class ConversationSecrets {
  readonly #parts: SecretsParts
  readonly #sources: Readonly<Record<string, SecretSource>>
  readonly #values = new Map<string, string>()
  /** There is none while there is nothing to hide. */
  #masker: Masker | undefined

  constructor(order: Order, parts: SecretsParts) {
    this.#parts = parts
    this.#sources = sourcesOf(order)
    for (const [name, source] of Object.entries(this.#sources)) {
      const opened = openAll(parts.vault, SecretSource, source)
      if (opened.kind === 'StaticSecret' && opened.value) this.#learn(name, opened.value)
    }
    // No command gets these, but a server that has them may say them.
    mapSecrets(mcpServers, openAll(parts.vault, mcpServers, order.agent.mcp_config), (value, path) => {
      this.#learn(`mcp_config ${path.join(' ')}`, value)
      return value
    })
  }

  /** For the agent to know of: never the values. */
  get listed(): { name: string; description: string | null }[] {
    return Object.entries(this.#sources).map(([name, { description }]) => ({ name, description }))
  }

  mask<T>(value: T): T {
    return this.#masker ? this.#masker.maskDeep(value) : value
  }

  /** Those whose name occurs in a text, in any case. One that cannot be looked up is left out. */
  async for(text: string): Promise<Record<string, string>> {
    const words = text.toLowerCase()
    const named = Object.keys(this.#sources).filter(name => words.includes(name.toLowerCase()))
    const found = await Promise.all(named.map(async name => [name, await this.#value(name)] as const))
    return Object.fromEntries(found.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))
  }

  async #value(name: string): Promise<string | undefined> {
    const known = this.#values.get(name)
    const source = this.#sources[name]
    if (known !== undefined || source?.kind !== 'LookupSecret') return known
    const value = await this.#lookUp(openAll(this.#parts.vault, LookupSecret, source)).catch(() => undefined)
    if (value) this.#learn(name, value)
    return value || undefined
  }

  #learn(name: string, value: string): void {
    this.#values.set(name, value)
    this.#masker = new Masker(this.#values.values())
  }

  async #lookUp({ url, headers }: { url: string; headers: Record<string, string> }): Promise<string> {
    const own = /^\/api\/(?:v1\/)?settings\/secrets\/([^/?]+)$/.exec(url)?.[1]
    if (own !== undefined) return this.#parts.stored(decodeURIComponent(own))
    const answer = await this.#parts.fetch(url, { headers, signal: AbortSignal.timeout(LOOKUP_MS) })
    if (!answer.ok) throw new Error(`It answered ${answer.status}`)
    const text = await answer.text()
    return text.length > LOOKUP_CHARACTERS ? '' : text
  }
}

/** Those of the agent's own context give way to those of the conversation. */
function sourcesOf({ agent, secrets }: Order): Record<string, SecretSource> {
  const given = Object.entries(agent.agent_context?.secrets ?? {}).map(([name, value]): [string, SecretSource] => [
    name,
    typeof value === 'string' ? { kind: 'StaticSecret', value, description: null } : value,
  ])
  return { ...Object.fromEntries(given), ...secrets }
}
