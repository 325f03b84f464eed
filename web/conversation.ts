import { type Conversation, statusBadge, titleOf } from './conversations.ts'
import { button, type Content, field, form, h, openDialog } from './dom.ts'
import type { LogEvent } from './events.ts'
import type { Api, Method } from './http.ts'
import { HttpError, wordsOf } from './http.ts'
import { timeline } from './timeline.ts'

export interface View {
  element: HTMLElement
  close(): void
}

export interface ConversationHooks {
  /** Its title or status is another now. */
  onChange(): void
  onDeleted(): void
}

export function conversationView(api: Api, id: string, hooks: ConversationHooks): View {
  const path = `api/conversations/${id}`
  const title = h('h1', {}, '…')
  const about = h('p', { className: 'quiet about' })
  const controls = h('div', { className: 'row controls' })
  let conversation: Conversation | undefined
  let closed = false

  const post = (action: string, body?: unknown) => () => api<unknown>('POST', `${path}/${action}`, body)
  const control = (label: string, run: () => Promise<unknown>, className = '') =>
    form('inline', run, button(label, className))

  const goOn = () => [control('Go on', post('run'), 'primary')]
  const controlsFor: Record<string, () => Content[]> = {
    running: () => [control('Pause', post('pause')), control('Stop', post('interrupt'))],
    idle: goOn,
    paused: goOn,
    error: goOn,
    stuck: goOn,
    waiting_for_confirmation: () => {
      const reason = h('input', { placeholder: 'Why not? (optional)', ariaLabel: 'Reason to reject' })
      const reject = () => {
        const why = reason.value.trim()
        return post('events/respond_to_confirmation', { accept: false, ...(why && { reason: why }) })()
      }
      return [
        h('span', {}, 'The agent asks before it acts.'),
        control('Approve', post('events/respond_to_confirmation', { accept: true }), 'primary'),
        form('inline', reject, reason, button('Reject', '')),
      ]
    },
  }

  function show(next: Conversation): void {
    const changed = next.execution_status !== conversation?.execution_status
    conversation = next
    title.textContent = titleOf(next)
    document.title = `${titleOf(next)} · Gantry`
    about.replaceChildren(statusBadge(next.execution_status), h('span', {}, next.workspace?.working_dir ?? ''))
    if (changed) controls.replaceChildren(...(controlsFor[next.execution_status]?.() ?? []))
  }

  /** False when asking again would bring the same answer. */
  async function read(): Promise<boolean> {
    try {
      const next = await api<Conversation>('GET', path)
      if (!closed) show(next)
      return true
    } catch (error) {
      const status = error instanceof HttpError ? error.status : 0
      title.textContent = status === 404 ? 'No such conversation' : 'Not available'
      about.textContent = wordsOf(error)
      return status === 0 || status >= 500
    }
  }

  function onEvent({ kind, key, value }: LogEvent): void {
    if (kind !== 'ConversationStateUpdateEvent') return
    const status = key === 'full_state' ? (value as Conversation | null)?.execution_status : value
    if (key !== 'execution_status' && key !== 'full_state') return
    if (!conversation || typeof status !== 'string' || status === conversation.execution_status) return
    show({ ...conversation, execution_status: status })
    settle()
  }

  /** A replayed log changes state many times in a moment: what is true now is read once, after it. */
  let settling: ReturnType<typeof setTimeout> | undefined
  function settle(): void {
    clearTimeout(settling)
    settling = setTimeout(async () => {
      await read()
      hooks.onChange()
    }, 300)
  }

  const events = timeline(id, { onEvent, onLost: read })
  read()
  return {
    element: h(
      'section',
      { className: 'conversation' },
      h(
        'header',
        { className: 'bar' },
        h('a', { className: 'back', href: '#/' }, '‹ All conversations'),
        h('div', { className: 'naming' }, title, about),
        h('div', { className: 'row' }, renaming(), deletion()),
      ),
      events.element,
      controls,
      composer(text => api('POST', `${path}/events`, userMessage(text))),
    ),
    close() {
      closed = true
      clearTimeout(settling)
      events.close()
    },
  }

  function renaming(): HTMLElement {
    const open = () => {
      const name = h('input', { value: conversation?.title ?? '', required: true, maxLength: 200 })
      ask(
        'Rename',
        'PATCH',
        () => ({ title: name.value.trim() }),
        field('Title', name),
        button('Rename', 'primary'),
        async () => {
          await read()
          hooks.onChange()
        },
      )
      name.select()
    }
    return h('button', { type: 'button', onclick: open }, 'Rename')
  }

  function deletion(): HTMLElement {
    const open = () => {
      const warning = h('p', {}, 'Its events are gone for good.')
      ask('Delete this conversation?', 'DELETE', () => undefined, warning, button('Delete', 'danger'), hooks.onDeleted)
    }
    return h('button', { type: 'button', onclick: open }, 'Delete')
  }

  function ask(
    question: string,
    method: Method,
    body: () => unknown,
    content: Content,
    yes: HTMLButtonElement,
    done: () => unknown,
  ): void {
    openDialog(question, close => [
      form(
        'stack',
        async () => {
          await api(method, path, body())
          close()
          await done()
        },
        content,
        h(
          'div',
          { className: 'row' },
          yes,
          h('button', { type: 'button', autofocus: method === 'DELETE', onclick: close }, 'Cancel'),
        ),
      ),
    ])
  }
}

export const userMessage = (text: string) => ({ role: 'user', content: [{ type: 'text', text }], run: true })

function composer(send: (text: string) => Promise<unknown>): HTMLFormElement {
  const text = h('textarea', { rows: 2, required: true, placeholder: 'Message the agent', ariaLabel: 'Message' })
  const element = form(
    'composer',
    async () => {
      const words = text.value.trim()
      if (!words) return
      await send(words)
      text.value = ''
    },
    text,
    button('Send', 'primary'),
    h('small', { className: 'quiet' }, 'Enter sends, Shift+Enter starts a new line.'),
  )
  text.addEventListener('keydown', event => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    element.requestSubmit()
  })
  return element
}
