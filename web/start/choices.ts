import { useState } from 'preact/hooks'
import type { Caution } from '../conversation/caution.ts'

/** Where the agent shall work. */
export type PlaceKind = 'folder' | 'repository' | 'sandbox'

/** What a person chose for a new conversation; the next one begins with the same. */
export interface Choices {
  place: PlaceKind
  /** In the default sandbox. */
  folder: string
  /** `owner/name`, or an address. */
  repository: string
  branch: string
  /** Of a sandbox of its own. */
  spec: string
  caution: Caution
  /** In dollars, as typed; empty for none. */
  budget: string
  /** A profile; the active one when empty. */
  profile: string
}

const FIRST: Choices = {
  place: 'folder',
  folder: '/workspace/project',
  repository: '',
  branch: '',
  spec: '',
  caution: 'risky',
  budget: '',
  profile: '',
}

const KEY = 'gantry.start'

function remembered(): Choices {
  try {
    return { ...FIRST, ...JSON.parse(localStorage.getItem(KEY) ?? '{}') }
  } catch {
    return FIRST
  }
}

export type SetChoices = (change: Partial<Choices>) => void

export function useChoices(): [Choices, SetChoices] {
  const [choices, setChoices] = useState(remembered)
  return [
    choices,
    change =>
      setChoices(before => {
        const next = { ...before, ...change }
        localStorage.setItem(KEY, JSON.stringify(next))
        return next
      }),
  ]
}
