import type { Remote } from '../git-providers/remote.ts'
import { begin, type FetchOptions, fetchTip, identityConfig } from './fetch.ts'
import { type Bench, git, tryGit } from './git.ts'
import { locked } from './lock.ts'
import { beside, clearBeside, isThere, made } from './place.ts'
import type { RepositoryOrder, Step } from './repository.ts'
import { freeStaleLocks } from './stale-locks.ts'
import { describe, isTag, type Tip } from './tip.ts'
import { addWorktree } from './worktree.ts'

type SharedOrder = RepositoryOrder & { shared: string }

/** A worktree of a clone that other conversations use too, on a branch that no other has. */
export async function prepareShared(
  bench: Bench,
  remote: Remote,
  order: SharedOrder,
  tip: Tip,
  options: FetchOptions,
): Promise<Step> {
  const { shared } = order
  const isClone = () => isThere(bench, shared)
  await isClone()
  return locked(bench, beside(shared, 'lock'), async () => {
    await clearBeside(bench, shared)
    if (!(await isClone()))
      await made(bench, shared, async making => {
        await begin(bench, making, { remote, identity: order.identity, bare: true })
        await fetchTip(bench, remote, making, tip, options)
      })
    else await freeStaleLocks(bench, shared)
    await renew(bench, remote, shared, tip, options)
    for (const [key, value] of identityConfig(order.identity))
      await git(bench, shared, ['config', '--local', '--', key, value])
    return join(bench, remote, order, tip)
  })
}

/** Brings what is new. It must join what is there, or the branches of others would have nothing in common with it. */
async function renew(bench: Bench, remote: Remote, shared: string, tip: Tip, options: FetchOptions): Promise<void> {
  const known = await tryGit(bench, shared, ['rev-parse', '--verify', '--quiet', tip.local])
  const sha = known.stdout.toString('latin1').trim()
  const isShallow = (await git(bench, shared, ['rev-parse', '--is-shallow-repository'])).trim() === 'true'
  const deepens = options.fullHistory && isShallow
  if (sha === tip.sha && !deepens) return
  const depth = deepens ? ['--unshallow'] : isShallow && sha === '' ? ['--depth=1'] : []
  await fetchTip(bench, remote, shared, tip, options, depth)
}

/** The branch that was named, if nobody here has it. */
async function join(bench: Bench, remote: Remote, order: SharedOrder, tip: Tip): Promise<Step> {
  const { shared, folder, branch, workBranch } = order
  const named = branch !== null && !isTag(tip)
  const known = await tryGit(bench, shared, ['show-ref', '--quiet', '--verify', `refs/heads/${branch}`])
  const taken = named && known.code === 0
  const name = named && !taken ? branch : workBranch
  await addWorktree(bench, shared, folder, { name, start: tip.local, tracks: named })
  const detail = describe(remote, name, name === branch ? null : tip)
  return { outcome: 'done', detail: taken ? `${detail}: another conversation has ${branch} here` : detail }
}
