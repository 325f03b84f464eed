import { batch, computed, type ReadonlySignal, signal } from '@preact/signals'
import { type Entry, type Folder, list } from './listing.ts'
import type { Place } from './place.ts'

/** One line of the tree as it is seen. */
export interface Row {
  entry: Entry
  level: number
  open: boolean
  /** Among its siblings, from one. */
  position: number
  siblings: number
  /** What is to be said below it: its folder is being read, is empty, or holds more than is shown. */
  note?: 'reading' | 'empty' | 'cut' | 'missing'
}

/** The working directory, read as far as somebody looked into it. */
export interface Tree {
  readonly root: ReadonlySignal<Folder | undefined>
  readonly rows: ReadonlySignal<readonly Row[]>
  readonly problem: ReadonlySignal<unknown>
  readonly busy: ReadonlySignal<boolean>
  /** The line that was chosen last: uploads go to its folder. */
  readonly selected: ReadonlySignal<Entry | undefined>
  /** The file that is shown. */
  readonly viewed: ReadonlySignal<Entry | undefined>
  /** Counts refreshes, for whoever shows what is in a file. */
  readonly version: ReadonlySignal<number>
  select(entry: Entry): void
  closeFile(): void
  setOpen(path: string, open: boolean): Promise<void>
  refresh(): Promise<void>
  /** Where new files go: the folder that is selected, or that of the selected file. */
  target(): string
}

export function openTree({ api, root }: Place): Tree {
  const folders = signal<ReadonlyMap<string, Folder>>(new Map())
  const open = signal<ReadonlySet<string>>(new Set())
  const selected = signal<Entry>()
  const viewed = signal<Entry>()
  const problem = signal<unknown>()
  const busy = signal(false)
  const version = signal(0)

  async function read(paths: readonly string[]): Promise<void> {
    busy.value = true
    try {
      const found = await list(api, paths)
      batch(() => {
        folders.value = new Map([...folders.value, ...found])
        problem.value = undefined
      })
    } catch (error) {
      problem.value = error
    } finally {
      busy.value = false
    }
  }

  return {
    root: computed(() => folders.value.get(root)),
    rows: computed(() => rowsOf(root, folders.value, open.value)),
    problem,
    busy,
    selected,
    viewed,
    version,
    select(entry) {
      selected.value = entry
      if (entry.kind !== 'folder') viewed.value = entry
    },
    closeFile() {
      viewed.value = undefined
    },
    async setOpen(path, wanted) {
      const next = new Set(open.value)
      if (wanted) next.add(path)
      else next.delete(path)
      open.value = next
      if (wanted) await read([path])
    },
    async refresh() {
      await read([root, ...open.value])
      version.value++
    },
    target() {
      const { path, kind } = selected.value ?? { path: root, kind: 'folder' }
      return kind === 'folder' ? path : path.slice(0, path.lastIndexOf('/')) || '/'
    },
  }
}

export function rowsOf(
  folder: string,
  folders: ReadonlyMap<string, Folder>,
  open: ReadonlySet<string>,
  level = 1,
): Row[] {
  const entries = folders.get(folder)?.entries ?? []
  return entries.flatMap((entry, i) => {
    const isOpen = entry.kind === 'folder' && open.has(entry.path)
    const row = { entry, level, open: isOpen, position: i + 1, siblings: entries.length }
    if (!isOpen) return [row]
    const note = noteOf(folders.get(entry.path))
    return [{ ...row, ...(note && { note }) }, ...rowsOf(entry.path, folders, open, level + 1)]
  })
}

function noteOf(folder: Folder | undefined): Row['note'] {
  if (!folder) return 'reading'
  if (folder.missing) return 'missing'
  return folder.cut ? 'cut' : folder.entries.length === 0 ? 'empty' : undefined
}
