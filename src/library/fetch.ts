import { posix } from 'node:path'
import { Fault, fault } from '../api/errors.ts'
import type { ProviderType } from '../api/git-providers.ts'
import type { Remote } from '../git-providers/remote.ts'
import { type Bench, git, gitOverNetwork, script } from '../repository/git.ts'
import { LOOK_MS } from '../repository/limits.ts'
import { watched } from '../repository/watch.ts'
import { run } from '../sandbox/run.ts'
import type { Egress, Sandbox } from '../sandbox/sandbox.ts'
import { FETCH } from './limits.ts'
import type { Place } from './source.ts'

/** The conversation that is to have something: that is fetched where it works, within what it may reach. */
export interface Destination {
  /** Undefined for the default one. */
  sandbox?: string | undefined
  egress?: Egress | null | undefined
}

/** Where and by whose right something is fetched. */
export interface Errand {
  sandbox: Sandbox
  signal: AbortSignal
  /** Narrower than the sandbox's. */
  egress?: Egress | undefined
  /** What is stored to open a repository; without it only what is public is fetched. */
  remoteOf?: ((repository: string, provider: ProviderType | null) => Promise<Remote>) | undefined
}

/** A folder in the sandbox. */
export interface Ground {
  /** What may be looked at. */
  top: string
  /** What is meant, below it. */
  folder: string
  commit: string | null
}

/** Has `look` look at what a source leads to. What was fetched for that is gone afterwards. Fails as `package_not_fetched`. */
export async function visit<T>(errand: Errand, place: Place, look: (ground: Ground) => Promise<T>): Promise<T> {
  try {
    return place.kind === 'folder'
      ? await look({ top: inSandbox(errand.sandbox, place.path), folder: '', commit: null })
      : await fetched(errand, place, look)
  } catch (error) {
    throw error instanceof Fault && UNFETCHED.test(error.code) ? fault('package_not_fetched', error.message) : error
  }
}

/** What is wrong with the source: not with the sandbox, which may be tried again. */
const UNFETCHED = /^(repository_|branch_|file_|directory_|not_a_|outside_|permission_|path_|bad_request)/

const inSandbox = ({ home, workingDir }: Sandbox, path: string): string =>
  posix.resolve(workingDir, path.replace(/^~(?=\/|$)/, home))

const MAKE = 'mkdir -p -- "$1" && cd -- "$1" && dir=$(mktemp -d "$1/.fetched-XXXXXXXX") && echo "$dir"'

async function fetched<T>(
  { sandbox, signal, egress, remoteOf }: Errand,
  { url, github, ref, folder }: Place & { kind: 'repository' },
  look: (ground: Ground) => Promise<T>,
): Promise<T> {
  const open: Remote = { provider: 'github', repository: github ?? url, url, credential: null }
  // Of a host that nobody stored a token for, nothing is known.
  const remote = (await remoteOf?.(github ?? url, github === null ? null : 'github').catch(() => undefined)) ?? open
  const bench: Bench = { sandbox, signal, egress, remote, limits: FETCH }
  const top = (await script(bench, MAKE, [sandbox.home])).trim()
  try {
    await git(bench, top, ['init', '-q', '--template='])
    const args = ['-C', top, 'fetch', '-q', '--no-write-fetch-head', '--no-tags', '--depth=1', '--', remote.url]
    await watched(bench, top, inner => gitOverNetwork(inner, remote, [...args, `+${ref ?? 'HEAD'}:refs/heads/fetched`]))
    await watched(bench, top, inner => git(inner, top, ['checkout', '-q', 'fetched']))
    const commit = (await git(bench, top, ['rev-parse', 'HEAD'])).trim()
    return await look({ top, folder, commit })
  } finally {
    // Not by the signal that may have ended the rest.
    const argv = ['rm', '-rf', '--', top] as const
    await run(sandbox, { argv, cwd: '/', timeoutMs: LOOK_MS }, { limit: 4096 }).catch(() => undefined)
  }
}
