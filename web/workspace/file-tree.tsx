import { useRef, useState } from 'preact/hooks'
import { Icon } from '../ui/icon.tsx'
import { bytes } from '../ui/kit.tsx'
import { t } from '../words.ts'
import type { Row, Tree } from './tree.ts'

const noteText = (note: NonNullable<Row['note']>): string =>
  ({
    reading: t('Loading…'),
    empty: t('Empty'),
    cut: t('It holds more than is shown'),
    missing: t('Cannot be read'),
  })[note]

/** Arrows move and open, Enter shows, letters jump: as in any tree. One of its lines is in the tab order. */
export function FileTree({ tree }: { tree: Tree }) {
  const root = useRef<HTMLDivElement>(null)
  const [active, setActive] = useState<string>()
  const rows = tree.rows.value
  const selected = tree.selected.value?.path
  const current = Math.max(
    0,
    rows.findIndex(({ entry }) => entry.path === (active ?? selected)),
  )

  const lines = () => [...(root.current?.querySelectorAll<HTMLElement>('[role=treeitem]') ?? [])]
  const focus = (index: number) => lines()[index]?.focus()
  const act = ({ entry, open }: Row) => {
    tree.select(entry)
    if (entry.kind === 'folder') tree.setOpen(entry.path, !open)
  }
  const parentOf = (index: number): number =>
    rows.findLastIndex(({ level }, i) => i < index && level < rows[index]!.level)
  const onKeyDown = (event: KeyboardEvent) => {
    const at = lines().indexOf(event.target as HTMLElement)
    const row = rows[at]
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return
    const isFolder = row.entry.kind === 'folder'
    const moves: Record<string, () => unknown> = {
      ArrowDown: () => focus(at + 1),
      ArrowUp: () => focus(at - 1),
      Home: () => focus(0),
      End: () => focus(rows.length - 1),
      ArrowRight: () => isFolder && (row.open ? focus(at + 1) : tree.setOpen(row.entry.path, true)),
      ArrowLeft: () => (row.open ? tree.setOpen(row.entry.path, false) : focus(parentOf(at))),
      Enter: () => act(row),
      ' ': () => act(row),
    }
    const move = moves[event.key] ?? (event.key.length === 1 ? () => focus(next(rows, at, event.key)) : undefined)
    if (!move) return
    event.preventDefault()
    move()
  }

  return (
    <div class="tree" role="tree" aria-label={t('Files')} ref={root} onKeyDown={onKeyDown}>
      {rows.map((row, i) => {
        const { entry, level, open, position, siblings, note } = row
        const isFolder = entry.kind === 'folder'
        return (
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys are heard by the tree
          <div
            key={entry.path}
            class="tree-row"
            role="treeitem"
            tabIndex={i === current ? 0 : -1}
            aria-level={level}
            aria-posinset={position}
            aria-setsize={siblings}
            aria-selected={entry.path === selected}
            {...(isFolder && { 'aria-expanded': open, 'data-folder': entry.path })}
            title={entry.path}
            style={{ '--level': level }}
            onFocus={() => setActive(entry.path)}
            onClick={() => act(row)}
          >
            <span class="tree-line">
              {isFolder ? <Icon name="chevron" /> : <Icon name={entry.link ? 'link' : 'file'} />}
              <span class="tree-name">{entry.name}</span>
              {entry.kind === 'file' && <span class="tree-size">{bytes(entry.size)}</span>}
            </span>
            {note && <span class="tree-note">{noteText(note)}</span>}
          </div>
        )
      })}
    </div>
  )
}

/** The next one after this whose name begins with a letter; this one if there is none. */
function next(rows: readonly Row[], current: number, letter: string): number {
  const order = [...rows.keys()].map(i => (current + 1 + i) % rows.length)
  return order.find(i => rows[i]!.entry.name.toLowerCase().startsWith(letter.toLowerCase())) ?? current
}
