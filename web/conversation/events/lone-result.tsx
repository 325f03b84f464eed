import type { Event } from '../../../src/api/events.ts'
import { t } from '../../words.ts'
import { textOf } from './content.tsx'
import { Fold } from './fold.tsx'
import { Output } from './output.tsx'

type Result = Extract<Event, { kind: 'ObservationEvent' | 'UserRejectObservation' | 'AgentErrorEvent' }>

function textIn(result: Result): string {
  if (result.kind === 'ObservationEvent') return textOf(result.observation.content)
  return result.kind === 'AgentErrorEvent' ? result.error : result.rejection_reason
}

/** What came of an action that is not here, for it stands earlier than what was read. */
export const LoneResult = ({ result }: { result: Result }) => (
  <Fold id={result.id} class="notice" title={t('Result of {tool}', { tool: result.tool_name })}>
    {() => <Output id={result.id} text={textIn(result)} isError={result.kind !== 'ObservationEvent'} />}
  </Fold>
)
