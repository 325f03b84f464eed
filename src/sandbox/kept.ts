import type { Micros } from '../lib/time.ts'
import type { SandboxRecord } from './lifecycle.ts'
import type { Sandbox, State, Usage } from './sandbox.ts'
import { DEFAULT_SPECS } from './specs.ts'

/** A sandbox under the keeper's eye. */
export interface Kept {
  readonly createdAt: Micros
  record: SandboxRecord
  /** What it was when last looked at. */
  seen: State | undefined
  /** What a person should know: progress, or what is wrong. */
  detail: string | null
  /** Milliseconds since 1970. */
  lastUsed: number
}

export interface Entry extends Kept {
  version: number
  commands: number
  measured: number
  usage: Usage | undefined
  /** This server has it in hand; what an earlier one started must be taken over first. */
  adopted: boolean
  /** The way into its life, once somebody asked for it. */
  way: Sandbox | undefined
  /** What it was started with is not what it should have. */
  stale: boolean
  /** Ends what is being done about it, when something else is wanted. */
  abort: AbortController
  turn: Promise<void>
  writes: Promise<void>
}

/** It runs, and not by our doing. */
export const isStrange = ({ seen, adopted, record }: Entry): boolean =>
  seen === 'running' && !adopted && record.want === 'running'

export const newEntry = (record: SandboxRecord, createdAt: Micros, version: number): Entry => ({
  record,
  createdAt,
  version,
  seen: undefined,
  detail: null,
  lastUsed: Date.now(),
  commands: 0,
  measured: 0,
  usage: undefined,
  adopted: false,
  way: undefined,
  stale: false,
  abort: new AbortController(),
  turn: Promise.resolve(),
  writes: Promise.resolve(),
})

/** Its files may still be there, and it can be deleted. */
export const unreadable = (id: string): SandboxRecord => ({
  id,
  spec: DEFAULT_SPECS[0]!,
  want: 'running',
  idle: false,
  made: true,
  failure: 'Its record is damaged on disk',
})
