import { h } from './dom.ts'
import { type LogEvent, message, render } from './events.ts'

/** Elements kept on the page; a log can be much longer. */
const MOST_SHOWN = 2000
const FOLLOW_WITHIN_PX = 80
const RETRY_MS = 3000

export interface Timeline {
  element: HTMLElement
  close(): void
}

export interface TimelineHooks {
  onEvent(event: LogEvent): void
  /** The server ended the stream. Tells whether it makes sense to open it again. */
  onLost(): Promise<boolean>
}

/** The events of a conversation, from its first one on, live. */
export function timeline(conversationId: string, hooks: TimelineHooks): Timeline {
  const shown = new Map<string, HTMLElement>()
  const list = h('div', { className: 'timeline', role: 'log', ariaLabel: 'Events', tabIndex: 0 })
  const trimmed = h('p', { className: 'quiet line' }, 'Earlier events are not shown here.')
  const connection = h('p', { className: 'quiet connection', role: 'status' })
  let draft: HTMLElement | undefined
  let draftText = ''
  let following = true
  let scrolling = false
  let source: EventSource | undefined
  let closed = false

  let scrolledTo = 0
  list.addEventListener('scroll', () => {
    const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < FOLLOW_WITHIN_PX
    // Away from the end without having moved up: the list got longer or lower, nobody scrolled.
    if (isAtEnd) following = true
    else if (list.scrollTop < scrolledTo) following = false
    scrolledTo = list.scrollTop
  })

  // The composer below may grow, and take room from here.
  new ResizeObserver(() => follow()).observe(list)

  function follow(): void {
    if (!following || scrolling) return
    scrolling = true
    requestAnimationFrame(() => {
      scrolling = false
      list.scrollTop = list.scrollHeight
    })
  }

  function dropDraft(): void {
    draft?.remove()
    draft = undefined
    draftText = ''
  }

  function write(event: LogEvent): void {
    if (!event.content) return
    draftText += event.content
    const element = message(event, draftText)
    element.classList.add('draft')
    if (draft) draft.replaceWith(element)
    else list.append(element)
    draft = element
  }

  function add(event: LogEvent): void {
    if (shown.has(event.id)) return
    hooks.onEvent(event)
    if (event.kind === 'StreamingDeltaEvent') write(event)
    else {
      if (event.source === 'agent') dropDraft()
      const element = render(event)
      if (!element) return
      const action = event.action_id === undefined ? undefined : shown.get(event.action_id)
      if (action) action.append(element)
      else list.append(element)
      shown.set(event.id, element)
      trim()
    }
    follow()
  }

  function trim(): void {
    if (shown.size <= MOST_SHOWN) return
    const [oldest] = shown
    if (!oldest) return
    shown.delete(oldest[0])
    oldest[1].remove()
    if (!trimmed.isConnected) list.prepend(trimmed)
  }

  function listen(): void {
    list.replaceChildren()
    shown.clear()
    dropDraft()
    const stream = new EventSource(`api/conversations/${conversationId}/events/stream`)
    source = stream
    let reason = ''
    stream.onopen = () => {
      reason = ''
      connection.textContent = ''
    }
    stream.onmessage = ({ data }) => add(JSON.parse(data))
    stream.addEventListener('close', ({ data }) => {
      reason = JSON.parse(data).reason
    })
    stream.onerror = async () => {
      connection.textContent = `${reason || 'The connection was lost'}; trying again…`
      if (stream.readyState !== EventSource.CLOSED) return
      await new Promise(resolve => setTimeout(resolve, RETRY_MS))
      if (closed) return
      if ((await hooks.onLost()) && !closed) listen()
      else connection.textContent = ''
    }
  }

  listen()
  return {
    element: h('div', { className: 'timeline-frame' }, list, connection),
    close() {
      closed = true
      source?.close()
    },
  }
}
