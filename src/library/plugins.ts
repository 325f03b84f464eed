import { posix } from 'node:path'
import type { Kit } from '../agent/kit.ts'
import type { PluginSource } from '../api/conversations.ts'
import { Fault, fault } from '../api/errors.ts'
import type { InstallRequest } from '../api/installed-skills.ts'
import type { InstalledPluginResponse, PluginInfo, PluginMarketplaceResponse, PluginsRequest } from '../api/plugins.ts'
import type { MarketplaceRegistration } from '../api/skills.ts'
import type { Log } from '../lib/log.ts'
import { Files } from '../sandbox/files.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Destination } from './fetch.ts'
import { PER_PROJECT, PLUGINS_AT_ONCE } from './limits.ts'
import type { Marketplaces } from './marketplaces.ts'
import { deliver, type Package, type PackageFile, readPackage, rootIn } from './package.ts'
import { type Installed, installPath, type Packages, wireOf } from './packages.ts'
import { type Plugin, placed, readPlugin } from './plugin.ts'
import { nameOf, placeOf, type Source } from './source.ts'

export interface PluginsParts {
  packages: Packages<Kit>
  marketplaces: Marketplaces
  reach(sandbox?: string): Promise<Sandbox>
  fetch(source: Source, destination: Destination): Promise<Package>
  log: Log
  signal: AbortSignal
}

/** What a conversation is given: the plugins, and the very versions they were. */
export interface Loaded {
  kits: Kit[]
  pinned: PluginSource[]
}

/** Plugins: those that are installed, those of projects, and those that an order names. */
export class Plugins {
  readonly #parts: PluginsParts

  constructor(parts: PluginsParts) {
    this.#parts = parts
  }

