import { byId, type Content, field, h } from './dom.ts'
import { call, wordsOf } from './http.ts'
import { byTag, type Endpoint, type OpenApi } from './openapi.ts'
import { operationView } from './operation.ts'
import { schemasOf } from './schema.ts'

interface Row {
  element: HTMLDetailsElement
  text: string
}

interface Group {
  element: HTMLElement
  link: HTMLAnchorElement
  rows: Row[]
}

const searchText = ({ id, method, path, summary, tag }: Endpoint): string =>
  [id, method, path, summary, tag].join(' ').toLowerCase()

function groupsOf(document: OpenApi, sessionKey: () => string): Group[] {
  const schemas = schemasOf(document)
  return [...byTag(document)].map(([tag, endpoints]) => {
    const rows = endpoints.map(endpoint => ({
      element: operationView(endpoint, schemas, sessionKey),
      text: searchText(endpoint),
    }))
    const about = document.tags?.find(({ name }) => name === tag)?.description
    const id = `tag/${tag}`
    const head: Content[] = [h('h2', {}, tag), ...(about ? [h('p', { className: 'quiet' }, about)] : [])]
    const element = h('section', { id, className: 'tag' }, ...head, ...rows.map(row => row.element))
    return { element, rows, link: h('a', { href: `#${encodeURIComponent(id)}` }, tag) }
  })
}

/** Every word must be somewhere in an operation's method, path, summary, tag or id. */
function filter(groups: Group[], query: string): number {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  let found = 0
  for (const { element, link, rows } of groups) {
    const matching = rows.filter(row => {
      row.element.hidden = !words.every(word => row.text.includes(word))
      return !row.element.hidden
    })
    element.hidden = link.hidden = matching.length === 0
    found += matching.length
  }
  return found
}

/** Opens what the address names: an operation by its id, or a group. */
function openTarget(): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (!target) return
  target.hidden = false
  if (target instanceof HTMLDetailsElement) {
    target.open = true
    target.querySelector('summary')?.focus({ preventScroll: true })
  }
  target.scrollIntoView()
}

async function start(): Promise<void> {
  const main = byId('main')
  const description = await call<OpenApi>('GET', 'openapi.json')
  const key = h('input', { type: 'password', autocomplete: 'off' })
  const query = h('input', { type: 'search', placeholder: 'conversations get', autocomplete: 'off' })
  const count = h('p', { className: 'quiet', role: 'status' })
  const groups = groupsOf(description, () => key.value)

  const apply = () => {
    const found = filter(groups, query.value)
    count.textContent = found === 1 ? '1 operation' : `${found} operations`
  }
  query.addEventListener('input', apply)
  apply()

  const { title = '', version = '' } = description.info ?? {}
  byId('about').textContent = `${title} ${version}`.trim()
  byId('tags').append(...groups.map(({ link }) => link))
  main.replaceChildren(
    h('h1', {}, 'API'),
    h(
      'div',
      { className: 'pair' },
      field('Filter', query),
      field('Session key', key, 'Optional when you are signed in. Kept until you leave this page.'),
    ),
    count,
    ...groups.map(({ element }) => element),
  )
  for (const { element } of groups.flatMap(({ rows }) => rows)) {
    element.addEventListener('toggle', () => {
      if (element.open) history.replaceState(null, '', `#${encodeURIComponent(element.id)}`)
    })
  }
  window.addEventListener('hashchange', openTarget)
  openTarget()
}

start().catch(error => {
  byId('main').replaceChildren(h('p', { className: 'problem', role: 'alert' }, wordsOf(error)))
})
