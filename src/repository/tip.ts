import type { Remote } from '../git-providers/remote.ts'

/** The commit that is wanted of a remote. */
export interface Tip {
  /** There. */
  ref: string
  /** Here, once it is fetched. */
  local: string
  sha: string
  /** What the remote's HEAD is, by name; null when it does not say. */
  main: string | null
}

/** What `git ls-remote --symref` is asked for: the default branch, and the one that was named, be it a branch or a tag. */
export const wanted = (branch: string | null): string[] =>
  branch === null ? ['HEAD'] : ['HEAD', `refs/heads/${branch}`, `refs/tags/${branch}`]

/** Undefined when there is no such branch; `empty` when the remote has nothing at all. */
export function tipIn(listed: string, branch: string | null): Tip | 'empty' | undefined {
  const rows = listed.split('\n').flatMap(line => {
    const [what, ref] = line.split('\t')
    return what && ref ? [[ref, what] as const] : []
  })
  const symbolic = rows.find(([ref, what]) => ref === 'HEAD' && what.startsWith('ref: refs/heads/'))
  const main = symbolic?.[1].slice('ref: refs/heads/'.length) ?? null
  const shas = new Map(rows.filter(([, what]) => /^[0-9a-f]{40,64}$/.test(what)))
  if (branch === null) {
    const sha = shas.get('HEAD')
    if (sha === undefined) return 'empty'
    return main === null
      ? { ref: 'HEAD', local: 'refs/remotes/origin/HEAD', sha, main }
      : { ref: `refs/heads/${main}`, local: `refs/remotes/origin/${main}`, sha, main }
  }
  const head = shas.get(`refs/heads/${branch}`)
  if (head) return { ref: `refs/heads/${branch}`, local: `refs/remotes/origin/${branch}`, sha: head, main }
  const tag = shas.get(`refs/tags/${branch}`)
  return tag === undefined ? undefined : { ref: `refs/tags/${branch}`, local: `refs/tags/${branch}`, sha: tag, main }
}

export const isTag = ({ ref }: Tip): boolean => ref.startsWith('refs/tags/')

/** For a person: the branch they are on, and what one of their own began with. */
export const describe = ({ repository }: Remote, branch: string, from: Tip | null): string =>
  from
    ? `${repository}, on the new branch ${branch} from ${from.ref.replace(/^refs\/(heads|tags)\//, '')}`
    : `${repository}, on ${branch}`
