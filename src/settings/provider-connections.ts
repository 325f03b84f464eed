import { fault } from '../api/errors.ts'
import type { LLM } from '../api/llm.ts'
import {
  MAX_PROVIDER_CONNECTIONS,
  type ProviderConnectionCreateRequest,
  type ProviderConnectionResponse,
  type ProviderConnectionUpdateRequest,
} from '../api/provider-connections.ts'
import { hexUuid, newId } from '../lib/id.ts'
import type { Vault } from '../policy/secrets.ts'
import type { Store } from '../store/store.ts'
import { StoredDocument } from './stored-document.ts'

export interface ProviderConnectionsParts {
  store: Store
  vault: Vault
  /** What names a connection, in words. */
  usersOf(id: string): Promise<string[]>
}

interface StoredConnection {
  display_name: string
  provider: string
  /** Sealed. */
  api_key: string
  base_url: string | null
  /** Seconds since 1970. */
  created_at: number
  updated_at: number
}
type StoredConnections = Readonly<Record<string, StoredConnection>>

/** Keys of model providers, each with the address it is for. Models name them, and take both at their use. */
export class ProviderConnections {
  readonly #parts: ProviderConnectionsParts
  readonly #document: StoredDocument<StoredConnections>

  constructor(parts: ProviderConnectionsParts) {
    this.#parts = parts
    this.#document = new StoredDocument(parts.store, 'provider_connections', {})
  }

  async list(): Promise<ProviderConnectionResponse[]> {
    return Object.entries(await this.#document.read()).map(([id, connection]) => shown(id, connection))
  }

  async ids(): Promise<ReadonlySet<string>> {
    return new Set(Object.keys(await this.#document.read()))
  }

  async create({ api_key, ...given }: ProviderConnectionCreateRequest): Promise<ProviderConnectionResponse> {
    const id = hexUuid(newId())
    const sealed = this.#parts.vault.sealOne(api_key)
    if (sealed === undefined) throw fault('invalid_request', 'api_key is a mask, not a key')
    const created_at = seconds()
    const connection = { ...given, api_key: sealed, created_at, updated_at: created_at }
    await this.#document.update(stored => {
      if (Object.keys(stored).length >= MAX_PROVIDER_CONNECTIONS)
        throw fault('provider_connection_limit', MAX_PROVIDER_CONNECTIONS)
      return { ...stored, [id]: connection }
    })
    return shown(id, connection)
  }

  /** The mask keeps the key. */
  async update(
    id: string,
    { api_key, ...given }: ProviderConnectionUpdateRequest,
  ): Promise<ProviderConnectionResponse> {
    const sealed = api_key === undefined ? undefined : this.#parts.vault.sealOne(api_key)
    const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    const change = { ...said, ...(sealed && { api_key: sealed }), updated_at: seconds() }
    const stored = await this.#document.update(now => ({ ...now, [id]: { ...known(now, id), ...change } }))
    return shown(id, known(stored, id))
  }

  async delete(id: string): Promise<ProviderConnectionResponse> {
    const connection = known(await this.#document.read(), id)
    const users = await this.#parts.usersOf(id)
    if (users.length > 0) throw fault('provider_connection_used', users.join(', '))
    await this.#document.update(({ [id]: _, ...others }) => others)
    return { ...shown(id, connection), api_key_set: false }
  }

  /**
   * A model that names a connection, with the key of that, still sealed, and its address in place of all that the order says: whoever
   * may name a connection cannot have its key sent to a server of theirs. One that names a connection nobody knows is left as it is.
   */
  async connect(llm: LLM): Promise<LLM> {
    if (!llm.provider_connection_id) return llm
    const connection = own(await this.#document.read(), llm.provider_connection_id)
    if (!connection) return llm
    const { api_key, base_url } = connection
    const elsewhere = { ollama_base_url: null, aws_bedrock_runtime_endpoint: null }
    return { ...llm, ...elsewhere, provider_connection_id: null, api_key, base_url }
  }
}

const seconds = (): number => Math.floor(Date.now() / 1000)

const shown = (id: string, { api_key, ...connection }: StoredConnection): ProviderConnectionResponse => ({
  id,
  ...connection,
  api_key_set: !!api_key,
})

function known(stored: StoredConnections, id: string): StoredConnection {
  const connection = own(stored, id)
  if (!connection) throw fault('provider_connection_not_found', id)
  return connection
}

/** Names such as `constructor` are only names. */
const own = (stored: StoredConnections, id: string): StoredConnection | undefined =>
  Object.hasOwn(stored, id) ? stored[id] : undefined
