import { lstat, realpath, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Grant } from './sandbox.ts'

/** Folders of the machine's own; what is below `/tmp` and `/home` and the like may be a person's. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/etc', '/proc', '/sys', '/dev', '/run', '/boot']
/** Not to be granted whole: too much lies in them. */
const WHOLE = ['/', '/home', '/root', '/tmp', '/var', '/opt', '/srv', '/mnt', '/media', '/workspace']
/** What a sandbox has of its own under the same name, so that a path in it says nothing about the host's. */
const OWN = ['/tmp', '/var/tmp', '/workspace']

/** Which folders of the host the default sandbox shows, and which it never may. */
export class Grants {
  readonly #data: string
  readonly #configured: readonly Grant[]

  constructor(data: string, configured: readonly Grant[]) {
    this.#data = data
    this.#configured = configured
  }

  /** Why this folder cannot be granted; undefined when it can. */
  async objection(path: string): Promise<string | undefined> {
    const real = await realpath(path).catch(() => undefined)
    if (real === undefined || !(await stat(real)).isDirectory()) return `There is no folder ${path}`
    if (real !== resolve(path)) return `${path} is a link: grant ${real} itself`
    const data = await realpath(this.#data).catch(() => this.#data)
    if (isWithin(data, real) || isWithin(real, data)) return `${path} holds what this server keeps, or lies in it`
    if (WHOLE.includes(real) || SYSTEM.some(folder => isWithin(real, folder))) return `${path} belongs to the system`
    return undefined
  }

  /** Those from the configuration, and of these further folders the ones that can be. */
  async all(further: readonly string[]): Promise<Grant[]> {
    const grants = [...this.#configured]
    for (const path of further.map(folder => resolve('/', folder))) {
      const known = grants.some(grant => isWithin(path, grant.path))
      if (!known && (await this.objection(path)) === undefined) grants.push({ path, readOnly: false })
    }
    // An outer folder must be there before one within it is mounted on top.
    return grants.sort((a, b) => a.path.length - b.path.length)
  }

  /**
   * Whether a folder that somebody wants to work in is one of the host's that was not granted. An empty folder of that name in the
   * sandbox would look as if their work were gone.
   */
  async isWithheld(folder: string, further: readonly string[]): Promise<boolean> {
    const path = resolve('/', folder)
    if (!folder.startsWith('/') || [...SYSTEM, ...OWN].some(folder => isWithin(path, folder))) return false
    const grants = await this.all(further)
    if (grants.some(grant => isWithin(path, grant.path))) return false
    return (
      path !== '/' &&
      lstat(path).then(
        entry => entry.isDirectory() || entry.isSymbolicLink(),
        () => false,
      )
    )
  }
}

const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`)
