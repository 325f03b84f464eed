import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'

export interface MenuItem {
  label: string
  icon?: IconName
  danger?: boolean
  disabled?: boolean
  onSelect: () => unknown
}

export interface MenuProps {
  /** Of the button that opens it. */
  label: string
  icon?: IconName
  /** Beside the icon, or instead of it. */
  children?: ComponentChildren
  items: readonly (MenuItem | false | undefined)[]
}

/** Below the button, or above it where there is no room; out of whatever scrolls around it. */
function placeOf(button: HTMLElement): Record<string, string> {
  const { top, bottom, left, right } = button.getBoundingClientRect()
  const isLow = bottom > window.innerHeight * 0.7
  const isLeft = right < window.innerWidth / 2
  return {
    ...(isLow ? { bottom: `${window.innerHeight - top + 4}px` } : { top: `${bottom + 4}px` }),
    ...(isLeft ? { left: `${left}px` } : { right: `${window.innerWidth - right}px` }),
  }
}

/** A button that opens a list of things to do; arrows move, Escape closes and gives the focus back. */
export function Menu({ label, icon = 'more', children, items }: MenuProps) {
  const root = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const [place, setPlace] = useState<Record<string, string>>()
  const open = place !== undefined
  const setOpen = (wanted: boolean) => setPlace(wanted && button.current ? placeOf(button.current) : undefined)
  const entries = items.filter((item): item is MenuItem => !!item)

  useEffect(() => {
    if (!open) return
    root.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus()
    const outside = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false)
    }
    const moved = () => setOpen(true)
    document.addEventListener('pointerdown', outside)
    document.addEventListener('scroll', moved, true)
    window.addEventListener('resize', moved)
    return () => {
      document.removeEventListener('pointerdown', outside)
      document.removeEventListener('scroll', moved, true)
      window.removeEventListener('resize', moved)
    }
  }, [open])

  const onKeyDown = (event: KeyboardEvent) => {
    if (!open) return
    const all = [...(root.current?.querySelectorAll<HTMLElement>('[role=menuitem]:not(:disabled)') ?? [])]
    const at = all.indexOf(document.activeElement as HTMLElement)
    const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }
    const to = moves[event.key]
    if (to !== undefined) {
      event.preventDefault()
      all.at(to % all.length)?.focus()
    } else if (event.key === 'Escape' || event.key === 'Tab') {
      setOpen(false)
      button.current?.focus()
    }
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys pressed in the menu's items arrive here
    <div class="menu" ref={root} onKeyDown={onKeyDown}>
      <button
        ref={button}
        type="button"
        class={children ? '' : 'icon'}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Icon name={icon} />
        {children}
      </button>
      {open && (
        <div class="menu-items" role="menu" aria-label={label} style={place}>
          {entries.map(({ label, icon, danger, disabled, onSelect }) => (
            <button
              key={label}
              type="button"
              role="menuitem"
              tabIndex={-1}
              class={danger ? 'danger' : ''}
              disabled={disabled}
              onClick={() => {
                setOpen(false)
                button.current?.focus()
                onSelect()
              }}
            >
              {icon && <Icon name={icon} />}
              {label}
            </button>
          ))}
        </div>
      )}
    </div>
  )
}
