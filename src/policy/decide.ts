import type { Action } from '../api/actions.ts'
import type { ConfirmationPolicy, SecurityRisk } from '../api/security.ts'

/** An action of a batch, and how risky the analyzer of the conversation finds it. */
export interface Judged {
  action: Pick<Action, 'kind'>
  risk: SecurityRisk
}

const ORDER: readonly SecurityRisk[] = ['LOW', 'MEDIUM', 'HIGH']

/**
 * Whether a batch may run, or somebody is to be asked first. One action that must be asked makes all of them wait.
 * A policy or a risk that means nothing here asks: it may be damaged, or from a newer server.
 *
 * Finishing and thinking alone never wait. They are told by the kind of action: a foreign tool may have any name.
 */
export function decide(policy: ConfirmationPolicy, batch: readonly Judged[]): 'allow' | 'ask' {
  if (batch.length === 0) return 'allow'
  const [{ action }] = batch as [Judged]
  if (batch.length === 1 && (action?.kind === 'FinishAction' || action?.kind === 'ThinkAction')) return 'allow'
  return batch.some(({ risk }) => mustAsk(policy, risk)) ? 'ask' : 'allow'
}

function mustAsk(policy: ConfirmationPolicy, risk: SecurityRisk): boolean {
  switch (policy?.kind) {
    case 'NeverConfirm':
      return false
    case 'ConfirmRisky': {
      if (risk === 'UNKNOWN') return policy.confirm_unknown !== false
      const [found, threshold] = [ORDER.indexOf(risk), ORDER.indexOf(policy.threshold)]
      return found < 0 || threshold < 0 || found >= threshold
    }
    default:
      return true
  }
}
