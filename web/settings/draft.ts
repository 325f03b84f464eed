import { useState } from 'preact/hooks'
import { isAbout, issuesOf } from './issues.ts'
import { useUnsaved } from './leaving.tsx'

export type Values = Readonly<Record<string, unknown>>

/** What a person has changed of something stored, by key. What goes back to what it was is no change. */
export interface Draft {
  get(key: string): unknown
  /** Undefined is what is stored. */
  set(key: string, value: unknown): void
  readonly changes: Values
  readonly isDirty: boolean
  /** What the server said against a field. */
  problemAt(key: string): string | undefined
  complain(error: unknown): void
  /** What is said for the whole: undefined when every complaint stands at its field. */
  readonly problem: unknown
  /** Forgets the changes: they are saved, or not wanted. */
  clear(): void
  /** Another number after each `clear`: a key for inputs that keep what was typed. */
  readonly turn: number
}

/** `proposed` are changes to begin with; what is undefined among them is none. */
export function useDraft(stored: (key: string) => unknown, proposed: Values = {}): Draft {
  const [changes, setChanges] = useState<Values>(() =>
    Object.fromEntries(Object.entries(proposed).filter(([, value]) => value !== undefined)),
  )
  const [problem, setProblem] = useState<unknown>()
  const [turn, setTurn] = useState(0)
  const isDirty = Object.keys(changes).length > 0
  const letGo = useUnsaved(isDirty)
  const issues = issuesOf(problem)
  const keys = Object.keys(changes)
  const isPlaced = issues.length > 0 && issues.every(issue => keys.some(key => isAbout(issue, key)))
  return {
    get: key => (key in changes ? changes[key] : stored(key)),
    set(key, value) {
      const isBack = value === undefined || same(value, stored(key))
      setChanges(({ [key]: _, ...others }) => (isBack ? others : { ...others, [key]: value }))
    },
    changes,
    isDirty,
    problemAt: key => issues.find(issue => isAbout(issue, key))?.message,
    complain: setProblem,
    problem: isPlaced ? undefined : problem,
    clear() {
      letGo()
      setChanges({})
      setProblem(undefined)
      setTurn(turn + 1)
    },
    turn,
  }
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a ?? null) === JSON.stringify(b ?? null)

/** `{'a.b': 1}` as `{a: {b: 1}}`. */
export function nested(changes: Values): Record<string, unknown> {
  const whole: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(changes)) {
    const path = key.split('.')
    let at = whole
    for (const name of path.slice(0, -1)) {
      at[name] ??= {}
      at = at[name] as Record<string, unknown>
    }
    at[path.at(-1)!] = value
  }
  return whole
}

export const valueAt = (whole: unknown, key: string): unknown =>
  key.split('.').reduce<unknown>((at, name) => (at as Record<string, unknown> | null | undefined)?.[name], whole)
