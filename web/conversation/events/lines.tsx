import type { ComponentChildren } from 'preact'
import { t } from '../../words.ts'
import { useFold } from './frame.tsx'

export interface LinesProps {
  id: string
  text: string
  /** So many are shown until somebody wants all. */
  most: number
  /** Which part is worth more. */
  keep: 'first' | 'last'
  children: (text: string) => ComponentChildren
}

/** Lines can be long too. */
const MOST_CHARACTERS = 6000

const head = (lines: readonly string[], most: number): string =>
  lines.slice(0, most).join('\n').slice(0, MOST_CHARACTERS)
const tail = (lines: readonly string[], most: number): string => lines.slice(-most).join('\n').slice(-MOST_CHARACTERS)

/** A long text, folded to its beginning or its end. */
export function Lines({ id, text, most, keep, children }: LinesProps) {
  const [all, setAll] = useFold(id, false)
  const lines = text.split('\n')
  // A fold that hides a line or two costs more room than it saves.
  const isLong = lines.length > most + 3 || text.length > MOST_CHARACTERS
  const part = !isLong || all ? text : keep === 'first' ? head(lines, most) : tail(lines, most)
  const button = isLong && (
    <button type="button" class="more-lines" aria-expanded={all} onClick={() => setAll(!all)}>
      {all ? t('Show less') : t('Show all {n} lines', { n: lines.length })}
    </button>
  )
  return (
    <>
      {keep === 'last' && button}
      {children(part)}
      {keep === 'first' && button}
    </>
  )
}
