import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { plural, t } from '../words.ts'
import { type Changes, compare, type Line, type Row, unified } from './diff-rows.ts'

/** From here on there is room for two sides. */
const WIDE_PX = 620
const MOST_ROWS = 80

export interface DiffProps {
  before: string
  after: string
  /** Of the file. */
  name: string
}

/** What became of a text: side by side where there is room, one below the other otherwise. */
export function Diff({ before, after, name }: DiffProps) {
  const changes = useMemo(() => compare(before, after), [before, after])
  return <Changed changes={changes} name={name} />
}

/** The same for what was compared already. */
export function Changed({ changes, name }: { changes: Changes | undefined; name: string }) {
  if (!changes) return <p class="quiet diff-note">{t('Too much has changed to show it here.')}</p>
  if (changes.rows.length === 0) return <p class="quiet diff-note">{t('Nothing has changed.')}</p>
  return <DiffTable changes={changes} name={name} />
}

function DiffTable({ changes, name }: { changes: Changes; name: string }) {
  const ref = useRef<HTMLDivElement>(null)
  const [isWide, setWide] = useState(false)
  const [all, setAll] = useState(false)
  useLayoutEffect(() => {
    const measure = () => setWide(ref.current!.clientWidth >= WIDE_PX)
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(ref.current!)
    return () => observer.disconnect()
  }, [])
  // What only came or only went needs no empty half beside it.
  const twoSided = isWide && changes.added > 0 && changes.removed > 0
  const rows = twoSided ? changes.rows : unified(changes.rows)
  const shown = all ? rows : rows.slice(0, MOST_ROWS)
  return (
    <div ref={ref} class="diff">
      <table aria-label={t('Changes of {name}', { name })} data-sides={twoSided ? 2 : 1}>
        <tbody>
          {shown.map((row, at) => (
            <tr key={at} data-row={row.kind}>
              {twoSided ? <Sides row={row} /> : <Single row={row} />}
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < rows.length && (
        <button type="button" class="more-lines" onClick={() => setAll(true)}>
          {plural(rows.length, 'Show {n} line', 'Show all {n} lines')}
        </button>
      )}
    </div>
  )
}

const Gap = ({ span }: { span: number }) => (
  <td colSpan={span} class="diff-gap">
    <span aria-hidden="true">⋯</span>
  </td>
)

function Sides({ row }: { row: Row }) {
  if (row.kind === 'gap') return <Gap span={4} />
  const changed = row.kind === 'changed'
  return (
    <>
      <Cells line={row.before} side={changed ? 'gone' : 'same'} />
      <Cells line={row.after} side={changed ? 'come' : 'same'} />
    </>
  )
}

function Single({ row }: { row: Row }) {
  if (row.kind === 'gap') return <Gap span={2} />
  return row.after ? (
    <Cells line={row.after} side={row.kind === 'same' ? 'same' : 'come'} />
  ) : (
    <Cells line={row.before} side="gone" />
  )
}

function Cells({ line, side }: { line: Line | undefined; side: 'same' | 'gone' | 'come' }) {
  if (!line) return <td colSpan={2} class="diff-nothing" />
  const Wrap = side === 'gone' ? 'del' : side === 'come' ? 'ins' : 'span'
  return (
    <>
      <td class="diff-number" data-side={side}>
        {line.number}
      </td>
      <td class="diff-line" data-side={side}>
        <Wrap>{line.pieces.map(({ text, marked }, at) => (marked ? <mark key={at}>{text}</mark> : text))}</Wrap>
      </td>
    </>
  )
}
