import type { GitChange, GitChangeStatus } from '../../src/api/git.ts'
import { plural } from '../words.ts'
import { type Place, quoted, run } from './place.ts'

/** Against what the work is compared: where it began, or the last commit. */
export type Since = 'start' | 'commit'

export const refOf = (since: Since): string | null => (since === 'commit' ? 'HEAD' : null)

export interface Changes {
  changes: readonly GitChange[]
  since: Since
  isRepository: boolean
}

/** Unless chosen, work in a repository that came from nowhere is compared with its last commit. */
export async function readChanges(place: Place, chosen: Since | undefined, signal: AbortSignal): Promise<Changes> {
  const { api, root } = place
  // No changes is also the answer where there is no repository.
  const facts = (await run(api, probe(root), signal)).split('\n')
  const since = chosen ?? (facts.includes('own') ? 'commit' : 'start')
  const changes = await api.gitChanges({ query: { path: root, ref: refOf(since) }, signal })
  return { changes, since, isRepository: facts.includes('repository') }
}

/** Whether the folder, or one directly below it, is in a repository, and whether its own has commits but no remote. */
const probe = (root: string): string => `cd -- ${quoted(root)} 2>/dev/null || exit 0
for folder in . */; do
  git -C "$folder" rev-parse --is-inside-work-tree 2>/dev/null | grep -q true && echo repository && break
done
git rev-parse -q --verify HEAD >/dev/null 2>&1 && [ -z "$(git remote)" ] && echo own
true`

const WORDS: Record<GitChangeStatus, [one: string, many: string]> = {
  ADDED: ['{n} added', '{n} added'],
  UPDATED: ['{n} changed', '{n} changed'],
  MOVED: ['{n} moved', '{n} moved'],
  DELETED: ['{n} deleted', '{n} deleted'],
}

export function summary(changes: readonly GitChange[]): string {
  if (changes.length === 0) return ''
  const counts = Object.entries(WORDS).flatMap(([status, words]) => {
    const n = changes.filter(change => change.status === status).length
    return n > 0 ? [plural(n, ...words)] : []
  })
  return `${plural(changes.length, '{n} file', '{n} files')}: ${counts.join(', ')}`
}
