import { posix } from 'node:path'
import { fault } from '../api/errors.ts'
import { isBranchName } from '../api/git.ts'
import type { Remote } from '../git-providers/remote.ts'
import type { Egress, Sandbox } from '../sandbox/sandbox.ts'
import { askTip, begin, type FetchOptions, fetchTip, identityConfig } from './fetch.ts'
import { type Bench, git, script, tryGit } from './git.ts'
import { LIMITS, type RepositoryLimits } from './limits.ts'
import { clearBeside, isThere, made } from './place.ts'
import type { RepositoryOrder, Step } from './repository.ts'
import { prepareShared } from './shared.ts'
import { describe, isTag, type Tip } from './tip.ts'
import { watched } from './watch.ts'

export interface PrepareOptions {
  signal: AbortSignal
  /** Told in a word or two how far it is. */
  onProgress?: (what: string) => void
  /** Narrower than the sandbox's. */
  egress?: Egress
  limits?: Partial<RepositoryLimits>
}

/**
 * Makes a folder of a sandbox what a conversation is to find there. Everything is made beside it and becomes it by one rename: however
 * often it is cut short, it can be repeated, and a folder that is there is whole.
 */
export async function prepareRepository(
  sandbox: Sandbox,
  order: RepositoryOrder,
  { signal, onProgress = () => undefined, egress, limits }: PrepareOptions,
): Promise<Step> {
  signal.throwIfAborted()
  const { remote, folder, workBranch } = order
  const bench: Bench = { sandbox, signal, egress, remote, limits: { ...LIMITS, ...limits } }
  if (!posix.isAbsolute(folder)) throw fault('path_not_absolute')
  if (remote === null) return makeEmpty(bench, order)
  checkRemote(remote)
  if (!isBranchName(workBranch)) throw fault('bad_request', 'The name of the work branch cannot be one')
  if (await isThere(bench, folder)) return recognise(bench, remote, folder)
  onProgress(`Asking for ${remote.repository}`)
  const tip = await askTip(bench, remote, order.branch)
  const options = { fullHistory: order.fullHistory, onProgress }
  return order.shared === null || tip === 'empty'
    ? clone(bench, remote, order, tip, options)
    : prepareShared(bench, remote, { ...order, shared: order.shared }, tip, options)
}

/** Refuses an address that leads anywhere but to a web server, or that bears what opens it. */
function checkRemote({ url, repository }: Remote): void {
  const parsed = URL.parse(url)
  const isWeb = parsed !== null && /^https?:$/.test(parsed.protocol) && /^https?:\/\/[^\s]+$/.test(url)
  if (!isWeb || parsed.username || parsed.password)
    throw fault('repository_not_found', `The address of ${repository} is none that a repository is fetched from`)
}

/** As it was made by an earlier try. */
async function recognise(bench: Bench, remote: Remote, folder: string): Promise<Step> {
  const { stdout } = await tryGit(bench, folder, ['config', '--get', 'remote.origin.url'])
  if (stdout.toString('utf8').trim() !== remote.url)
    throw fault('repository_failed', `${folder} holds another repository already`)
  // Of a worktree that was moved and not registered at its new place.
  await tryGit(bench, folder, ['worktree', 'repair'])
  return { outcome: 'skipped', detail: `${remote.repository} is in ${folder} already` }
}

/** Its own `.git` may be half of one: making it again is what git does with it. */
const MAKE_EMPTY = `mkdir -p -- "$1" && cd -- "$1" || exit 1
case $(ls -A) in '' | .git) command -v git >/dev/null || exit 0 ;; *) exit 0 ;; esac
set -e
git init -q
shift
while [ $# -gt 0 ]; do git config --local -- "$1" "$2"; shift 2; done
echo yes`

async function makeEmpty(bench: Bench, { folder, identity }: RepositoryOrder): Promise<Step> {
  const isNew = (await script(bench, MAKE_EMPTY, [folder, ...identityConfig(identity).flat()])).trim() === 'yes'
  return isNew ? { outcome: 'done', detail: `${folder} is a new repository` } : { outcome: 'skipped', detail: null }
}

async function clone(
  bench: Bench,
  remote: Remote,
  { folder, branch, workBranch, identity }: RepositoryOrder,
  tip: Tip | 'empty',
  options: FetchOptions,
): Promise<Step> {
  await clearBeside(bench, folder)
  return made(bench, folder, async making => {
    await begin(bench, making, { remote, identity })
    if (tip === 'empty') {
      await git(bench, making, ['symbolic-ref', 'HEAD', `refs/heads/${workBranch}`])
      return { outcome: 'done', detail: `${remote.repository} is empty; on the new branch ${workBranch}` }
    }
    await fetchTip(bench, remote, making, tip, options)
    const own = branch === null || isTag(tip)
    const name = own ? workBranch : branch
    await watched(bench, making, inner =>
      git(inner, making, ['checkout', '-q', '-b', name, own ? '--no-track' : '--track', tip.local]),
    )
    return { outcome: 'done', detail: describe(remote, name, own ? tip : null) }
  })
}
