import type { MessageEvent } from '../../../src/api/events.ts'
import { Markdown } from '../../ui/markdown.tsx'
import { plural, t } from '../../words.ts'
import type { Draft } from '../session.ts'
import { Said } from './content.tsx'
import { Fold } from './fold.tsx'

interface Thoughtful {
  reasoning_content?: string | null
  thinking_blocks?: readonly object[] | null
  responses_reasoning_item?: { summary?: readonly string[] } | null
}

/** What a model told of its thinking, by whichever way its provider has. */
export function reasoningOf({
  reasoning_content: plain,
  thinking_blocks: blocks,
  responses_reasoning_item: item,
}: Thoughtful): string {
  if (plain) return plain
  const thoughts = (blocks ?? []).flatMap(block => ('thinking' in block ? [String(block.thinking)] : []))
  return [...thoughts, ...(item?.summary ?? [])].join('\n\n')
}

export const Reasoning = ({ id, text }: { id: string; text: string }) =>
  text.trim() ? (
    <Fold id={`${id}-reasoning`} class="reasoning" title={t('Thought for a moment')}>
      {() => <Markdown text={text} />}
    </Fold>
  ) : null

export function Message({ event }: { event: MessageEvent }) {
  const { llm_message: message, activated_skills: skills, extended_content: extended } = event
  const added = (extended ?? []).map(({ text }) => text).join('\n\n')
  return (
    <div class="message" data-from={event.source}>
      <Reasoning id={event.id} text={reasoningOf(message)} />
      <div class="message-text">
        <Said parts={message.content} />
      </div>
      {(skills.length > 0 || added) && (
        <Fold
          id={`${event.id}-added`}
          class="quiet"
          title={skills.length > 0 ? skillWords(skills) : t('Context was added')}
        >
          {() => <Markdown text={added || skills.map(name => `- ${name}`).join('\n')} />}
        </Fold>
      )}
    </div>
  )
}

const skillWords = (skills: readonly string[]): string =>
  plural(skills.length, 'Skill: {names}', 'Skills: {names}').replace('{names}', skills.join(', '))

/** What the agent is just saying, where it will stand. Its thinking is open until it begins to speak. */
export const Writing = ({ draft }: { draft: Draft }) => (
  <div class="entry" aria-busy="true">
    <div class="message" data-from="agent">
      {draft.reasoning.trim() && !draft.text && (
        <div class="reasoning">
          <p class="thinking">{t('Thinking…')}</p>
          <div class="fold-body">
            <Markdown text={draft.reasoning} />
          </div>
        </div>
      )}
      {draft.reasoning.trim() && draft.text && <Reasoning id="draft" text={draft.reasoning} />}
      <div class="message-text">{inTwo(draft.text).map((part, at) => part && <Markdown key={at} text={part} />)}</div>
    </div>
  </div>
)

/** What will not change any more, and the block that is being written: only that is parsed again with every word. */
function inTwo(text: string): [done: string, rest: string] {
  const at = text.lastIndexOf('\n\n')
  const isInCode = (text.slice(0, at).match(/^ {0,3}(?:```|~~~)/gm)?.length ?? 0) % 2 === 1
  return at < 0 || isInCode ? ['', text] : [text.slice(0, at), text.slice(at)]
}
