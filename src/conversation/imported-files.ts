import { posix } from 'node:path'
import * as z from 'zod'
import { fault } from '../api/errors.ts'
import { isDeeper, NESTING } from '../lib/depth.ts'
import type { ZippedFile } from '../lib/unzip.ts'

/** What says what a conversation is. What comes later counts where both say something. */
const ABOUT = ['meta.json', 'base_state.json']

/** In a folder of their own, or beside the rest. The number is its place in the log. */
const EVENT = /^(?:events\/event-|event_)(\d{1,9})[-_][^/]*\.json$/

/** Of one file, in bytes: a message with pictures. */
const FILE_BYTES = 16 * 1024 * 1024

export interface EventFile {
  name: string
  json(): Promise<unknown>
}

export interface Trajectory {
  about: Record<string, unknown>
  /** In log order, without a gap. */
  events: EventFile[]
}

/** Finds a conversation among the files of an archive. What else is there is left alone. */
export async function readTrajectory(files: readonly ZippedFile[]): Promise<Trajectory> {
  const abouts = files.filter(({ name }) => ABOUT.includes(posix.basename(name)))
  // Those of sub-agents lie deeper.
  const depth = Math.min(...abouts.map(depthOf))
  const folders = new Set(abouts.filter(file => depthOf(file) === depth).map(({ name }) => posix.dirname(name)))
  const [folder] = folders
  if (folder === undefined) throw fault('invalid_request', `It has no ${ABOUT.join(' or ')}`)
  if (folders.size > 1) throw fault('invalid_request', 'It holds more than one conversation')
  const about = {}
  for (const name of ABOUT)
    for (const file of abouts) if (file.name === posix.join(folder, name)) Object.assign(about, await jsonOf(file))
  return { about, events: inOrder(files, folder) }
}

const depthOf = ({ name }: ZippedFile): number => name.split('/').length

function inOrder(files: readonly ZippedFile[], folder: string): EventFile[] {
  const prefix = folder === '.' ? '' : `${folder}/`
  const found = files.flatMap(file => {
    const number = file.name.startsWith(prefix) && EVENT.exec(file.name.slice(prefix.length))?.[1]
    return number ? [{ file, number: Number(number) }] : []
  })
  found.sort((a, b) => a.number - b.number)
  for (const [place, { file, number }] of found.entries())
    if (number !== place)
      throw fault(
        'invalid_request',
        `${file.name}: the event at place ${place} is ${number < place ? 'not the only one' : 'missing'}`,
      )
  return found.map(({ file }) => ({ name: file.name, json: () => jsonOf(file) }))
}

/** What is read, by its schema; refuses with its name and the first thing that is wrong. */
export function readAs<S extends z.ZodType>(schema: S, value: unknown, name: string): z.output<S> {
  if (isDeeper(value, NESTING)) throw fault('invalid_request', `${name}: it is nested too deeply`)
  const parsed = z.safeParse(schema, value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw fault('invalid_request', [name, ...(issue?.path ?? []), issue?.message].join(': '))
}

async function jsonOf(file: ZippedFile): Promise<unknown> {
  if (file.size > FILE_BYTES) throw fault('invalid_request', `${file.name} is larger than ${FILE_BYTES} bytes`)
  const bytes = await file.read()
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw fault('invalid_request', `${file.name} is not JSON`)
  }
}
