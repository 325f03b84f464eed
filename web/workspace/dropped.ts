/** A file and where it lies below what was dropped or chosen. */
export interface Dropped {
  file: File
  path: string
}

export const chosen = (files: FileList | null): Dropped[] => [...(files ?? [])].map(file => ({ file, path: file.name }))

/** With all that is in dropped folders. To be called within the event: what it carries is gone afterwards. */
export function dropped({ items, files }: DataTransfer): Promise<Dropped[]> {
  const entries = [...items].flatMap(item => item.webkitGetAsEntry() ?? [])
  if (entries.length === 0) return Promise.resolve(chosen(files))
  return Promise.all(entries.map(entry => within(entry, ''))).then(found => found.flat())
}

async function within(entry: FileSystemEntry, folder: string): Promise<Dropped[]> {
  const path = `${folder}${entry.name}`
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    return [{ file, path }]
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  const found: Dropped[] = []
  for (;;) {
    // It tells a folder in pieces, and its end by an empty one.
    const piece = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (piece.length === 0) return found
    for (const one of piece) found.push(...(await within(one, `${path}/`)))
  }
}
