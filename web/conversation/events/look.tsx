import type { ComponentChildren } from 'preact'
import type { ActionEvent, Event, ObservationEvent } from '../../../src/api/events.ts'
import type { IconName } from '../../ui/icon.tsx'
import { fileLooks } from './files.tsx'
import { otherLook, otherLooks } from './others.tsx'
import { planLooks } from './plan.tsx'
import { taskLooks } from './tasks.tsx'
import { terminalLooks } from './terminal.tsx'

export interface Word {
  text: string
  isCode?: boolean
  isPath?: boolean
}

/** How the card of an action looks. */
export interface Look {
  icon: IconName
  /** What was done, in one line. */
  words: readonly Word[]
  chips?: ComponentChildren
  body?: () => ComponentChildren
  /** Whether it is shown without being asked for. */
  isOpen: boolean
  /** Whether the body, or the line, tells what came of it. */
  tellsResult: boolean
}

export type ActionOf<K extends string> = Extract<NonNullable<ActionEvent['action']>, { kind: K }>
export type ObservationOf<K extends string> = Extract<ObservationEvent['observation'], { kind: K }>
export type Looks = Readonly<Record<string, (event: ActionEvent, result: ObservationEvent | undefined) => Look>>

const LOOKS: Looks = { ...terminalLooks, ...fileLooks, ...planLooks, ...taskLooks, ...otherLooks }

export function lookOf(event: ActionEvent, result: Event | undefined): Look {
  const kind = event.action?.kind ?? ''
  const look = Object.hasOwn(LOOKS, kind) ? LOOKS[kind]! : otherLook
  return look(event, result?.kind === 'ObservationEvent' ? result : undefined)
}
