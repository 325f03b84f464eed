import { fault } from '../api/errors.ts'
import { isBranchName } from '../api/git.ts'
import type { Remote } from '../git-providers/remote.ts'
import { credentialConfig } from './credential.ts'
import { type Bench, git, gitOverNetwork, script } from './git.ts'
import type { RepositoryOrder } from './repository.ts'
import { type Tip, tipIn, wanted } from './tip.ts'
import { watched } from './watch.ts'

/** Asks the remote what is wanted of it: whether it is there, whether it opens, and whether it has that branch. */
export async function askTip(bench: Bench, remote: Remote, branch: string | null): Promise<Tip | 'empty'> {
  if (branch !== null && !isBranchName(branch)) throw fault('branch_not_found', shown(branch), remote.repository)
  const listed = await gitOverNetwork(bench, remote, ['ls-remote', '--symref', '--', remote.url, ...wanted(branch)])
  const tip = tipIn(listed, branch)
  if (!tip) throw fault('branch_not_found', shown(branch ?? 'HEAD'), remote.repository)
  return tip
}

const shown = (branch: string): string => JSON.stringify(branch.slice(0, 200)).slice(1, -1)

/** folder, `bare` or nothing, then keys and values in turn. A setting whose value is empty is left alone. */
const BEGIN = `set -e
folder=$1 bare=$2; shift 2
git init -q \${bare:+--bare} --template= -- "$folder"
while [ $# -gt 0 ]; do
  [ -z "$2" ] || git -C "$folder" config --local -- "$1" "$2"
  shift 2
done`

/** Makes a repository that knows its remote and how to be let in, without anything from there. */
export async function begin(
  bench: Bench,
  folder: string,
  { remote, identity, bare }: Pick<RepositoryOrder, 'remote' | 'identity'> & { bare?: boolean },
): Promise<void> {
  const origin: [string, string][] = remote
    ? [
        ['remote.origin.url', remote.url],
        // All branches, though only one was fetched: a person who fetches later means all.
        ['remote.origin.fetch', '+refs/heads/*:refs/remotes/origin/*'],
        ...credentialConfig(remote),
      ]
    : []
  const settings = [...origin, ...identityConfig(identity)]
  await script(bench, BEGIN, [folder, bare ? 'bare' : '', ...settings.flat()])
}

export const identityConfig = (identity: RepositoryOrder['identity']): [string, string][] =>
  identity
    ? [
        ['user.name', identity.name],
        ['user.email', identity.email],
      ]
    : []

export interface FetchOptions {
  /** Every branch and tag with all its history, not the one commit. */
  fullHistory: boolean
  onProgress: (what: string) => void
}

/**
 * Brings what is wanted. `depth` is how far that goes back: to its very commit, as far as the repository does already, or to the
 * beginning, which one that goes back less far has to be told.
 */
export async function fetchTip(
  bench: Bench,
  remote: Remote,
  folder: string,
  tip: Tip,
  { fullHistory, onProgress }: FetchOptions,
  depth = fullHistory ? [] : ['--depth=1'],
): Promise<void> {
  const wished = `+${tip.ref}:${tip.local}`
  const refs = fullHistory ? ['+refs/heads/*:refs/remotes/origin/*', '+refs/tags/*:refs/tags/*', wished] : [wished]
  const quietly = ['-q', '--no-tags', '--no-write-fetch-head', ...depth]
  // By its address: what the repository calls origin may have been changed by whoever works in it.
  const args = ['-C', folder, 'fetch', ...quietly, '--', remote.url, ...refs]
  await watched(
    bench,
    folder,
    inner => gitOverNetwork(inner, remote, args),
    megabytes => onProgress(`${remote.repository}: ${megabytes} MB`),
  )
  if (tip.main !== null && (fullHistory || tip.ref === `refs/heads/${tip.main}`))
    await git(bench, folder, ['symbolic-ref', 'refs/remotes/origin/HEAD', `refs/remotes/origin/${tip.main}`])
}
