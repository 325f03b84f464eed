import { useEffect, useState } from 'preact/hooks'
import { parseTime } from '../../../src/lib/time.ts'
import { t } from '../../words.ts'

const secondsBetween = (from: string, to: number): number => Math.max(0, to - (parseTime(from) ?? to) / 1000) / 1000

export function durationWords(seconds: number): string {
  if (seconds < 10) return t('{n} s', { n: seconds.toFixed(1) })
  if (seconds < 60) return t('{n} s', { n: Math.round(seconds) })
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return t('{m} min {s} s', { m: minutes, s: Math.round(seconds % 60) })
  return t('{h} h {m} min', { h: Math.floor(minutes / 60), m: minutes % 60 })
}

/** What took a moment is not worth a word. */
const WORTH_TELLING = 0.5

export function Duration({ from, to }: { from: string; to: string }) {
  const seconds = secondsBetween(from, (parseTime(to) ?? 0) / 1000)
  return seconds < WORTH_TELLING ? null : <span class="quiet card-time">{durationWords(seconds)}</span>
}

/** Counts for as long as something goes on. */
export function Elapsed({ since }: { since: string }) {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return (
    <span class="card-chip card-running">
      {t('Running')}
      <span class="card-time">{durationWords(Math.round(secondsBetween(since, now)) || 0).replace('.0', '')}</span>
    </span>
  )
}
