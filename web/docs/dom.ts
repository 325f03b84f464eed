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

/** Content that is made when it is first unfolded. */
export function folded(summary: Content, make: () => Content[], className = ''): HTMLDetailsElement {
  const element = h('details', { className }, h('summary', {}, summary))
  element.addEventListener('toggle', () => element.append(...make()), { once: true })
  return element
}
