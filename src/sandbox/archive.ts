import type { Readable } from 'node:stream'
import { fault } from '../api/errors.ts'
import type { ArchiveFormat } from '../api/files.ts'
import { GIT_DELTA_SCRIPT, TAR_SCRIPT, TOLD } from './archive-scripts.ts'
import { cleanPath, Files, listen, PATIENCE_MS, refusal } from './files.ts'
import type { Process, Sandbox } from './sandbox.ts'

export interface ArchiveOrder {
  path: string
  format: ArchiveFormat
  /** What a delta is taken against; found out unless given. */
  base_ref: string | null
  use_default_excludes: boolean
  exclude: readonly string[] | null
}

/** A pack under way: one of `content` and `close` must be called. */
export interface Archive {
  /** What it tells of the repository it was taken from. */
  headers: Record<string, string>
  /** Fails when it does not come whole. */
  content(): AsyncIterable<Uint8Array>
  close(): void
}

/** What is made again from other things, or is none of the work. */
const DEFAULT_EXCLUDES =
  '.git/ node_modules/ .venv/ venv/ __pycache__/ .mypy_cache/ .pytest_cache/ .ruff_cache/ dist/ build/ .next/ target/ *.pyc'.split(
    ' ',
  )

/** What a repository's own folder holds beside the work: addresses with passwords in them, and what was once there. */
const PRIVATE = ['config', 'config.worktree', 'credentials', 'FETCH_HEAD', 'logs'].map(name => `.git/${name}`)

/** Facts about a repository are short. */
const FACTS_BYTES = 64 * 1024

/** Packs a directory, from inside its sandbox and as it is read. */
export async function archive(sandbox: Sandbox, order: ArchiveOrder): Promise<Archive> {
  const path = cleanPath(order.path)
  const excludes = [...(order.use_default_excludes ? DEFAULT_EXCLUDES : []), ...(order.exclude ?? [])]
  if (excludes.some(pattern => /[\0\n]/.test(pattern))) throw fault('bad_request', 'A pattern is one line of text')
  if (order.base_ref?.startsWith('-')) throw fault('bad_request', "base_ref must not start with '-'")
  if (order.base_ref?.includes('\0')) throw fault('bad_request', 'base_ref cannot hold a NUL character')
  const delta = order.format === 'git-delta'
  const argv = delta
    ? [GIT_DELTA_SCRIPT, 'archive', path, order.base_ref ?? '', excludes.join('\n')]
    : [TAR_SCRIPT, 'archive', path, manifest(path, excludes), ...[...excludes, ...PRIVATE].map(tarPattern)]
  if (sandbox.roots) await new Files(sandbox).stat(path)
  const ending = new AbortController()
  const child = await sandbox.exec({ argv: ['/bin/sh', '-c', ...argv], cwd: '/', signal: ending.signal })
  const complaint = listen(child)
  const head = await factsOf(child.stdout, ending)
  if (!head) throw refused(sandbox, path, order, (await child.exit).code, await complaint)
  return {
    headers: headersOf(head.facts, order),
    content: () => content(child, head.rest, ending),
    close: () => ending.abort(),
  }
}

const manifest = (path: string, excludes: string[]): string =>
  JSON.stringify({ excludes, format: 'tar.gz', source: path.split('/').at(-1) }, null, 2)

/** Of one name at any depth; a slash at its end only says that it is a directory. */
const tarPattern = (pattern: string): string => `--exclude=${pattern.replace(/\/+$/, '')}`

function refused(sandbox: Sandbox, path: string, { base_ref }: ArchiveOrder, code: number, complaint: string) {
  if (code === TOLD.noRepository) return fault('bad_request', `Not a git repository: ${path}`)
  if (code === TOLD.severalRepositories) return fault('bad_request', `Several git repositories are below ${path}`)
  if (code === TOLD.badRef) return fault('bad_request', `base_ref '${base_ref}' could not be resolved`)
  return refusal(sandbox, path, 'directory_not_found', code, complaint)
}

type Fact = 'remote' | 'branch' | 'head' | 'root' | 'base'
const FACTS: readonly Fact[] = ['remote', 'branch', 'head', 'root', 'base']

/** What comes before the pack: facts, each ended by NUL. Undefined when it ends before. */
async function factsOf(stdout: Readable, ending: AbortController) {
  const timer = setTimeout(() => ending.abort(), 10 * PATIENCE_MS)
  let bytes: Buffer = Buffer.alloc(0)
  try {
    for (;;) {
      const chunk: Buffer | null = stdout.read()
      if (chunk) bytes = Buffer.concat([bytes, chunk])
      else if (stdout.readableEnded || stdout.destroyed) return undefined
      else await new Promise(resolve => ['readable', 'end', 'close'].map(event => stdout.once(event, resolve)))
      const ends = nuls(bytes, FACTS.length)
      if (ends.length === FACTS.length) {
        const values = ends.map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1]! + 1, end).toString('utf8'))
        const facts = Object.fromEntries(FACTS.map((name, i) => [name, values[i]])) as Record<Fact, string>
        return { facts, rest: bytes.subarray(ends.at(-1)! + 1) }
      }
      if (bytes.length > FACTS_BYTES) ending.abort()
    }
  } finally {
    clearTimeout(timer)
  }
}

function nuls(bytes: Buffer, count: number): number[] {
  const found: number[] = []
  for (let at = bytes.indexOf(0); at >= 0 && found.length < count; at = bytes.indexOf(0, at + 1)) found.push(at)
  return found
}

function headersOf({ remote, branch, head, root, base }: Record<Fact, string>, { format, base_ref }: ArchiveOrder) {
  const headers = {
    'X-Archive-Repo-Remote': withoutLogin(remote),
    'X-Archive-Branch': branch,
    'X-Archive-Head-Commit': head,
    'X-Archive-Repo-Root': root,
    ...(format === 'git-delta' && base && { 'X-Archive-Base-Commit': base, 'X-Archive-Base-Ref': base_ref ?? 'auto' }),
  }
  const said = Object.entries(headers).filter(([, value]) => value !== '')
  return Object.fromEntries(said.map(([name, value]) => [name, escaped(value)]))
}

/** Headers hold no other characters; those of paths and addresses stay legible. */
const escaped = (text: string): string =>
  encodeURIComponent(text.toWellFormed().slice(0, 4096)).replaceAll(/%(2F|3A|40)/g, one => decodeURIComponent(one))

/** An address may hold a name and a password. */
const withoutLogin = (address: string): string => address.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, '$1')

async function* content(child: Process, first: Buffer, ending: AbortController): AsyncGenerator<Uint8Array> {
  try {
    if (first.length > 0) yield first
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) yield chunk
    const { code } = await child.exit
    // tar says 1 when a file changed while it was read: what it read of it is in there.
    if (code > 1) throw fault('sandbox_failed', `Packing ended with ${code}`)
  } finally {
    ending.abort()
  }
}
