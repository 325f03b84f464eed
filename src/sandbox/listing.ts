import type { FolderEntry, FolderListing } from '../api/files.ts'
import { formatUtc } from '../lib/time.ts'
import { DETAILS_SCRIPT } from './file-scripts.ts'
import { cleanPath, PATIENCE_MS, refusal } from './files.ts'
import { run } from './run.ts'
import type { Sandbox } from './sandbox.ts'

/** Entries told of one folder: more than anybody reads, and few enough to be drawn at once. */
export const LISTED = 2000
/** Read of a listing, some ten thousand entries: it is taken apart in one go, and others wait meanwhile. */
const READ_BYTES = 1024 * 1024

/** What is in a folder. Names that are no UTF-8 are left out: nobody could ask for them. */
export async function listFolder(sandbox: Sandbox, path: string): Promise<FolderListing> {
  const clean = cleanPath(path)
  const argv = ['/bin/sh', '-c', DETAILS_SCRIPT, 'list', clean, ...(sandbox.roots ?? [])] as const
  const ended = await run(sandbox, { argv, cwd: '/', timeoutMs: PATIENCE_MS }, { limit: READ_BYTES })
  const { code, stdout, stderr, overflow } = ended
  if (code !== 0 && !overflow) throw refusal(sandbox, clean, 'directory_not_found', code, stderr.toString('latin1'))
  const found = [...recordsOf(stdout.toString())].sort(inOrder)
  return { path: clean, items: found.slice(0, LISTED).map(entryOf), cut: overflow || found.length > LISTED }
}

/** What is told of an entry; of a link, of what it leads to. */
interface Told {
  name: string
  kind: FolderEntry['kind']
  link: boolean
  size: string
  seconds: string
  /** Their order. */
  key: string
}

const RECORD = /([0-9a-f]+) (\d+) (-?\d+) \.\/([^/]*)\/\n/gy

/** The first digits of a mode. */
const KINDS: { [type: number]: FolderEntry['kind'] } = { 4: 'directory', 8: 'file' }
const LINK = 10

/** What stands where bytes were that are no UTF-8. */
const NO_TEXT = '\ufffd'

/** Of a link's two, the last counts. One that was cut short is left out. */
function recordsOf(listing: string): Iterable<Told> {
  const found = new Map<string, Told>()
  for (const [, mode = '', size = '', seconds = '', name = ''] of listing.matchAll(RECORD)) {
    if (name.includes(NO_TEXT)) continue
    const type = Number.parseInt(mode, 16) >> 12
    const kind = KINDS[type] ?? 'other'
    const link = type === LINK || found.has(name)
    found.set(name, { name, kind, link, size, seconds, key: `${kind === 'directory' ? 0 : 1}${name.toLowerCase()}` })
  }
  return found.values()
}

const inOrder = (a: Told, b: Told): number => compare(a.key, b.key) || compare(a.name, b.name)
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const entryOf = ({ name, kind, link, size, seconds }: Told): FolderEntry => ({
  name,
  kind,
  link,
  size: kind === 'file' ? Number(size) : null,
  modified: dateOf(Number(seconds)),
})

/** The years that are written with four digits. */
const FIRST_SECOND = Date.parse('0001-01-01T00:00:00Z') / 1000
const LAST_SECOND = Date.parse('9999-12-31T23:59:59Z') / 1000

const dateOf = (seconds: number): string | null =>
  seconds >= FIRST_SECOND && seconds <= LAST_SECOND ? formatUtc(seconds * 1e6) : null
