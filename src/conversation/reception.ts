import type { Content } from '../api/common.ts'
import { type Draft, stateUpdate } from '../api/draft.ts'
import type { Addition } from './conversation.ts'
import type { Session } from './session.ts'
import { isBare, type State } from './state.ts'

/** What goes into the log with a message. */
export interface Reception {
  /** Before it: the prompt, should it be the first, and what hooks have to say. */
  before(state: State): Draft[]
  addition(state: State): Addition
  /** Why a hook does not let it through. It is kept, and the agent does not see it. */
  blocked: string | undefined
}

/** Has everything that is to be known about a message found out before it is on record. Fails for nothing but the signal. */
export async function receive(
  session: Session,
  content: readonly Content[],
  isFirst: boolean,
  signal: AbortSignal,
): Promise<Reception> {
  await session.ready(signal)
  const message = content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('\n')
  const starts = isFirst ? await session.hook('SessionStart', {}, signal) : []
  const hooks = await session.hook('UserPromptSubmit', { message }, signal)
  const context = [...starts, ...hooks].flatMap(({ additionalContext }) => additionalContext ?? [])
  const block = hooks.find(({ blocked }) => blocked)
  return {
    before: state => [
      ...(isBare(state)
        ? opening(
            session,
            starts.map(({ event }) => event),
          )
        : []),
      ...hooks.map(({ event }) => event),
    ],
    addition: state => {
      const added = session.addition(message, state.activated_knowledge_skills)
      const more = context.map(text => ({ type: 'text' as const, text, cache_prompt: false }))
      return { ...added, extended_content: [...added.extended_content, ...more] }
    },
    blocked: block && (block.reason ?? 'A hook blocked the message.'),
  }
}

const opening = (session: Session, hooks: readonly Draft[]): Draft[] => [
  ...(session.order.hook_config ? [stateUpdate('hook_config', session.order.hook_config)] : []),
  ...hooks,
  session.introduction(),
]
