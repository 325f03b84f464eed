import type { Action } from '../api/actions.ts'
import { type SecurityAnalyzer, SecurityRisk } from '../api/security.ts'
import { patternRisk } from './patterns.ts'
import { rails } from './rails.ts'

/** An action that waits to be judged. */
export interface Assessed {
  toolName: string
  action: Action
  /** What the model said of it. */
  claimed: SecurityRisk | null | undefined
  /** Its tool says that it changes nothing. */
  readOnly: boolean
}

const ORDER: readonly SecurityRisk[] = ['LOW', 'MEDIUM', 'HIGH']

/** Whatever goes wrong while judging counts as HIGH. Without an analyzer every risk is unknown. */
export function assess(analyzer: SecurityAnalyzer | null | undefined, assessed: Assessed): SecurityRisk {
  if (!analyzer) return 'UNKNOWN'
  try {
    return judge(analyzer, assessed)
  } catch {
    return 'HIGH'
  }
}

function judge(analyzer: SecurityAnalyzer, assessed: Assessed): SecurityRisk {
  switch (analyzer.kind) {
    case 'LLMSecurityAnalyzer':
      return SecurityRisk.safeParse(assessed.claimed).data ?? 'UNKNOWN'
    case 'PatternSecurityAnalyzer':
      return patternRisk(analyzer, assessed.toolName, assessed.action)
    case 'PolicyRailSecurityAnalyzer':
      return rails(assessed.action, assessed.readOnly).risk
    case 'EnsembleSecurityAnalyzer':
      return together(
        analyzer.analyzers.map(one => assess(one, assessed)),
        analyzer.propagate_unknown,
      )
    default:
      throw new Error(`No such analyzer here: ${analyzer.kind}`)
  }
}

/** The worst that any is sure of. An unknown that is to be told outweighs all but HIGH. */
function together(risks: SecurityRisk[], propagateUnknown: boolean): SecurityRisk {
  const worst = Math.max(-1, ...risks.map(risk => ORDER.indexOf(risk)))
  if (worst < ORDER.length - 1 && propagateUnknown && risks.includes('UNKNOWN')) return 'UNKNOWN'
  return ORDER[worst] ?? 'UNKNOWN'
}

/** The kinds of analyzer in this one that are understood but not built, for the door to refuse by name. */
export function unsupportedAnalyzers(analyzer: SecurityAnalyzer | null | undefined): string[] {
  if (!analyzer) return []
  if (analyzer.kind === 'EnsembleSecurityAnalyzer')
    return [...new Set(analyzer.analyzers.flatMap(unsupportedAnalyzers))]
  return analyzer.kind === 'GraySwanAnalyzer' || analyzer.kind === 'ToolShieldLLMSecurityAnalyzer'
    ? [analyzer.kind]
    : []
}
