import type { Client } from '../../client/index.ts'
import { quoted, run } from './place.ts'

/** Of one folder: more than anybody reads, and few enough to be drawn at once. */
export const MOST_ENTRIES = 2000

export interface Entry {
  name: string
  path: string
  kind: 'folder' | 'file' | 'other'
  /** It is a link; `kind` says to what. */
  link: boolean
  size: number
}

export interface Folder {
  /** Folders first, by name. */
  entries: readonly Entry[]
  /** There are more than were read. */
  cut: boolean
  /** It is not there, or may not be read. */
  missing: boolean
}

/** Every record ends with a slash and a newline, as no name does: names may hold anything else. */
const STAT = '-exec stat'
const FORMAT = `-c '%f %s %n/' {} + 2>/dev/null`

/** For any POSIX shell with GNU or busybox tools. Links are told twice: as such, and as what they lead to. */
export const listCommand = (folders: readonly string[]): string =>
  folders
    .map((folder, i) =>
      [
        `printf '/\\n@${i}/\\n'`,
        `(cd -- ${quoted(folder)} 2>/dev/null && [ -r . ] || { printf '!/\\n'; exit; }`,
        `{ find . ! -name . -prune ${STAT} ${FORMAT}; find . ! -name . -prune -type l ${STAT} -L ${FORMAT}; } | head -n ${MOST_ENTRIES})`,
      ].join('\n'),
    )
    .join('\n')

export function parseListing(text: string, folders: readonly string[]): Map<string, Folder> {
  const found = new Map<string, Folder>()
  for (const part of text.split(/(?<=\/\n)@(?=\d+\/\n)/).slice(1)) {
    const [index = '', ...records] = part.split('/\n')
    const folder = folders[Number(index)]
    if (folder === undefined) continue
    const lines = records.filter(record => record !== '')
    found.set(folder, {
      entries: entriesOf(lines, folder),
      cut: lines.length >= MOST_ENTRIES,
      missing: lines[0] === '!',
    })
  }
  return found
}

/** The first digits of a mode. */
const KINDS: Record<number, Entry['kind']> = { 4: 'folder', 8: 'file' }
const LINK = 10

function entriesOf(records: readonly string[], folder: string): Entry[] {
  const found = new Map<string, Entry>()
  for (const record of records) {
    const [, mode, size, name] = /^([0-9a-f]+) (\d+) \.\/(.*)$/s.exec(record) ?? []
    if (mode === undefined || name === undefined) continue
    const type = Number.parseInt(mode, 16) >> 12
    const link = type === LINK || found.get(name)?.link === true
    const path = `${folder.replace(/\/$/, '')}/${name}`
    found.set(name, { name, path, kind: KINDS[type] ?? 'other', link, size: Number(size) })
  }
  return [...found.values()].sort(byName)
}

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })

const byName = (a: Entry, b: Entry): number =>
  Number(b.kind === 'folder') - Number(a.kind === 'folder') || collator.compare(a.name, b.name)

export async function list(api: Client, folders: readonly string[]): Promise<Map<string, Folder>> {
  return parseListing(await run(api, listCommand(folders)), folders)
}
