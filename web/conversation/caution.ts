import type { ConfirmationPolicy, SecurityAnalyzer } from '../../src/api/security.ts'

/** How often the agent asks before it acts. */
export type Caution = 'never' | 'risky' | 'always'

export const CAUTIONS: Record<Caution, { label: string; hint: string }> = {
  risky: { label: 'Asks if risky', hint: 'What looks harmless runs; what may do damage waits for you.' },
  always: { label: 'Always asks', hint: 'Nothing runs before you have seen it.' },
  never: { label: 'Never asks', hint: 'Everything runs at once, within the walls of the sandbox.' },
}

export interface CautionOrder {
  confirmation_policy: ConfirmationPolicy
  security_analyzer: SecurityAnalyzer | null
}

/** What the model says of an action is weighed, and so is what rules find in it: the graver counts. */
const ANALYZER: SecurityAnalyzer = {
  kind: 'EnsembleSecurityAnalyzer',
  analyzers: [{ kind: 'LLMSecurityAnalyzer' }, { kind: 'PolicyRailSecurityAnalyzer' }],
  propagate_unknown: false,
}

export const orderOf = (caution: Caution): CautionOrder =>
  caution === 'risky'
    ? {
        confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true },
        security_analyzer: ANALYZER,
      }
    : {
        confirmation_policy: { kind: caution === 'always' ? 'AlwaysConfirm' : 'NeverConfirm' },
        security_analyzer: null,
      }

const KINDS = { NeverConfirm: 'never', ConfirmRisky: 'risky', AlwaysConfirm: 'always' } as const

export const cautionOf = ({ kind }: ConfirmationPolicy): Caution => KINDS[kind]
