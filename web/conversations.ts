import { parseTime } from '../src/lib/time.ts'
import { button, form, h, when } from './dom.ts'
import { type Api, wordsOf } from './http.ts'

export interface Conversation {
  id: string
  title?: string | null
  execution_status: string
  updated_at: string
  workspace?: { working_dir?: string }
}

interface Page {
  items: Conversation[]
  next_page_id?: string | null
}

const statusWords: Record<string, string> = {
  idle: 'Idle',
  running: 'Running',
  paused: 'Paused',
  waiting_for_confirmation: 'Waiting for you',
  finished: 'Finished',
  error: 'Error',
  stuck: 'Stuck',
  deleting: 'Deleting',
}

export const titleOf = (conversation: Conversation): string => conversation.title || 'Untitled conversation'

export const wordFor = (status: string): string => statusWords[status] ?? status

export function statusBadge(status: string): HTMLElement {
  const element = h('span', { className: 'status' }, wordFor(status))
  element.dataset.status = status
  return element
}

export interface ConversationList {
  element: HTMLElement
  /** Reads the newest page again, by default as somebody who can be asked for the key. */
  refresh(via?: Api): Promise<void>
  select(id: string | undefined): void
  newest(): Conversation | undefined
}

export function conversationList(api: Api): ConversationList {
  const known = new Map<string, Conversation>()
  const rows = new Map<string, HTMLLIElement>()
  const list = h('ul', { className: 'conversations' })
  const note = h('p', { className: 'quiet', role: 'status' })
  const more = form('more', () => read(api, nextPage), button('Show more'))
  more.hidden = true
  let nextPage: string | undefined
  let selected: string | undefined

  const inOrder = () => [...known.values()].sort((a, b) => timeOf(b) - timeOf(a))

  function show(): void {
    const wanted = inOrder()
    for (const [id, row] of rows) {
      if (known.has(id)) continue
      row.remove()
      rows.delete(id)
    }
    wanted.forEach((conversation, index) => {
      const row = rows.get(conversation.id) ?? h('li')
      rows.set(conversation.id, row)
      fill(row, conversation, conversation.id === selected)
      // A row that stays where it is keeps the keyboard's focus.
      if (list.children[index] !== row) list.insertBefore(row, list.children[index] ?? null)
    })
    more.hidden = nextPage === undefined
  }

  async function read(via: Api, pageId?: string): Promise<void> {
    const query = new URLSearchParams({ limit: '20', sort_order: 'UPDATED_AT_DESC' })
    if (pageId) query.set('page_id', pageId)
    const page = await via<Page>('GET', `api/conversations/search?${query}`)
    const oldest = page.items.at(-1)
    if (!pageId) {
      const covered = (one: Conversation) => !page.next_page_id || (oldest && timeOf(one) >= timeOf(oldest))
      for (const one of known.values()) if (covered(one)) known.delete(one.id)
    }
    // Older pages that are already shown stay, and so does the way on from them.
    const isLast = !oldest || inOrder().every(one => timeOf(one) >= timeOf(oldest))
    for (const one of page.items) known.set(one.id, one)
    if (isLast) nextPage = page.next_page_id ?? undefined
    note.textContent = known.size === 0 ? 'No conversations yet.' : ''
    show()
  }

  return {
    element: h(
      'div',
      { className: 'sidebar' },
      h('a', { className: 'button primary', href: '#/new' }, 'New conversation'),
      list,
      note,
      more,
    ),
    async refresh(via = api) {
      await read(via).catch(error => {
        note.textContent = wordsOf(error)
      })
    },
    select(id) {
      selected = id
      show()
    },
    newest: () => inOrder()[0],
  }
}

const timeOf = (conversation: Conversation): number => parseTime(conversation.updated_at) ?? 0

/** Writes a row's content anew only where it changed, so that nothing flickers or loses focus. */
function fill(row: HTMLLIElement, conversation: Conversation, current: boolean): void {
  const signature = JSON.stringify([titleOf(conversation), conversation.execution_status, conversation.updated_at])
  if (row.dataset.shows !== signature) {
    row.dataset.shows = signature
    const link = row.querySelector('a') ?? h('a', { href: `#/c/${conversation.id}` })
    link.replaceChildren(
      h('span', { className: 'title' }, titleOf(conversation)),
      h('span', { className: 'quiet directory' }, conversation.workspace?.working_dir ?? ''),
      h('span', { className: 'quiet meta' }, statusBadge(conversation.execution_status), when(conversation.updated_at)),
    )
    if (!link.isConnected) row.append(link)
  }
  const link = row.querySelector('a')
  if (link) link.ariaCurrent = current ? 'page' : null
}
