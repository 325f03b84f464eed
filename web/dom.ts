import { parseTime } from '../src/lib/time.ts'
import { wordsOf } from './http.ts'

export type Content = Node | string

/** Makes an element. Data goes in as properties and text nodes, never as markup. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...content: Content[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  Object.assign(element, properties)
  element.append(...content)
  return element
}

export function byId(id: string): HTMLElement {
  const element = document.getElementById(id)
  if (!element) throw new Error(`The page has no #${id}`)
  return element
}

export const field = (label: string, control: HTMLElement, hint = ''): HTMLLabelElement =>
  h('label', { className: 'field' }, h('span', {}, label), control, ...(hint ? [h('small', {}, hint)] : []))

export const button = (label: string, className = ''): HTMLButtonElement => h('button', { className }, label)

/** A form that is sent once at a time and says in words what went wrong. */
export function form(className: string, send: () => Promise<unknown>, ...content: Content[]): HTMLFormElement {
  const problem = h('p', { className: 'problem', role: 'alert', hidden: true })
  const element = h('form', { className, ariaBusy: 'false' }, ...content, problem)
  element.addEventListener('submit', async event => {
    event.preventDefault()
    if (element.ariaBusy === 'true') return
    element.ariaBusy = 'true'
    problem.hidden = true
    try {
      await send()
    } catch (error) {
      problem.textContent = wordsOf(error)
      problem.hidden = false
    } finally {
      element.ariaBusy = 'false'
    }
  })
  return element
}

/** Opens a modal dialog; it is gone when closed. */
export function openDialog(title: string, content: (close: () => void) => Content[]): HTMLDialogElement {
  const element = h('dialog', { ariaLabel: title })
  element.append(h('h2', {}, title), ...content(() => element.close()))
  element.addEventListener('close', () => element.remove())
  document.body.append(element)
  element.showModal()
  return element
}

/** Content that is made when it is first unfolded. */
export function folded(summary: Content, make: () => Content[], className = ''): HTMLDetailsElement {
  const element = h('details', { className }, h('summary', {}, summary))
  element.addEventListener('toggle', () => element.append(...make()), { once: true })
  return element
}

export const json = (value: unknown): HTMLPreElement => h('pre', {}, JSON.stringify(value, null, 2) ?? '')

/** The time of day for today, the day otherwise; the server's timestamps are UTC with or without saying so. */
export function when(timestamp: string): HTMLTimeElement {
  const at = new Date((parseTime(timestamp) ?? 0) / 1000)
  const today = at.toDateString() === new Date().toDateString()
  const text = today
    ? at.toLocaleTimeString([], { timeStyle: 'short' })
    : at.toLocaleDateString([], { dateStyle: 'medium' })
  return h('time', { dateTime: at.toISOString(), title: at.toLocaleString() }, text)
}
