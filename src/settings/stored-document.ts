import { Fault, fault } from '../api/errors.ts'
import type { Store } from '../store/store.ts'

const ATTEMPTS = 10

/**
 * One named document of the store. Changes are pure functions of what is stored: they run one after another here, and
 * again on the newer document when another process was faster. What an older server did not know of is there, and empty.
 */
export class StoredDocument<T extends object> {
  readonly #store: Store
  readonly #name: string
  readonly #empty: T
  #last: Promise<unknown> = Promise.resolve()

  constructor(store: Store, name: string, empty: T) {
    this.#store = store
    this.#name = name
    this.#empty = empty
  }

  async read(): Promise<T> {
    const { json, damaged } = await this.#store.readDocument(this.#name)
    if (damaged) throw fault('record_damaged', `The document "${this.#name}"`)
    return this.#parse(json)
  }

  /** A damaged document is replaced: refusing would leave no way to mend it. */
  update(change: (current: T) => T): Promise<T> {
    const result = this.#last.then(() => this.#update(change))
    this.#last = result.catch(() => undefined)
    return result
  }

  async #update(change: (current: T) => T): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const { version, json } = await this.#store.readDocument(this.#name)
      const next = change(this.#parse(json))
      const nextJson = JSON.stringify(next)
      if (nextJson === json) return next
      try {
        await this.#store.writeDocument(this.#name, nextJson, version)
        return next
      } catch (error) {
        if (!(error instanceof Fault && error.code === 'conflict') || attempt === ATTEMPTS) throw error
      }
    }
  }

  #parse(json: string | undefined): T {
    return json === undefined ? this.#empty : { ...this.#empty, ...(JSON.parse(json) as T) }
  }
}
