import type { SandboxStatus } from '../api/sandboxes.ts'
import type { Sight, State } from './sandbox.ts'
import type { SandboxSpec } from './specs.ts'

/** What is remembered of a sandbox, written before anything is done about it. */
export interface SandboxRecord {
  id: string
  spec: SandboxSpec
  want: 'running' | 'paused' | 'gone'
  /** Nobody asked for the pause: whoever uses it wakes it. */
  idle: boolean
  /** It has been running once: what is not there any more is lost, not yet to be made. */
  made: boolean
  /** Why it does not run although it should. Nothing more is tried until somebody asks for it. */
  failure: string | null
  /** Made for conversations: it goes with the last of them. */
  lodging?: true
}

export type Step = 'start' | 'pause' | 'resume' | 'remove' | 'forget'

/** What brings a sandbox nearer to what is wanted; undefined when nothing does, or nothing needs to. */
export function nextStep(record: SandboxRecord, state: State): Step | undefined {
  if (record.want === 'gone') return state === 'absent' ? 'forget' : 'remove'
  if (record.want === 'paused') return state === 'running' ? 'pause' : undefined
  if (record.failure !== null || isLost(record, state)) return undefined
  return state === 'running' ? undefined : state === 'paused' ? 'resume' : 'start'
}

/** Its files are gone. An empty sandbox in their place would hide that. */
export const isLost = ({ made, want }: SandboxRecord, state: State): boolean =>
  made && want !== 'gone' && state === 'absent'

/** As it is seen from outside. `seen` is undefined while that is being found out. */
export function statusOf(record: SandboxRecord, seen: State | undefined): SandboxStatus {
  if (record.want === 'gone' || (seen && isLost(record, seen))) return 'MISSING'
  if (record.want === 'paused') return seen === 'running' ? 'RUNNING' : 'PAUSED'
  if (record.failure !== null) return 'ERROR'
  return seen === 'running' ? 'RUNNING' : 'STARTING'
}

/** A sandbox that ended by itself must not be started over and over. */
export const failureOf = ({ want, made, failure }: SandboxRecord, sight: Sight): string | undefined =>
  want === 'running' && made && failure === null ? sight.failure : undefined

export interface Use {
  /** Milliseconds since 1970. */
  lastUsed: number
  /** Commands in it, or conversations that work in it. */
  busy: boolean
}

/** What time alone asks for. */
export function due(
  { spec, want, failure }: SandboxRecord,
  { lastUsed, busy }: Use,
  now: number,
): 'pause' | 'delete' | undefined {
  if (busy || want === 'gone') return undefined
  const unused = (now - lastUsed) / 1000
  if (spec.delete_after_seconds > 0 && unused >= spec.delete_after_seconds) return 'delete'
  const idle = spec.idle_seconds > 0 && unused >= spec.idle_seconds
  return idle && want === 'running' && failure === null ? 'pause' : undefined
}
