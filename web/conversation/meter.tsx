import { useState } from 'preact/hooks'
import type { Conversation } from '../conversations/conversations.ts'
import { t } from '../words.ts'
import { BudgetDialog } from './budget-dialog.tsx'
import type { Session } from './session.ts'

const count = (n: number): string =>
  n < 1000 ? String(n) : n < 1e6 ? `${(n / 1000).toFixed(1)}k` : `${(n / 1e6).toFixed(1)}M`
const dollars = (n: number): string => `$${n.toFixed(n < 1 ? 3 : 2)}`

export interface Spending {
  cost: number
  /** In dollars; undefined when there is none. */
  budget: number | undefined
  read: number
  cached: number
  written: number
  /** Of the window of the model that the agent thinks with, how much the last call filled; undefined where nobody knows. */
  fill: number | undefined
}

/** Of all models it used together; undefined before the first call. */
export function spendingOf({ stats }: Pick<Conversation, 'stats'>): Spending | undefined {
  const all = Object.values(stats.usage_to_metrics)
  if (all.length === 0) return undefined
  const sum = (of: (metrics: (typeof all)[number]) => number | undefined) =>
    all.reduce((total, metrics) => total + (of(metrics) ?? 0), 0)
  const main = (stats.usage_to_metrics.agent ?? all[0])?.accumulated_token_usage
  return {
    cost: sum(metrics => metrics.accumulated_cost),
    budget: all.find(metrics => metrics.max_budget_per_task !== null)?.max_budget_per_task ?? undefined,
    read: sum(metrics => metrics.accumulated_token_usage?.prompt_tokens),
    cached: sum(metrics => metrics.accumulated_token_usage?.cache_read_tokens),
    written: sum(metrics => metrics.accumulated_token_usage?.completion_tokens),
    fill: main?.context_window ? Math.min(1, main.per_turn_token / main.context_window) : undefined,
  }
}

/** What it cost, how much the model read and wrote, how full its window is; opens the budget. */
export function Meter({ session }: { session: Session }) {
  const [open, setOpen] = useState(false)
  const conversation = session.conversation.value
  const spending = conversation && spendingOf(conversation)
  if (!spending) return null
  const { cost, budget, read, written, fill } = spending
  return (
    <>
      <button type="button" class="meter" title={t('Cost, tokens and budget')} onClick={() => setOpen(true)}>
        <span>
          {budget ? t('{cost} of {budget}', { cost: dollars(cost), budget: dollars(budget) }) : dollars(cost)}
        </span>
        <span class="meter-tokens">{t('{tokens} tokens', { tokens: count(read + written) })}</span>
        {fill !== undefined && (
          <meter
            min={0}
            max={1}
            high={0.8}
            value={fill}
            aria-label={t('Context window, {percent} % full', { percent: Math.round(fill * 100) })}
          />
        )}
      </button>
      {open && (
        <BudgetDialog
          session={session}
          title={t('Cost and budget')}
          yes={t('Set the budget')}
          current={budget}
          onClose={() => setOpen(false)}
        >
          <Facts spending={spending} />
        </BudgetDialog>
      )}
    </>
  )
}

function Facts({ spending: { cost, read, cached, written, fill } }: { spending: Spending }) {
  const rows: [string, string][] = [
    [t('Cost so far'), dollars(cost)],
    [t('Tokens read'), count(read)],
    [t('of these from the cache'), count(cached)],
    [t('Tokens written'), count(written)],
  ]
  if (fill !== undefined) rows.push([t('Context window'), t('{percent} % full', { percent: Math.round(fill * 100) })])
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
