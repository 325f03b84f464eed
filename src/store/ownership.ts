import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

export interface Owner {
  pid: number
  since: string
}

/**
 * One server per data folder. The lock is a transaction held open on a file of its own: the kernel lets go of it when
 * the process ends, however it ends, so there is never a stale one to judge.
 */
export class Ownership {
  readonly #lock: DatabaseSync

  /** Throws `AlreadyOwned` when another server has the folder. */
  static take(folder: string, owner: Owner): Ownership {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const note = join(folder, 'owner.json')
    const lock = new DatabaseSync(join(folder, 'owner.lock'), { timeout: 0 })
    try {
      lock.exec('PRAGMA journal_mode = DELETE; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    } catch (error) {
      lock.close()
      if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error
      throw new AlreadyOwned(folder, readOwner(note))
    }
    writeFileSync(`${note}.new`, JSON.stringify(owner), { mode: 0o600 })
    renameSync(`${note}.new`, note)
    return new Ownership(lock)
  }

  private constructor(lock: DatabaseSync) {
    this.#lock = lock
  }

  close(): void {
    this.#lock.close()
  }
}

const SQLITE_BUSY = 5

export class AlreadyOwned extends Error {
  constructor(folder: string, owner: Owner | undefined) {
    const who = owner ? `process ${owner.pid}, since ${owner.since}` : 'another process'
    super(`The data folder ${folder} is in use by a running Gantry (${who})`)
  }
}

function readOwner(note: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(note, 'utf8'))
  } catch {
    return undefined
  }
}
