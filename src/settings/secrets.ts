import { fault } from '../api/errors.ts'
import { MASK } from '../api/secret.ts'
import type {
  ProviderTokens,
  SecretCreateRequest,
  SecretItemResponse,
  SecretPage,
  SecretsListResponse,
  SecretUpdateRequest,
  UserSecrets,
} from '../api/user-secrets.ts'
import type { Vault } from '../policy/secrets.ts'
import type { Store } from '../store/store.ts'
import { isBlank } from './merge.ts'
import { tokenSecrets } from './provider-tokens.ts'
import { StoredDocument } from './stored-document.ts'

interface StoredSecret {
  /** Sealed. */
  value: string
  description: string | null
}

/** What one request asks of one secret: a value, already sealed, null to remove it, or nothing to keep it. */
interface Change {
  name: string
  value?: string | null
  description?: string | null
}

interface Search {
  name__contains?: string | null | undefined
  page_id: string | null
  limit: number
}

/**
 * The user's own named secrets. Commands may be granted the tokens of git providers too, each by the name that is usual for
 * it, unless the user has a secret of that name.
 */
export class StoredSecrets {
  readonly #document: StoredDocument<Record<string, StoredSecret>>
  readonly #vault: Vault
  readonly #tokens: () => Promise<ProviderTokens>

  constructor(store: Store, vault: Vault, tokens: () => Promise<ProviderTokens>) {
    this.#document = new StoredDocument(store, 'secrets', {})
    this.#vault = vault
    this.#tokens = tokens
  }

  /** All that can be granted. */
  async list(): Promise<SecretsListResponse> {
    const [own, tokens] = await Promise.all([this.custom(), this.#tokens()])
    const taken = new Set(own.map(({ name }) => name))
    const more = [...tokenSecrets(tokens)].filter(([name]) => !taken.has(name))
    return { secrets: [...own, ...more.map(([name, { description }]) => ({ name, description }))] }
  }

  /** The user's own, without values. */
  async custom(): Promise<SecretItemResponse[]> {
    const secrets = Object.entries(await this.#document.read())
    return secrets.map(([name, { description }]) => ({ name, description }))
  }

  /** A page of the user's own, by name. The cursor is the last name of the page before. */
  async search({ name__contains, page_id, limit }: Search): Promise<SecretPage> {
    const part = (name__contains ?? '').toLowerCase()
    const found = (await this.custom())
      .filter(({ name }) => name.toLowerCase().includes(part) && (page_id === null || name > page_id))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    const items = found.slice(0, limit)
    return { items, next_page_id: found.length > limit ? items.at(-1)!.name : null }
  }

  async value(name: string): Promise<string> {
    const secrets = await this.#document.read()
    const sealed = Object.hasOwn(secrets, name)
      ? secrets[name]!.value
      : tokenSecrets(await this.#tokens()).get(name)?.value
    if (sealed === undefined) throw fault('secret_not_found')
    return this.#vault.open(sealed)
  }

  async create(request: SecretCreateRequest): Promise<void> {
    const { name, value, description = null } = request
    const sealed = this.#vault.sealOne(value)
    if (sealed === undefined) throw fault('invalid_request', 'A secret needs a value')
    await this.#document.update(secrets => {
      if (Object.hasOwn(secrets, name)) throw fault('secret_exists', name)
      return { ...secrets, [name]: { value: sealed, description } }
    })
  }

  /** Renames and describes it; its value stays. */
  async change(id: string, { name, description }: SecretUpdateRequest): Promise<void> {
    await this.#document.update(secrets => {
      if (!Object.hasOwn(secrets, id)) throw fault('secret_not_found', id)
      if (name !== id && Object.hasOwn(secrets, name)) throw fault('secret_exists', name)
      const { [id]: old, ...others } = secrets
      const said = description === undefined ? old!.description : description
      return { ...others, [name]: { value: old!.value, description: said } }
    })
  }

  async put({ name, value, description }: SecretCreateRequest): Promise<SecretItemResponse> {
    if (isBlank(value)) throw fault('invalid_request', 'The value of a secret cannot be empty')
    const secrets = await this.apply([this.#change(name, value, description)])
    const stored = secrets[name]
    if (!stored) throw fault('invalid_request', 'The mask is not the value of a secret')
    return { name, description: stored.description }
  }

  async delete(name: string): Promise<{ deleted: true }> {
    await this.#document.update(secrets => {
      if (!Object.hasOwn(secrets, name)) throw fault('secret_not_found')
      const { [name]: _, ...others } = secrets
      return others
    })
    return { deleted: true }
  }

  /** What the flat settings ask for. Refuses a foreign token before anything is stored. */
  changes(posted: NonNullable<UserSecrets['custom_secrets']>): Change[] {
    return Object.entries(posted).flatMap(([name, entry]) => {
      if (entry === null) return []
      if (typeof entry === 'string') return [this.#change(name, entry, undefined)]
      return [this.#change(name, entry.secret ?? MASK, entry.description)]
    })
  }

  apply(changes: Change[]): Promise<Record<string, StoredSecret>> {
    return this.#document.update(secrets => {
      const next = new Map(Object.entries(secrets))
      for (const { name, value, description } of changes) {
        const old = next.get(name)
        const kept = value === undefined ? old?.value : value
        if (kept)
          next.set(name, {
            value: kept,
            description: (description === undefined ? old?.description : description) ?? null,
          })
        else next.delete(name)
      }
      return Object.fromEntries(next)
    })
  }

  #change(name: string, value: string, description: string | null | undefined): Change {
    return { name, value: value === MASK ? undefined : (this.#vault.sealOne(value) ?? null), description }
  }
}
