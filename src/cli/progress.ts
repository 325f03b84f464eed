import type { Followed } from '../../client/follow.ts'
import type { ActionEvent, Event } from '../api/events.ts'
import { gist, type Outcome, outcomeOf, textOf } from './events.ts'
import type { Screen } from './screen.ts'
import { oneLine, output, safe } from './text.ts'

/** The least of a line that an outcome may have. */
const OUTCOME = 20
const BOXES = { todo: '[ ]', in_progress: '[>]', done: '[x]' } as const

/** Shows a conversation as it goes: its words, and one line an action with what came of it. */
export class Progress {
  readonly #screen: Screen
  /** What the person says is shown too: where it was not they who typed it just now. */
  readonly #both: boolean
  /** Actions without a result, by id and by the id of their call. */
  readonly #open = new Map<string, ActionEvent>()
  /** Words that were shown as they came, and belong to an event that is still to come. */
  #draft = ''

  constructor(screen: Screen, both = false) {
    this.#screen = screen
    this.#both = both
  }

  /** Actions that were wanted before anything was shown: what comes of them is still to come. */
  recall(actions: readonly ActionEvent[]): void {
    for (const action of actions) this.#await(action)
  }

  show({ event, passing }: Followed): void {
    if (event.kind === 'StreamingDeltaEvent') this.#piece(event.content ?? '')
    else if (!passing) this.#told(event)
  }

  #told(event: Event): void {
    const screen = this.#screen
    const { style } = screen
    const result = outcomeOf(event)
    if (result) this.#result(result.of, result.outcome)
    else if (event.kind === 'ActionEvent') this.#action(event)
    else if (event.kind === 'MessageEvent') {
      const text = textOf(event.llm_message.content)
      if (event.source === 'agent') this.#say(text)
      else if (this.#both) screen.line(style.cyan(`> ${safe(text).replaceAll('\n', '\n  ')}`))
    } else if (event.kind === 'ConversationErrorEvent' || event.kind === 'ServerErrorEvent')
      screen.line(style.red(`${safe(event.code)}: ${output(event.detail)}`))
    else if (event.kind === 'Condensation') screen.line(style.dim('The older part of the conversation was summarised.'))
    else if (event.kind === 'ConversationStateUpdateEvent' && event.key === 'agent_state' && retries(event.value))
      screen.pass('The model is asked again…')
  }

  #piece(text: string): void {
    if (!this.#screen.isLive) return
    this.#draft += text
    this.#screen.words(safe(text))
  }

  /** The words of an event, as far as they were not shown already. */
  #say(text: string): void {
    const rest = text.startsWith(this.#draft) ? text.slice(this.#draft.length) : `\n${text}`
    this.#draft = ''
    this.#screen.words(safe(rest.trimEnd()))
    this.#screen.endWords()
  }

  #action(event: ActionEvent): void {
    this.#say(textOf(event.thought))
    if (event.action?.kind === 'FinishAction' && 'message' in event.action) {
      this.#say(String(event.action.message))
      return
    }
    this.#await(event)
    this.#screen.pass(`… ${gist(event)}`)
  }

  #await(event: ActionEvent): void {
    this.#open.set(event.id, event)
    this.#open.set(event.tool_call_id, event)
  }

  #result(of: string, { ok, text }: Outcome): void {
    const event = this.#open.get(of)
    if (!event) return
    this.#open.delete(event.id)
    this.#open.delete(event.tool_call_id)
    const { style, width } = this.#screen
    const mark = ok ? style.green('✓') : style.red('✗')
    const what = oneLine(gist(event), Math.max(OUTCOME, width - OUTCOME))
    const came = oneLine(text, Math.max(OUTCOME, width - what.length - 4))
    this.#screen.line(`${mark} ${what}${came ? style.dim(`  ${came}`) : ''}`)
    if (event.action?.kind === 'TaskTrackerAction' && 'task_list' in event.action) this.#plan(event.action.task_list)
  }

  #plan(tasks: unknown): void {
    for (const { title, status } of tasks as { title: string; status: keyof typeof BOXES }[])
      this.#screen.line(`  ${oneLine(`${BOXES[status]} ${safe(title)}`, this.#screen.width - 2)}`)
  }
}

const retries = (value: unknown): boolean => typeof value === 'object' && value !== null && 'llm_retry' in value
