/** Pictures travel inside the message, so they are kept small enough for every model. */
const MOST_BYTES = 5 * 1024 * 1024

export interface Picture {
  name: string
  /** A `data:` address. */
  url: string
}

/** Those of the files that are pictures; too large ones throw. */
export const pictures = (files: Iterable<File>): Promise<Picture[]> =>
  Promise.all(
    [...files]
      .filter(file => file.type.startsWith('image/'))
      .map(async file => {
        if (file.size > MOST_BYTES) throw new Error(`${file.name}: ${(file.size / 1e6).toFixed(1)} MB > 5 MB`)
        return { name: file.name || 'image', url: await dataUrl(file) }
      }),
  )

const dataUrl = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result))
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })
