import { fault } from '../api/errors.ts'
import { answer, git } from './git-command.ts'
import type { Sandbox } from './sandbox.ts'

/**
 * A name, and steps from it (`HEAD~2`, `main@{upstream}`). Never an option, a range, a path, or a search through messages:
 * `:/words` and `^{/words}` are patterns that somebody else's history would be matched against.
 */
const REVISION = /^[\p{L}\p{N}_@][\p{L}\p{M}\p{N}_@./+=#%,-]{0,254}(?:[~^]\d{0,9}|@\{[\w-]{1,40}\}){0,20}$/u

/** The object a revision names; undefined when there is none. */
export async function resolve(sandbox: Sandbox, folder: string, revision: string): Promise<string | undefined> {
  const found = await git(sandbox, folder, ['rev-parse', '--verify', '--quiet', '--end-of-options', revision])
  const id = found.stdout.toString('latin1').trim()
  return found.code === 0 && /^[0-9a-f]{40,64}$/.test(id) ? id : undefined
}

/** The tree that a caller names. */
export async function treeOf(sandbox: Sandbox, folder: string, revision: string): Promise<string> {
  const tree = REVISION.test(revision) ? await resolve(sandbox, folder, `${revision}^{tree}`) : undefined
  if (tree === undefined) throw fault('git_failed', `Not a revision: ${revision.slice(0, 100)}`)
  return tree
}

/** What a folder is compared with when nobody says: what was there before the work that is not published. */
export async function defaultTree(sandbox: Sandbox, folder: string): Promise<string> {
  const upstream = await resolve(sandbox, folder, '@{upstream}^{tree}')
  if (upstream) return upstream
  const branch = await branchOf(sandbox, folder)
  const published = branch && (await resolve(sandbox, folder, `refs/remotes/origin/${branch}^{tree}`))
  if (published) return published
  for (const name of ['HEAD', 'main', 'master']) {
    const tip = await resolve(sandbox, folder, `refs/remotes/origin/${name}^{commit}`)
    if (!tip) continue
    const base = await git(sandbox, folder, ['merge-base', tip, 'HEAD'])
    const commit = base.stdout.toString('latin1').trim()
    const tree = base.code === 0 && (await resolve(sandbox, folder, `${commit}^{tree}`))
    if (tree) return tree
  }
  return emptyTree(sandbox, folder)
}

/** It depends on the repository's kind of hash. */
export async function emptyTree(sandbox: Sandbox, folder: string): Promise<string> {
  return answer(await git(sandbox, folder, ['hash-object', '-t', 'tree', '--stdin']))
    .toString('latin1')
    .trim()
}

async function branchOf(sandbox: Sandbox, folder: string): Promise<string | undefined> {
  const found = await git(sandbox, folder, ['symbolic-ref', '--quiet', '--short', 'HEAD'])
  return found.code === 0 ? found.stdout.toString('utf8').replace(/\n$/, '') : undefined
}
