import type { MetricsSnapshot } from '../api/llm.ts'

/** What was spent, in US dollars, by everything that called a model. */
export const spent = (usage: Readonly<Record<string, Pick<MetricsSnapshot, 'accumulated_cost'>>>): number =>
  Object.values(usage).reduce((sum, { accumulated_cost }) => sum + accumulated_cost, 0)

/** Whether nothing more may be spent. Without a limit never; with one that cannot be compared, always. */
export const isExhausted = (spent: number, limit: number | null | undefined): boolean =>
  limit !== null && limit !== undefined && !(spent < limit)
