import { type ReadonlySignal, signal } from '@preact/signals'
import { wordsOf } from '../api.ts'
import { t } from '../words.ts'
import { Icon } from './icon.tsx'

const SHOWN_MS = 6000

export interface Toast {
  id: number
  kind: 'good' | 'bad'
  text: string
}

/** Short news in a corner, read out by screen readers. What must not be missed stands where it happened instead. */
export interface Toasts {
  readonly items: ReadonlySignal<readonly Toast[]>
  say(text: string): void
  complain(error: unknown): void
  drop(id: number): void
}

export function makeToasts(): Toasts {
  const items = signal<readonly Toast[]>([])
  let last = 0
  const drop = (id: number) => {
    items.value = items.value.filter(one => one.id !== id)
  }
  const add = (kind: Toast['kind'], text: string) => {
    const id = ++last
    items.value = [...items.value.slice(-3), { id, kind, text }]
    setTimeout(() => drop(id), SHOWN_MS)
  }
  return { items, drop, say: text => add('good', text), complain: error => add('bad', wordsOf(error)) }
}

export const ToastList = ({ toasts }: { toasts: Toasts }) => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.items.value.map(({ id, kind, text }) => (
      <div key={id} class="toast" data-kind={kind}>
        <span>{text}</span>
        <button type="button" class="icon" aria-label={t('Dismiss')} onClick={() => toasts.drop(id)}>
          <Icon name="close" />
        </button>
      </div>
    ))}
  </div>
)
