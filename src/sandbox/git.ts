import { posix } from 'node:path'
import { fault } from '../api/errors.ts'
import type { GitChange, GitChangeStatus, GitCommit, GitCommitsPage, GitDiff } from '../api/git.ts'
import { answer, filtersOf, git, gitScript } from './git-command.ts'
import { defaultTree, emptyTree, resolve, treeOf } from './git-refs.ts'
import { type Outcome, run } from './run.ts'
import type { Reach, Sandbox } from './sandbox.ts'

/** A file larger than this is not shown side by side. In bytes. */
const DIFF_BYTES = 1024 * 1024
/** Repositories directly below a folder that are looked into. */
const NESTED = 20
/** Of a subject, in a list. */
const SUBJECT_CHARACTERS = 1000
/** Files among which renames are looked for: the work grows with its square. */
const RENAMES = 400

const COMPARING = ['-r', '--name-status', '-z', '-M', `-l${RENAMES}`, '--relative', '--ignore-submodules=dirty']
const QUIETLY = ['--no-ext-diff', '--no-textconv', '--no-color']

/** Looks at repositories inside a sandbox. It changes nothing in them, and runs nothing of theirs. */
export class Git {
  readonly #reach: Reach

  constructor(reach: Reach) {
    this.#reach = reach
  }

  /** What differs from a revision, in a folder and in the repositories directly below it. Nothing, where there is none. */
  async changes(scope: string | undefined, path: string, ref: string | null): Promise<GitChange[]> {
    const [sandbox, folder] = await this.#inside(scope, path)
    const nested = await nestedIn(sandbox, folder)
    const own = await changesIn(sandbox, folder, ref)
    const isNested = ({ path: changed }: GitChange) =>
      nested.some(name => changed === name || changed.startsWith(`${name}/`))
    const changes = own.filter(change => !isNested(change))
    for (const name of nested) {
      // The revision may mean nothing there, which is no reason to hide the others.
      const below = await changesIn(sandbox, posix.join(folder, name), ref).catch(() => [])
      changes.push(...below.map(change => ({ ...change, path: posix.join(name, change.path) })))
    }
    return changes.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
  }

  /** A file now and in a revision; with `commit`, after and before it. */
  async diff(
    scope: string | undefined,
    path: string,
    { ref, commit }: { ref: string | null; commit: string | null },
  ): Promise<GitDiff> {
    if (ref !== null && commit !== null) throw fault('bad_request', 'Either ref or commit can be given, not both')
    const [sandbox, file] = await this.#inside(scope, path)
    const present = commit === null ? await fileIn(sandbox, file) : undefined
    const place = await placeOf(sandbox, file)
    if (!place) {
      if (commit === null && present === undefined) throw fault('bad_request', `File does not exist: ${file}`)
      return { modified: null, original: null }
    }
    const { folder, name } = place
    const before =
      commit !== null
        ? (await commitTrees(sandbox, folder, commit))[0]
        : ref !== null
          ? await treeOf(sandbox, folder, ref)
          : await defaultTree(sandbox, folder)
    const after = commit === null ? present : await blobIn(sandbox, folder, `${commit}:${name}`)
    const original = await blobIn(sandbox, folder, `${before}:${name}`)
    if (after === undefined && original === undefined) throw fault('bad_request', `File does not exist: ${file}`)
    return { modified: textOf(after), original: textOf(original) }
  }

  async commits(scope: string | undefined, path: string, limit: number): Promise<GitCommitsPage> {
    const [sandbox, folder] = await this.#inside(scope, path)
    if (!(await resolve(sandbox, folder, 'HEAD^{commit}'))) return { commits: [], has_more: false }
    const format = '--format=%H%x00%h%x00%s%x00%an%x00%aI'
    const args = ['log', '-z', `--max-count=${limit + 1}`, '--no-show-signature', '--encoding=UTF-8', format]
    const logged = await git(sandbox, folder, [...args, ...QUIETLY, 'HEAD', '--'])
    const fields = answer(logged).toString('utf8').split('\0')
    const found: GitCommit[] = []
    for (let i = 0; i + 5 < fields.length; i += 5) {
      const [sha, short_sha, subject, author, timestamp] = fields.slice(i, i + 5) as [
        string,
        string,
        string,
        string,
        string,
      ]
      found.push({ sha, short_sha, subject: subject.slice(0, SUBJECT_CHARACTERS), author, timestamp })
    }
    return { commits: found.slice(0, limit), has_more: found.length > limit || logged.overflow }
  }

  async commitChanges(scope: string | undefined, path: string, sha: string): Promise<GitChange[]> {
    const [sandbox, folder] = await this.#inside(scope, path)
    if (!(await isRepository(sandbox, folder))) return []
    const trees = await commitTrees(sandbox, folder, sha)
    return parseChanges(await git(sandbox, folder, ['diff-tree', ...COMPARING, ...QUIETLY, ...trees, '--']))
  }

  async #inside(scope: string | undefined, path: string): Promise<[Sandbox, string]> {
    const sandbox = await this.#reach(scope)
    return [sandbox, posix.resolve(sandbox.workingDir, path)]
  }
}

async function isRepository(sandbox: Sandbox, folder: string): Promise<boolean> {
  return (await git(sandbox, folder, ['rev-parse', '--git-dir'])).code === 0
}

