import type { SecurityRisk } from '../../api/security.ts'
import type { Call } from './call.ts'

/** How bad something is, for certain. */
export type Level = Exclude<SecurityRisk, 'UNKNOWN'>

/** What the commands before it, in the same text, say about a call. */
export interface Scene {
  /** Where it runs, if that can be seen. */
  dir: string
  /** Variables that hold something fetched or decoded. */
  tainted: ReadonlySet<string>
  /** Names of files that were fetched. */
  fetched: ReadonlySet<string>
}

export interface Rule {
  id: string
  /** For people: what it is about. */
  why: string
  judge(call: Call, scene: Scene): Level
}

const ORDER: Level[] = ['LOW', 'MEDIUM', 'HIGH']

export const worst = (levels: Iterable<Level>): Level => {
  let found = 0
  for (const level of levels) found = Math.max(found, ORDER.indexOf(level))
  return ORDER[found]!
}
export const isWorse = (one: Level, other: Level): boolean => ORDER.indexOf(one) > ORDER.indexOf(other)