  async installed(): Promise<{ plugins: InstalledPluginResponse[] }> {
    return { plugins: (await this.#parts.packages.all()).map(wire) }
  }

  async get(name: string): Promise<InstalledPluginResponse> {
    return wire(await this.#parts.packages.get(name))
  }

  async install(request: InstallRequest): Promise<InstalledPluginResponse> {
    return wire(await this.#parts.packages.install(request))
  }

  async refresh(name: string): Promise<{ message: string; plugin: InstalledPluginResponse }> {
    return { message: `Plugin '${name}' updated`, plugin: wire(await this.#parts.packages.refresh(name)) }
  }

  setEnabled(name: string, enabled: boolean) {
    return this.#parts.packages.setEnabled(name, enabled)
  }

  uninstall(name: string) {
    return this.#parts.packages.uninstall(name)
  }

  /** What an order can name. */
  async list({ load_user, load_project, project_dir }: PluginsRequest, scope?: string) {
    const user = load_user ? (await this.#parts.packages.enabled()).map(infoOf) : []
    const project = load_project && project_dir !== null ? await this.#ofProject(project_dir, scope) : []
    return { plugins: [...project, ...user.filter(({ name }) => !project.some(one => one.name === name))] }
  }

  async marketplace(): Promise<PluginMarketplaceResponse> {
    const { marketplaces, packages } = this.#parts
    const [offers, installed] = await Promise.all([marketplaces.offers('plugin'), packages.all()])
    return {
      plugins: offers.map(({ name, description, from }) => {
        const known = installed.find(one => one.name === name)
        const { skills, files } = known ? wire(known) : { skills: null, files: null }
        return { name, description, ...from, installed: known !== undefined, path: from.repo_path, skills, files }
      }),
    }
  }

  /** Refuses what nobody could find, before anybody looks for it. */
  async check(sources: readonly Source[]): Promise<void> {
    if (sources.length > PLUGINS_AT_ONCE)
      throw fault('invalid_request', `plugins: a conversation has ${PLUGINS_AT_ONCE} at most`)
    for (const source of sources)
      try {
        if (!(await this.#known(source))) placeOf(source)
      } catch (error) {
        throw error instanceof Fault ? fault('invalid_request', `plugins: ${error.message}`) : error
      }
  }

  /** For a new conversation. */
  async load(sources: readonly PluginSource[], destination: Destination): Promise<Loaded> {
    await this.check(sources)
    const loaded: Loaded = { kits: [], pinned: [] }
    for (const source of sources) {
      const { kit, pinned } = await this.#load(source, destination)
      loaded.kits.push(kit)
      loaded.pinned.push(pinned)
    }
    return loaded
  }

  /** For one that is under way: by its name, by its place in a marketplace, or by its source. */
  async find(
    reference: string,
    { marketplaces, ...destination }: Destination & { marketplaces: readonly MarketplaceRegistration[] },
  ): Promise<Kit> {
    const isName = /^[^/:]+$/.test(reference)
    const known = isName ? await this.#named(reference) : undefined
    const source: Source =
      isName && !known
        ? await this.#parts.marketplaces.find(reference, marketplaces, destination)
        : { source: reference, ref: null, repo_path: null }
    return (await this.#load(source, destination)).kit
  }

  async #load(source: Source, destination: Destination): Promise<{ kit: Kit; pinned: PluginSource }> {
    const sandbox = await this.#parts.reach(destination.sandbox)
    const known = await this.#known(source)
    if (known) {
      if (!known.enabled) throw fault('bad_request', `The plugin '${known.name}' is switched off`)
      const kit = await put(sandbox, known, await this.#parts.packages.files(known))
      return { kit, pinned: { ...source, ref: known.resolved_ref } }
    }
    const found = await this.#parts.fetch(source, destination)
    const plugin = readPlugin(found, nameOf(placeOf(source)))
    const kit = await put(sandbox, { ...plugin, sha256: found.sha256 }, found.files)
    return { kit, pinned: { ...source, ref: found.commit } }
  }

  /** The installed one that is meant: by name, or as what was installed from there. */
  async #known({ source, ref, repo_path }: Source): Promise<Installed<Kit> | undefined> {
    const named = await this.#named(source)
    if (named) return named
    const same = (one: Installed<Kit>) =>
      one.enabled &&
      one.source === source &&
      one.repo_path === repo_path &&
      (ref === one.ref || (ref !== null && ref === one.resolved_ref))
    return (await this.#parts.packages.all()).find(same)
  }

  async #named(source: string): Promise<Installed<Kit> | undefined> {
    const all = await this.#parts.packages.all()
    return all.find(({ name }) => source === name || source === installPath('plugin', name))
  }

  async #ofProject(projectDir: string, scope: string | undefined): Promise<PluginInfo[]> {
    const sandbox = await this.#parts.reach(scope)
    const found: PluginInfo[] = []
    for (const folder of ['.agents/plugins', '.openhands/plugins']) {
      const parent = posix.resolve(sandbox.workingDir, projectDir, folder)
      for (const { name, kind } of (await listed(sandbox, parent)).slice(0, PER_PROJECT))
        if (kind === 'directory') found.push(...(await this.#at(sandbox, posix.join(parent, name))))
    }
    return found.filter(({ name }, i) => found.findIndex(one => one.name === name) === i)
  }

  /** Nothing where there is none that can be understood. */
  async #at(sandbox: Sandbox, path: string): Promise<PluginInfo[]> {
    try {
      const found = await readPackage(sandbox, { top: path, folder: '', commit: null }, this.#parts.signal)
      const plugin = readPlugin(found, posix.basename(path))
      return [{ ...summary(plugin), path, files: found.files.map(file => file.path) }]
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.#parts.log.info('plugins', { path, problem: error.message })
      return []
    }
  }
}

/** Puts its files where its hooks, servers and skills find them. */
async function put(
  sandbox: Sandbox,
  { name, sha256, brings }: Pick<Installed<Kit>, 'name' | 'sha256' | 'brings'>,
  files: readonly PackageFile[],
): Promise<Kit> {
  const root = rootIn(sandbox, 'plugin', name, sha256)
  await deliver(sandbox, root, files)
  return placed(brings, root)
}

async function listed(sandbox: Sandbox, folder: string) {
  try {
    return await new Files(sandbox).list(folder)
  } catch (error) {
    if (error instanceof Fault && ['directory_not_found', 'not_a_directory'].includes(error.code)) return []
    throw error
  }
}

const summary = ({ name, version, description, brings }: Plugin) => ({
  name,
  version,
  description,
  skills: brings.skills.map(skill => ({ name: skill.name, description: skill.description })),
})

const infoOf = (one: Installed<Kit>): PluginInfo => ({
  ...summary(one),
  path: installPath('plugin', one.name),
  files: one.files,
})

const wire = (one: Installed<Kit>): InstalledPluginResponse => ({
  ...wireOf('plugin', one),
  skills: summary(one).skills,
  files: one.files,
})