async function changesIn(sandbox: Sandbox, folder: string, ref: string | null): Promise<GitChange[]> {
  const inside = await git(sandbox, folder, ['rev-parse', '--is-inside-work-tree'])
  if (inside.code !== 0 || inside.stdout.toString('latin1').trim() !== 'true') return []
  const tree = ref === null ? await defaultTree(sandbox, folder) : await treeOf(sandbox, folder, ref)
  const filters = await filtersOf(sandbox, folder)
  const tracked = await git(sandbox, folder, ['diff', ...COMPARING, ...QUIETLY, tree, '--'], { filters })
  const others = await git(sandbox, folder, ['ls-files', '-z', '--others', '--exclude-standard', '--'], { filters })
  const changes = new Map(parseChanges(tracked).map(change => [change.path, change]))
  for (const name of names(others)) {
    const path = name.replace(/\/$/, '')
    // Known to the revision and no more to the index: it is there all the same.
    const status = changes.get(path)?.status === 'DELETED' ? 'UPDATED' : 'ADDED'
    changes.set(path, { status, path })
  }
  return [...changes.values()]
}

/** The trees before and after a commit; before the first there was nothing. */
async function commitTrees(sandbox: Sandbox, folder: string, sha: string): Promise<[string, string]> {
  const after = await resolve(sandbox, folder, `${sha}^{commit}^{tree}`)
  if (!after) throw fault('git_failed', `Not a commit: ${sha}`)
  const before = await resolve(sandbox, folder, `${sha}^{commit}^1^{tree}`)
  return [before ?? (await emptyTree(sandbox, folder)), after]
}

const STATUS: Record<string, GitChangeStatus> = { A: 'ADDED', C: 'ADDED', D: 'DELETED', R: 'MOVED' }

/** Status and name in turn, with two names for what was moved or copied: then the second counts. */
function parseChanges(outcome: Outcome): GitChange[] {
  const words = names(outcome)
  const changes: GitChange[] = []
  for (let i = 0; i + 1 < words.length; i += 2) {
    const letter = words[i]![0]!
    if (letter === 'R' || letter === 'C') i += 1
    const path = words[i + 1]
    if (path !== undefined) changes.push({ status: STATUS[letter] ?? 'UPDATED', path })
  }
  return changes
}

/** What ends with a NUL; an answer that was cut short may break off in the middle of a name. */
const names = (outcome: Outcome): string[] => answer(outcome).toString('utf8').split('\0').slice(0, -1)

const LIST_NESTED = `for entry in "$1"/*/.git; do [ -e "$entry" ] && printf '%s\\0' "$entry"; done; exit 0`

async function nestedIn(sandbox: Sandbox, folder: string): Promise<string[]> {
  const found = await gitScript(sandbox, LIST_NESTED, [folder === '/' ? '' : folder])
  return names(found)
    .slice(0, NESTED)
    .map(entry => posix.basename(posix.dirname(entry)))
}

const FIND_REPOSITORY = `folder=\${1%/*}
while [ -n "$folder" ] && [ ! -d "$folder" ]; do folder=\${folder%/*}; done
printf '%s\\0' "$folder"
exec git -C "\${folder:-/}" rev-parse --show-prefix`

/** The nearest folder of a file that is there, and the file's name from the top of the repository around it. */
async function placeOf(sandbox: Sandbox, file: string): Promise<{ folder: string; name: string } | undefined> {
  const { code, stdout } = await gitScript(sandbox, FIND_REPOSITORY, [file])
  if (code !== 0) return undefined
  const [folder = '', prefix = ''] = stdout.toString('utf8').split('\0')
  return { folder: folder || '/', name: prefix.replace(/\n$/, '') + file.slice(folder.length + 1) }
}

/** Undefined when it is not in that tree, or is no file there. */
async function blobIn(sandbox: Sandbox, folder: string, name: string): Promise<Buffer | undefined> {
  const { code, stdout, overflow } = await git(sandbox, folder, ['cat-file', 'blob', name], { limit: DIFF_BYTES })
  if (overflow) throw tooLarge()
  return code === 0 ? stdout : undefined
}

/** What git would take for its content: of a link, where it points. */
const READ_FILE = `if [ -h "$1" ]; then exec readlink -n -- "$1"; fi
if [ -f "$1" ]; then exec cat -- "$1"; fi
if [ -e "$1" ]; then exit 3; fi
exit 4`

async function fileIn(sandbox: Sandbox, file: string): Promise<Buffer | undefined> {
  const argv = ['/bin/sh', '-c', READ_FILE, 'sh', file] as const
  const { code, stdout, overflow } = await run(sandbox, { argv, timeoutMs: 20_000 }, { limit: DIFF_BYTES })
  if (overflow) throw tooLarge()
  if (code === 0) return stdout
  if (code === 4) return undefined
  throw fault('bad_request', code === 3 ? `Not a file: ${file}` : `The file cannot be read: ${file}`)
}

const tooLarge = () => fault('bad_request', `The file is larger than ${DIFF_BYTES} bytes`)

function textOf(bytes: Buffer | undefined): string | null {
  if (bytes === undefined) return ''
  return bytes.includes(0) ? null : bytes.toString('utf8')
}
