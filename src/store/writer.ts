/**
 * The one thread that writes. It waits for the disk so that the event loop never does.
 *
 * Each message is a group: all of it becomes durable in one commit, or none of it is acknowledged. After a failed
 * commit the connection is closed: what the kernel kept of it is unknown, so the next group starts from the file.
 */
import type { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { openDatabase, type Synchronous } from './database.ts'
import { type Write, type WriteResult, Writes } from './writes.ts'

export interface WriterData {
  file: string
  synchronous: Synchronous
}

export type WriterReply = { results: WriteResult[] } | { failed: 'storage_full' | 'storage_failed'; reason: string }

const { file, synchronous } = workerData as WriterData
let open: { db: DatabaseSync; writes: Writes } | undefined

parentPort?.on('message', (group: Write[] | 'close') => {
  if (group === 'close') {
    open?.db.close()
    parentPort?.close()
  } else {
    parentPort?.postMessage(commit(group))
  }
})

function commit(group: Write[]): WriterReply {
  try {
    open ??= connect()
    const { db, writes } = open
    db.exec('BEGIN IMMEDIATE')
    const results = group.map(write => writes.apply(write))
    db.exec('COMMIT')
    return { results }
  } catch (error) {
    if (isConstraint(error)) return apart(group)
    const reason = error instanceof Error ? error.message : String(error)
    abandon()
    return { failed: isFull(error) ? 'storage_full' : 'storage_failed', reason }
  }
}

/** One write of the group broke a rule of the schema: it alone is refused, the others must not suffer for it. */
function apart(group: Write[]): WriterReply {
  open?.db.exec('ROLLBACK')
  if (group.length === 1) return { results: ['conflict'] }
  const results: WriteResult[] = []
  for (const write of group) {
    const reply = commit([write])
    if ('failed' in reply) return reply
    results.push(...reply.results)
  }
  return { results }
}

function connect() {
  const db = openDatabase(file, synchronous)
  return { db, writes: new Writes(db) }
}

function abandon(): void {
  try {
    open?.db.close()
  } catch {
    // Closing may report the same broken disk; there is nothing more to release.
  }
  open = undefined
}

const SQLITE_FULL = 13
const SQLITE_CONSTRAINT = 19
const codeOf = (error: unknown): number => ((error as { errcode?: number }).errcode ?? 0) % 256
const isFull = (error: unknown): boolean => codeOf(error) === SQLITE_FULL
const isConstraint = (error: unknown): boolean => codeOf(error) === SQLITE_CONSTRAINT
