import { posix } from 'node:path'
import type { FileBrowserEntry, SubdirectoryPage } from '../../api/files.ts'
import { fileRoutes } from '../../api/routes/files.ts'
import type { Trajectories } from '../../conversation/trajectory.ts'
import { hexUuid } from '../../lib/id.ts'
import { archive } from '../../sandbox/archive.ts'
import { Files } from '../../sandbox/files.ts'
import { listFolder } from '../../sandbox/listing.ts'
import type { Reach } from '../../sandbox/sandbox.ts'
import { fileReply } from '../file.ts'
import { UPLOAD_BYTES } from '../limits.ts'
import { fileOf } from '../multipart.ts'
import { attachment } from '../range.ts'
import { Streamed } from '../reply.ts'
import type { Handlers } from '../server.ts'
import { forward } from '../stream.ts'

/** What a sidebar shows. */
const FAVORITES = 50

const TYPES = { 'git-delta': 'text/x-patch', 'tar.gz': 'application/gzip' }
const SUFFIXES = { 'git-delta': '.patch', 'tar.gz': '.tar.gz' }

export const fileHandlers = (reach: Reach, trajectories: Trajectories): Handlers<typeof fileRoutes> => ({
  uploadFile: async ({ query }, { scope, incoming }) => {
    const files = new Files(await reach(scope))
    await files.write(query.path, fileOf(incoming, fileRoutes.uploadFile.upload, UPLOAD_BYTES))
    return { success: true }
  },
  downloadFile: async ({ query }, { scope, incoming }) => {
    const file = await new Files(await reach(scope)).open(query.path)
    const name = posix.basename(posix.resolve(query.path))
    return fileReply(file, incoming, 'application/octet-stream', { 'Content-Disposition': attachment(name) })
  },
  createDirectory: async ({ query }, { scope }) => {
    await new Files(await reach(scope)).makeDirectory(query.path)
    return { success: true }
  },
  getHome: async ({ query }, { scope }) => {
    const sandbox = await reach(scope)
    const files = new Files(sandbox)
    const names = await subdirectories(files, files.home, query.include_hidden)
    const favorites = names.slice(0, FAVORITES).map(name => labelled(name, posix.join(files.home, name)))
    return { home: files.home, favorites, locations: (sandbox.roots ?? ['/']).map(path => labelled(path, path)) }
  },
  searchSubdirectories: async ({ query }, { scope }) => {
    const files = new Files(await reach(scope))
    return page(await subdirectories(files, query.path, query.include_hidden), query)
  },
  listFolder: async ({ query }, { scope }) => listFolder(await reach(scope), query.path),
  downloadTrajectory: async ({ params }, { scope }) => {
    const zip = await trajectories.zip(params.conversation_id, scope)
    const headers = { 'Content-Disposition': attachment(`${hexUuid(params.conversation_id)}.zip`) }
    return new Streamed('application/octet-stream', out => void forward(zip, out), { headers })
  },
  downloadArchive: async ({ query }, { scope }) => {
    const packed = await archive(await reach(scope), query)
    const name = posix.basename(posix.resolve(query.path)) || 'root'
    return new Streamed(TYPES[query.format], out => void forward(packed.content(), out), {
      headers: { ...packed.headers, 'Content-Disposition': attachment(`${name}${SUFFIXES[query.format]}`) },
      abandon: () => packed.close(),
    })
  },
})

const labelled = (label: string, path: string): FileBrowserEntry => ({ label, path })

/** By name, in any case; hidden ones when asked for. */
async function subdirectories(files: Files, path: string, hidden: boolean): Promise<string[]> {
  const entries = await files.list(path)
  const names = entries.flatMap(({ name, kind }) =>
    kind === 'directory' && (hidden || !name.startsWith('.')) ? [name] : [],
  )
  return names
    .map(name => ({ name, key: name.toLowerCase() }))
    .sort(byKey)
    .map(({ name }) => name)
}

const byKey = (a: { name: string; key: string }, b: { name: string; key: string }): number =>
  a.key < b.key ? -1 : a.key > b.key ? 1 : a.name < b.name ? -1 : 1

/**
 * The cursor is the lower-case name of the page's first entry. Where that would name two of them, the exact name follows after a
 * slash, which no name holds.
 */
function page(names: string[], { path, page_id, limit }: { path: string; page_id: string | null; limit: number }) {
  const cursors = names.map((name, i) => {
    const key = name.toLowerCase()
    return i > 0 && names[i - 1]!.toLowerCase() === key ? `${key}/${name}` : key
  })
  const start = page_id === null ? 0 : Math.max(0, cursors.indexOf(page_id))
  const folder = posix.resolve(path)
  const items = names.slice(start, start + limit).map(name => ({ name, path: posix.join(folder, name) }))
  return { items, next_page_id: cursors[start + limit] ?? null } satisfies SubdirectoryPage
}
