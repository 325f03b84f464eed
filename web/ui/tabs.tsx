import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'

export interface Tab<K extends string> {
  key: K
  label: string
  icon?: IconName
}

export interface TabsProps<K extends string> {
  label: string
  tabs: readonly Tab<K>[]
  current: K
  onSelect: (key: K) => void
  /** What the current one shows. */
  children: ComponentChildren
}

/** Left and right move between them, as screen readers announce. */
export function Tabs<K extends string>({ label, tabs, current, onSelect, children }: TabsProps<K>) {
  const id = useId()
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!step) return
    event.preventDefault()
    const at = tabs.findIndex(tab => tab.key === current)
    const next = tabs.at((at + step) % tabs.length)!
    onSelect(next.key)
    document.getElementById(`${id}-${next.key}`)?.focus()
  }
  return (
    <div class="tabs">
      <div class="tab-list" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map(tab => (
          <button
            key={tab.key}
            id={`${id}-${tab.key}`}
            type="button"
            role="tab"
            aria-selected={tab.key === current}
            aria-controls={`${id}-panel`}
            tabIndex={tab.key === current ? 0 : -1}
            onClick={() => onSelect(tab.key)}
          >
            {tab.icon && <Icon name={tab.icon} />}
            {tab.label}
          </button>
        ))}
      </div>
      <div class="tab-panel" id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${current}`}>
        {children}
      </div>
    </div>
  )
}
