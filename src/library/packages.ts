import { fault } from '../api/errors.ts'
import type { InstalledSkillResponse, InstallRequest } from '../api/installed-skills.ts'
import { formatUtc, now } from '../lib/time.ts'
import { StoredDocument } from '../settings/stored-document.ts'
import type { Store } from '../store/store.ts'
import { PACKAGES } from './limits.ts'
import type { Package, PackageFile } from './package.ts'
import { nameOf, placeOf, type Source } from './source.ts'

/** What is understood of a package. */
export interface Read<T> {
  name: string
  version: string
  description: string
  brings: T
}

/** One that is installed: what a person said yes to, by its hash, and what it brings. */
export interface Installed<T> extends Source {
  name: string
  version: string
  description: string
  enabled: boolean
  resolved_ref: string | null
  installed_at: string
  sha256: string
  files: string[]
  brings: T
}

export interface PackagesParts<T> {
  kind: 'skill' | 'plugin'
  store: Store
  /** Gets what a source leads to, by the right of whoever has the key. */
  fetch(source: Source): Promise<Package>
  read(found: Package, fallback: string): Read<T>
}

interface StoredFile {
  path: string
  executable: boolean
  base64: string
}

/**
 * Skills, or plugins, that a person with the key has installed. One document says what each brings; its files, which are needed in
 * sandboxes only, lie in a document of their own that is there before the first names it.
 */
export class Packages<T> {
  readonly kind: 'skill' | 'plugin'
  readonly #parts: PackagesParts<T>
  readonly #document: StoredDocument<Readonly<Record<string, Omit<Installed<T>, 'name'>>>>

  constructor(parts: PackagesParts<T>) {
    this.kind = parts.kind
    this.#parts = parts
    this.#document = new StoredDocument(parts.store, `installed-${parts.kind}s`, {})
  }

  /** By name. */
  async all(): Promise<Installed<T>[]> {
    const stored = Object.entries(await this.#document.read())
    return stored.map(([name, one]) => ({ name, ...one })).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  async enabled(): Promise<Installed<T>[]> {
    return (await this.all()).filter(({ enabled }) => enabled)
  }

  async get(name: string): Promise<Installed<T>> {
    const found = (await this.all()).find(one => one.name === name)
    if (!found) throw this.#missing(name)
    return found
  }

  async install({ force, ...source }: InstallRequest): Promise<Installed<T>> {
    return this.#put(source, (before, name) => {
      if (before && !force) throw fault('package_exists', this.#title, name)
      return true
    })
  }

  /** What came of its source meanwhile, under the same name. It stays as enabled as it was. */
  async refresh(name: string): Promise<Installed<T>> {
    const { source, ref, repo_path } = await this.get(name)
    return this.#put({ source, ref, repo_path }, (before, found) => {
      if (found !== name) throw fault('package_invalid', `Its source has '${found}' by now: install that instead`)
      if (!before) throw this.#missing(name)
      return before.enabled
    })
  }

  async setEnabled(name: string, enabled: boolean): Promise<{ name: string; enabled: boolean }> {
    await this.#document.update(all => {
      if (!Object.hasOwn(all, name)) throw this.#missing(name)
      return { ...all, [name]: { ...all[name]!, enabled } }
    })
    return { name, enabled }
  }

  async uninstall(name: string): Promise<{ message: string }> {
    const { sha256 } = await this.get(name)
    await this.#document.update(all => {
      const { [name]: _, ...others } = all
      return others
    })
    await this.#files(name, sha256).update(() => ({ files: [] }))
    return { message: `${this.#title} '${name}' uninstalled` }
  }

  async files({ name, sha256 }: Pick<Installed<T>, 'name' | 'sha256'>): Promise<PackageFile[]> {
    const { files } = await this.#files(name, sha256).read()
    return files.map(({ base64, ...file }) => ({ ...file, content: Buffer.from(base64, 'base64') }))
  }

  /** `allow` is given the one of that name, if there is one, and says whether the new one is enabled. */
  async #put(
    { source, ref, repo_path }: Source,
    allow: (before: Omit<Installed<T>, 'name'> | undefined, name: string) => boolean,
  ): Promise<Installed<T>> {
    const fallback = nameOf(placeOf({ source, ref, repo_path }))
    const found = await this.#parts.fetch({ source, ref, repo_path })
    const { name, ...read } = this.#parts.read(found, fallback)
    const { sha256, files } = found
    const stored = files.map(({ content, ...file }): StoredFile => ({ ...file, base64: content.toString('base64') }))
    const old = (await this.#document.read())[name]
    allow(old, name)
    await this.#files(name, sha256).update(() => ({ files: stored }))
    const all = await this.#document.update(before => {
      const enabled = allow(before[name], name)
      if (!before[name] && Object.keys(before).length >= PACKAGES) throw fault('package_limit', PACKAGES)
      const one = { ...read, source, ref, repo_path, enabled, sha256, files: files.map(({ path }) => path) }
      return { ...before, [name]: { ...one, resolved_ref: found.commit, installed_at: formatUtc(now()) } }
    })
    if (old && old.sha256 !== sha256) await this.#files(name, old.sha256).update(() => ({ files: [] }))
    return { name, ...all[name]! }
  }

  #files(name: string, sha256: string): StoredDocument<{ files: StoredFile[] }> {
    return new StoredDocument(this.#parts.store, `installed-${this.kind}/${name}/${sha256}`, { files: [] })
  }

  get #title(): string {
    return this.kind === 'skill' ? 'Skill' : 'Plugin'
  }

  #missing(name: string) {
    return fault('package_not_found', this.#title, name)
  }
}

/** A name that an order may give as a source, where a path of this machine would lead nowhere. */
export const installPath = (kind: 'skill' | 'plugin', name: string): string => `installed/${kind}s/${name}`

export const wireOf = (kind: 'skill' | 'plugin', one: Installed<unknown>): InstalledSkillResponse => ({
  name: one.name,
  version: one.version,
  description: one.description,
  enabled: one.enabled,
  source: one.source,
  resolved_ref: one.resolved_ref,
  repo_path: one.repo_path,
  installed_at: one.installed_at,
  install_path: installPath(kind, one.name),
})
