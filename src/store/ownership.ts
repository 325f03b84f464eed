import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export interface Owner {
  pid: number
  since: string
}

/** A server that runs, as others find it in its data folder. */
export interface Announced {
  url: string
  pid: number
}

/** Whoever only looks whether the folder is taken has the lock for a moment. */
const LOOK_MS = 200

/**
 * One server per data folder. The lock is a transaction held open on a file of its own: the kernel lets go of it when
 * the process ends, however it ends, so there is never a stale one to judge.
 */
export class Ownership {
  readonly #lock: DatabaseSync
  readonly #folder: string

  /** Throws `AlreadyOwned` when another server has the folder. */
  static take(folder: string, owner: Owner): Ownership {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const note = join(folder, 'owner.json')
    const lock = new DatabaseSync(join(folder, LOCK), { timeout: LOOK_MS })
    try {
      lock.exec('PRAGMA journal_mode = DELETE; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    } catch (error) {
      lock.close()
      if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error
      throw new AlreadyOwned(folder, read<Owner>(note))
    }
    write(note, owner)
    // Of one that was killed: whoever finds the folder taken shall find the address of who took it, or none.
    rmSync(join(folder, ANNOUNCED), { force: true })
    return new Ownership(lock, folder)
  }

  /** The server that has the folder and listens; undefined when there is none. Makes nothing. */
  static announced(folder: string): Announced | undefined {
    return isTaken(join(folder, LOCK)) ? read<Announced>(join(folder, ANNOUNCED)) : undefined
  }

  private constructor(lock: DatabaseSync, folder: string) {
    this.#lock = lock
    this.#folder = folder
  }

  /** Has programs of the same user find it. */
  announce(server: Announced): void {
    write(join(this.#folder, ANNOUNCED), server)
  }

  close(): void {
    rmSync(join(this.#folder, ANNOUNCED), { force: true })
    this.#lock.close()
  }
}

const LOCK = 'owner.lock'
const ANNOUNCED = 'server.json'
const SQLITE_BUSY = 5

function isTaken(path: string): boolean {
  if (!existsSync(path)) return false
  try {
    using lock = new DatabaseSync(path, { readOnly: true, timeout: 0 })
    lock.exec('SELECT 1 FROM sqlite_schema')
    return false
  } catch (error) {
    return (error as { errcode?: number }).errcode === SQLITE_BUSY
  }
}

function write(path: string, note: object): void {
  writeFileSync(`${path}.new`, JSON.stringify(note), { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

export class AlreadyOwned extends Error {
  constructor(folder: string, owner: Owner | undefined) {
    const who = owner ? `process ${owner.pid}, since ${owner.since}` : 'another process'
    super(`The data folder ${folder} is in use by a running Gantry (${who})`)
  }
}

function read<T>(path: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
