import { fault } from '../api/errors.ts'
import { MASK } from '../api/secret.ts'
import type { SecretCreateRequest, SecretItemResponse, SecretsListResponse, UserSecrets } from '../api/user-secrets.ts'
import type { Vault } from '../policy/secrets.ts'
import type { Store } from '../store/store.ts'
import { isBlank } from './merge.ts'
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

/** The user's own named secrets. */
export class StoredSecrets {
  readonly #document: StoredDocument<Record<string, StoredSecret>>
  readonly #vault: Vault

  constructor(store: Store, vault: Vault) {
    this.#document = new StoredDocument(store, 'secrets', {})
    this.#vault = vault
  }

  async list(): Promise<SecretsListResponse> {
    const secrets = Object.entries(await this.#document.read())
    return { secrets: secrets.map(([name, { description }]) => ({ name, description })) }
  }

  /** Sealed, by name. */
  async all(): Promise<Record<string, StoredSecret>> {
    return this.#document.read()
  }

  async value(name: string): Promise<string> {
    const secrets = await this.#document.read()
    if (!Object.hasOwn(secrets, name)) throw fault('secret_not_found')
    return this.#vault.open(secrets[name]!.value)
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
