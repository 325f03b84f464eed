import { type Client, ClientError } from '../../client/index.ts'
import type { FolderEntry } from '../../src/api/files.ts'

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

export async function list(api: Client, folders: readonly string[]): Promise<Map<string, Folder>> {
  return new Map(await Promise.all(folders.map(async folder => [folder, await read(api, folder)] as const)))
}

async function read(api: Client, path: string): Promise<Folder> {
  try {
    const { items, cut } = await api.listFolder({ query: { path } })
    return { entries: items.map(item => entryOf(path, item)).sort(byName), cut, missing: false }
  } catch (error) {
    if (isUnreadable(error)) return { entries: [], cut: false, missing: true }
    throw error
  }
}

const UNREADABLE: readonly unknown[] = ['directory_not_found', 'not_a_directory', 'permission_denied']

const isUnreadable = (error: unknown): boolean =>
  error instanceof ClientError && UNREADABLE.includes((error.body as { code?: unknown } | null)?.code)

const entryOf = (folder: string, { name, kind, link, size }: FolderEntry): Entry => ({
  name,
  path: `${folder.replace(/\/$/, '')}/${name}`,
  kind: kind === 'directory' ? 'folder' : kind,
  link,
  size: size ?? 0,
})

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })

const byName = (a: Entry, b: Entry): number =>
  Number(b.kind === 'folder') - Number(a.kind === 'folder') || collator.compare(a.name, b.name)
