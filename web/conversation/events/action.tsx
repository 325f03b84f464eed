import { useMemo } from 'preact/hooks'
import type { ActionEvent, Event } from '../../../src/api/events.ts'
import { Icon } from '../../ui/icon.tsx'
import { Markdown } from '../../ui/markdown.tsx'
import { t } from '../../words.ts'
import { textOf } from './content.tsx'
import { Duration, Elapsed } from './duration.tsx'
import { useFold, useFrame } from './frame.tsx'
import { lookOf, type Word } from './look.tsx'
import { Reasoning, reasoningOf } from './message.tsx'
import { isFailure, Outcome } from './outcome.tsx'

export interface ActionProps {
  event: ActionEvent
  result: Event | undefined
  isAside: boolean
}

/** What the agent did, and what came of it: one card. */
export function Action({ event, result, isAside }: ActionProps) {
  const thought = textOf(event.thought)
  const before = (
    <>
      <Reasoning id={event.id} text={reasoningOf(event)} />
      {thought.trim() && (
        <div class="message" data-from="agent">
          <div class="message-text">
            <Markdown text={thought} />
          </div>
        </div>
      )}
    </>
  )
  const said = saidBy(event)
  if (said && !isFailure(result))
    return (
      <>
        {before}
        <div class="message" data-from="agent" data-said={event.action?.kind}>
          <div class="message-text">
            <Markdown text={said} />
          </div>
        </div>
      </>
    )
  return (
    <>
      {before}
      <Card event={event} result={result} isAside={isAside} />
    </>
  )
}

/** Of the tools that are for saying something. */
function saidBy({ action }: ActionEvent): string | undefined {
  if (action?.kind === 'FinishAction') return String(action.message)
  if (action?.kind === 'ThinkAction') return String(action.thought)
  return undefined
}

function Card({ event, result, isAside }: ActionProps) {
  const look = useMemo(() => lookOf(event, result), [event, result])
  const stand = useStand(event, result, isAside)
  const failed = isFailure(result)
  const [open, setOpen] = useFold(event.id, look.isOpen || failed || stand === 'asked')
  const body = `${event.id}-body`
  // Without words of its own an action is summed up as its call, which the card shows already.
  const summary = event.summary?.startsWith(`${event.tool_name}:`) ? '' : event.summary
  return (
    <div class="card" data-stand={failed ? 'failed' : stand}>
      <div class="card-head">
        <button
          type="button"
          class="card-title"
          aria-expanded={open}
          aria-controls={body}
          onClick={() => setOpen(!open)}
        >
          <Icon name={look.icon} />
          <span class="card-words">
            {look.words.flatMap(word => [<WordView key={word.text} word={word} />, ' '])}
            {summary && <span class="quiet">{summary}</span>}
          </span>
        </button>
        {look.chips}
        <Risk risk={event.security_risk} />
        {stand === 'asked' && <span class="card-chip card-chip-warn">{t('Waits for your answer')}</span>}
        {stand === 'running' && <Elapsed since={event.timestamp} />}
        {stand === 'open' && <span class="card-chip">{t('No result')}</span>}
        {result && <Duration from={event.timestamp} to={result.timestamp} />}
        <Icon name="chevron" />
      </div>
      <div id={body} class="card-body" hidden={!open}>
        {open && look.body?.()}
        {open && <Outcome event={event} result={result} isTold={look.tellsResult} />}
      </div>
    </div>
  )
}

/** A path within the workspace is told from there. */
function WordView({ word: { text, isCode, isPath } }: { word: Word }) {
  const { session } = useFrame()
  const folder = isPath && session.conversation.value?.workspace.working_dir
  if (folder && text.startsWith(`${folder}/`)) return <code title={text}>{text.slice(folder.length + 1)}</code>
  return isCode || isPath ? <code>{text}</code> : <span>{text}</span>
}

/** How it stands with an action that has no result. */
function useStand(
  event: ActionEvent,
  result: Event | undefined,
  isAside: boolean,
): 'done' | 'asked' | 'running' | 'open' {
  const { session } = useFrame()
  if (result) return 'done'
  if (isAside) return 'open'
  if (session.pending.value.some(({ id }) => id === event.id)) return 'asked'
  return session.conversation.value?.execution_status === 'running' ? 'running' : 'open'
}

const RISKS: Partial<Record<ActionEvent['security_risk'], string>> = { MEDIUM: 'Medium risk', HIGH: 'High risk' }

function Risk({ risk }: { risk: ActionEvent['security_risk'] }) {
  const words = RISKS[risk]
  return words ? <span class={`card-chip card-chip-${risk === 'HIGH' ? 'bad' : 'warn'}`}>{t(words)}</span> : null
}
