import { fault } from '../api/errors.ts'
import type { SendMessageRequest } from '../api/events.ts'
import { newId } from '../lib/id.ts'
import { type Draft, stateUpdate, statusUpdate } from './draft.ts'
import type { Change } from './journal.ts'
import type { State } from './state.ts'

// Commands: what is asked, on what is, gives what shall be. Nothing here touches the world.

/** A user's message. It wakes nothing by itself, and answers no pending question. */
export function message(state: State, { role, content }: Pick<SendMessageRequest, 'role' | 'content'>): Change {
  if (role !== 'user') throw fault('invalid_request', `Only a user can send a message, not '${role}'`)
  const drafts: Draft[] = []
  if (state.execution_status === 'finished' || state.execution_status === 'stuck') drafts.push(statusUpdate('idle'))
  const id = newId()
  drafts.push(
    {
      kind: 'MessageEvent',
      id,
      source: 'user',
      llm_message: { role: 'user', content, thinking_blocks: [] },
      activated_skills: [],
      extended_content: [],
    },
    stateUpdate('last_user_message_id', id),
  )
  return { drafts }
}

/** Title and tags. Tags replace the old ones; a title is no event on the wire. */
export function describe(state: State, given: { title?: string | null; tags?: Record<string, string> | null }): Change {
  const drafts = given.tags && !sameMap(given.tags, state.tags) ? [stateUpdate('tags', given.tags)] : []
  return {
    drafts,
    ...(given.title != null && { title: given.title }),
    touches: given.title != null || drafts.length > 0,
  }
}

const sameMap = (a: Record<string, string>, b: Record<string, string>): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([key, value]) => b[key] === value)
