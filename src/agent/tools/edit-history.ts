import { UNDO_BYTES, UNDO_CHANGES } from './file-limits.ts'
import { digest } from './workspace.ts'

interface Change {
  path: string
  /** Undefined when there was no such file. */
  before: Buffer | undefined
  /** A digest of what the change made of it. */
  after: string
}

/** The latest changes of an editor, for undoing; the oldest are forgotten first. */
export class EditHistory {
  readonly #changes: Change[] = []

  add(path: string, before: Buffer | undefined, after: Buffer): void {
    this.#changes.push({ path, before, after: digest(after) })
    let bytes = this.#changes.reduce((sum, change) => sum + (change.before?.length ?? 0), 0)
    while (this.#changes.length > UNDO_CHANGES || bytes > UNDO_BYTES)
      bytes -= this.#changes.shift()?.before?.length ?? 0
  }

  last(path: string): Change | undefined {
    return this.#changes.findLast(change => change.path === path)
  }

  forget(change: Change): void {
    this.#changes.splice(this.#changes.indexOf(change), 1)
  }
}
